from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("executions", "0006_executions_of_one_onu")]

    operations = [
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("state", "WAITING")), fields=["olt"], name="snmp_executions_olt_waiting"
            ),
        ),
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("run_now", True), ("state", "WAITING")),
                fields=["olt"],
                name="snmp_executions_run_now",
            ),
        ),
    ]
