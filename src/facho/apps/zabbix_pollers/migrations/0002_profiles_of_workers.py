from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("zabbix_pollers", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="profiles",
            field=models.CharField(blank=True, default="", max_length=64, verbose_name="profiles"),
        ),
    ]
