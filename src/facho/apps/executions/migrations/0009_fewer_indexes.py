from typing import Any

from django.db import migrations, models
from django.db.models import deletion

COLUMNS = (
    ("snmp_executions", "node_id"),
    ("snmp_executions", "olt_id"),
    ("snmp_executions", "blocked_by_id"),
    ("execution_attempts", "execution_id"),
)


def drop_indexes_of_keys(_apps: Any, schema_editor: Any) -> None:
    """Drop the indexes of these columns alone. Altering the fields would copy the tables on SQLite."""
    connection = schema_editor.connection
    for table, column in COLUMNS:
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, table)
        for name, each in found.items():
            is_plain = each["index"] and not each["unique"] and not each["primary_key"]
            # Partial indexes of ours have names of ours.
            if is_plain and each["columns"] == [column] and name.startswith(f"{table}_{column}_"):
                schema_editor.execute(f"DROP INDEX {schema_editor.quote_name(name)}")


class Migration(migrations.Migration):
    dependencies = [("executions", "0008_queue_in_the_order_of_claims")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(drop_indexes_of_keys, migrations.RunPython.noop, elidable=False)
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="attempt",
                    name="execution",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=deletion.CASCADE,
                        related_name="attempts",
                        to="executions.execution",
                        verbose_name="execution",
                    ),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="blocked_by",
                    field=models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=deletion.SET_NULL,
                        related_name="+",
                        to="executions.execution",
                        verbose_name="waited for",
                    ),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="node",
                    field=models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=deletion.CASCADE,
                        related_name="executions",
                        to="snmp_jobs.snmpjobhost",
                        verbose_name="node",
                    ),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="olt",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=deletion.CASCADE,
                        related_name="executions",
                        to="hosts.olt",
                        verbose_name="OLT",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("blocked_by__isnull", False)),
                fields=["blocked_by"],
                name="snmp_executions_blocked_by",
            ),
        ),
    ]
