from django.db import migrations
from django.db.migrations.state import StateApps

# The facts of the usual job "state", as it was and as it is.
FORMER = ["state", "down_cause", "distance_m"]
ADDED = ["last_up", "last_down", "olt.clock"]


def ask_for_dates(apps: StateApps, _schema_editor: object) -> None:
    """Let usual jobs of the state, whatever their name, also ask when it changed.

    OLTs that are added later share them, and so would never be asked.
    """
    jobs = apps.get_model("snmp_jobs", "SnmpJob").objects
    usual = jobs.filter(brand__name="generic", kind="table", oids__isnull=True)
    former = [job for job, facts in usual.values_list("id", "facts") if facts == FORMER]
    jobs.filter(id__in=former).update(facts=[*FORMER, *ADDED])


class Migration(migrations.Migration):
    dependencies = [("snmp_jobs", "0002_targets_of_jobs")]

    operations = [migrations.RunPython(ask_for_dates, migrations.RunPython.noop)]
