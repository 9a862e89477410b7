"""Usual jobs of the state that an older version made ask for what those of this version ask for."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from facho.apps.hosts.models import Oid
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobOid
from facho.engine.commands.usual_jobs import usual_jobs
from facho.vendors import profiles_in_use
from tests.factories import make_job

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

MIGRATION = "0003_dates_of_states"
FORMER = ["state", "down_cause", "distance_m"]


def job(name: str, facts: list[str], *, brand: str = "generic", kind: str = "table") -> SnmpJob:
    return make_job(name, kind, brand=brand, facts=facts)


def upgrade() -> None:
    loader = MigrationLoader(connection)
    then = loader.project_state(("snmp_jobs", MIGRATION)).apps
    import_module(f"facho.apps.snmp_jobs.migrations.{MIGRATION}").ask_for_dates(
        then, SimpleNamespace(connection=connection)
    )


@pytest.mark.parametrize("name", ["state", "state huawei", "every five minutes"])
def test_a_former_usual_job_asks_for_what_a_new_one_does(name: str) -> None:
    former = job(name, FORMER)
    upgrade()
    former.refresh_from_db()
    assert tuple(former.facts) == usual_jobs(profiles_in_use()["huawei"])["state"].facts
    assert "last_down" in former.facts
    upgrade()
    assert SnmpJob.objects.get().facts == former.facts


def test_a_job_that_differs_from_the_former_usual_one_stays_as_it_is() -> None:
    with_oid = job("with an OID", FORMER)
    oid = Oid.objects.create(brand=with_oid.brand, name="one", oid="1.3.6.1.4.1.9")
    SnmpJobOid.objects.create(job=with_oid, oid=oid)
    kept = [
        with_oid,
        job("state alone", ["state"]),
        job("in another order", ["down_cause", "state", "distance_m"]),
        job("with more", [*FORMER, "description"]),
        job("of a brand", FORMER, brand="huawei"),
        job("a get", FORMER, kind="get"),
    ]
    upgrade()
    for each in kept:
        before = each.facts
        each.refresh_from_db()
        assert each.facts == before, each.name
