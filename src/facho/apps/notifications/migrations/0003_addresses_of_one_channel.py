"""Encrypt the address of each channel for that channel alone."""

from typing import Any

from django.db import migrations

from facho.apps.db.fields import encrypt_for_rows


def bind(_apps: Any, schema_editor: Any) -> None:
    encrypt_for_rows(schema_editor.connection, "notification_channels", "url")


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0002_why_a_message_waits"),
    ]

    operations = [migrations.RunPython(bind, migrations.RunPython.noop)]
