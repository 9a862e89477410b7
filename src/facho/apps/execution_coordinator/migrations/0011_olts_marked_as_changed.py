from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("execution_coordinator", "0010_events_of_unreadable_rows_and_removals")]

    operations = [
        migrations.AddIndex(
            model_name="oltconfiguration",
            index=models.Index(
                condition=models.Q(("fingerprint", "")), fields=["olt"], name="olt_configurations_changed"
            ),
        ),
    ]
