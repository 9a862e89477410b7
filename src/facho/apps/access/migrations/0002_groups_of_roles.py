from django.db import migrations
from django.db.migrations.state import StateApps

ROLES = ("viewer", "operator", "administrator")


def make_groups(apps: StateApps, _schema_editor: object) -> None:
    groups = apps.get_model("auth", "Group").objects
    for role in ROLES:
        groups.get_or_create(name=role)
    # Who had an account saw the dashboard, and goes on seeing it.
    viewers = groups.get(name="viewer")
    for user in apps.get_model("auth", "User").objects.filter(is_superuser=False, groups=None):
        user.groups.add(viewers)


def leave_groups(_apps: StateApps, _schema_editor: object) -> None:
    """They may have members by now."""


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0001_tokens"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(make_groups, leave_groups)]
