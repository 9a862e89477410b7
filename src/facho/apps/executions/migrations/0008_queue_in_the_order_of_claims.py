from typing import Any

from django.db import migrations, models


def set_values_of_waiting(_apps: Any, schema_editor: Any) -> None:
    """Set the priority of what waits, and let nothing wait since before its slot."""
    greatest = "MAX" if schema_editor.connection.vendor == "sqlite" else "GREATEST"
    schema_editor.execute(
        f"UPDATE snmp_executions SET not_before = {greatest}(slot, not_before),"  # noqa: S608
        " priority = COALESCE((SELECT COALESCE(n.priority, j.priority) FROM snmp_job_hosts n"
        " JOIN snmp_jobs j ON j.id = n.job_id WHERE n.id = snmp_executions.node_id), priority)"
        " WHERE state IN ('WAITING', 'PENDING', 'RUNNING')"
    )


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0007_the_first_of_the_queue"),
        ("snmp_jobs", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="execution",
            name="priority",
            field=models.PositiveSmallIntegerField(
                db_default=100, default=100, editable=False, verbose_name="priority"
            ),
        ),
        migrations.RunPython(set_values_of_waiting, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="execution", name="snmp_executions_queue"),
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("state", "WAITING")),
                fields=["not_before", "-priority", "id"],
                name="snmp_executions_delayed",
            ),
        ),
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("state", "WAITING")),
                fields=["-priority", "not_before", "id"],
                name="snmp_executions_prompt",
            ),
        ),
    ]
