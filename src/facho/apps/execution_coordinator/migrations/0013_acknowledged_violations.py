from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("execution_coordinator", "0012_errors_are_shares_of_the_longer")]
    operations = [
        migrations.AddIndex(
            model_name="quotaviolation",
            index=models.Index(
                condition=models.Q(("acknowledged_at__isnull", False)),
                fields=["created_at"],
                name="quota_violations_acknowledged",
            ),
        ),
        migrations.AddIndex(
            model_name="quotaviolation",
            index=models.Index(
                condition=models.Q(("acknowledged_at__isnull", True)),
                fields=["created_at"],
                name="quota_violations_open",
            ),
        ),
    ]
