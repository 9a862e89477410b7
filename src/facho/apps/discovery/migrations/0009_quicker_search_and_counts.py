from typing import Any

from django.db import migrations, models

# The index of 0006 with MACs as they were, with colons, and with MACs without separators.
BEFORE = "mac"
AFTER = "replace(mac, ':', '')"


def index_mac_as(mac: str, schema_editor: Any) -> None:
    """Replace the index for searching, where 0006 could create it."""
    connection = schema_editor.connection
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('onu_data_searched')")
        if cursor.fetchone()[0] is None:
            return
        cursor.execute("DROP INDEX onu_data_searched")
        cursor.execute(
            "CREATE INDEX onu_data_searched ON onu_data"
            f" USING gin (upper(serial || ' ' || {mac} || ' ' || description) gin_trgm_ops)"
        )


class Migration(migrations.Migration):
    dependencies = [("discovery", "0008_room_for_new_values")]

    operations = [
        migrations.AddIndex(
            model_name="onuevent",
            index=models.Index(
                condition=models.Q(("kind", "offline")), fields=["at", "onu"], name="onu_events_offline"
            ),
        ),
        migrations.RunPython(
            lambda _apps, editor: index_mac_as(AFTER, editor),
            lambda _apps, editor: index_mac_as(BEFORE, editor),
        ),
    ]
