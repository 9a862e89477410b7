import contextlib
import logging
from typing import Any

from django.db import DatabaseError, migrations, transaction

log = logging.getLogger(__name__)
EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
INDEX = (
    "CREATE INDEX onu_data_searched ON onu_data"
    " USING gin (upper(serial || ' ' || mac || ' ' || description) gin_trgm_ops)"
)


def make(_apps: Any, schema_editor: Any) -> None:
    """Only where the extension can be had: its package may be missing, or the right to make one."""
    connection = schema_editor.connection
    if connection.vendor != "postgresql":
        return
    with contextlib.suppress(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(EXTENSION)
        cursor.execute(INDEX)
        return
    log.warning(
        "pg_trgm cannot be had: ONUs are found by how they begin (docs/howto/find-an-onu.md)",
        extra={"action": "trigrams_missing"},
    )


def drop(_apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX IF EXISTS onu_data_searched")


class Migration(migrations.Migration):
    dependencies = [("discovery", "0005_onus_looked_up")]

    operations = [migrations.RunPython(make, drop)]
