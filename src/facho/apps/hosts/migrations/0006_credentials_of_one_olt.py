"""Encrypt the credentials of each OLT for that OLT alone."""

from typing import Any

from django.db import migrations

from facho.apps.db.fields import encrypt_for_rows


def bind(_apps: Any, schema_editor: Any) -> None:
    encrypt_for_rows(schema_editor.connection, "olts", "credentials")


class Migration(migrations.Migration):
    dependencies = [
        ("hosts", "0005_olts_being_removed"),
    ]

    operations = [migrations.RunPython(bind, migrations.RunPython.noop)]
