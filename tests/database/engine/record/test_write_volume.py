"""A collection in which nothing changed writes little, however many ONUs the OLT has."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection

from facho.apps.db.database import database_file
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.store import sync_profiles
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import Config
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.runner import Runtime, run_execution
from facho.engine.schedule.slots import queue_due_slots
from facho.sim.fleet import FleetConfig
from facho.sim.presets import PRESETS
from facho.vendors import builtin
from tests.factories import at, make_job, make_olt
from tests.virtual_fleet import VirtualFleet

pytestmark = pytest.mark.django_db(transaction=True)

CONFIG = Config()
# The execution with its attempt, the node, the OLT, the quota and the plan, and the indexes of each.
# SQLite writes a page of 4 KiB for whatever changes in it, and PostgreSQL what changed.
MOST_BYTES = {"sqlite": 400_000, "postgresql": 16_000}
FEW, MANY = 64, 2048


def log_bytes_of(run: Callable[[], None]) -> int:
    """Return by how many bytes a call lengthens the write-ahead log of this test's database."""
    if connection.vendor == "sqlite":
        _fetch("PRAGMA wal_checkpoint(TRUNCATE)")
        run()
        return database_file().with_name(f"{database_file().name}-wal").stat().st_size
    if _fetch("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_walinspect'") == "0":
        pytest.skip("PostgreSQL shows its log from version 15 on")
    _fetch("CREATE EXTENSION IF NOT EXISTS pg_walinspect")
    start = _fetch("SELECT pg_current_wal_insert_lsn()")
    run()
    # Other tests write to other databases of the same server.
    found = _fetch(
        "SELECT sum(record_length) FROM pg_get_wal_records_info(%s, pg_current_wal_flush_lsn()), pg_database"
        " WHERE datname = current_database() AND block_ref LIKE '%%/' || oid || '/%%'",
        start,
    )
    return int(found)


def _fetch(statement: str, *values: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return str(cursor.fetchone()[0]) if cursor.description else ""


class Site:
    """One simulated OLT whose executions the test runs itself."""

    def __init__(self, fleet: VirtualFleet, name: str) -> None:
        fleet.set_scenario(PRESETS["plain"].scenario)
        self._runtime = Runtime(CONFIG, "here", fleet.snmp, lambda: self._now)
        self._olt = make_olt(name, port=fleet.addresses[0][1])
        self._now = at("10:00")

    def run(self, job: SnmpJob) -> None:
        self._now += timedelta(minutes=1)
        SnmpJobHost.objects.update_or_create(olt=self._olt, job=job, defaults={"next_run_at": self._now})
        register_worker("here", 1, self._now)
        queue_due_slots(self._now, CONFIG)
        (execution_id,) = claim_executions(self._now, CONFIG)
        run_execution(execution_id, self._runtime)


def bytes_of_an_unchanged_collection(onus: int) -> int:
    discovery = make_job(f"discovery {onus}")
    states = make_job(f"states {onus}", "table", facts=["state", "down_cause"])
    with VirtualFleet(FleetConfig(olts=1, onus=onus)) as fleet:
        site = Site(fleet, f"olt-{onus}")
        for job in (discovery, states, states):
            site.run(job)
        written = log_bytes_of(lambda: site.run(states))
    last = Execution.objects.filter(node__job=states).latest("id")
    assert (last.state, last.counts["changed"], last.counts["onus"]) == (State.SUCCESS, 0, onus)
    return written


def test_an_unchanged_collection_writes_the_same_few_bytes_for_any_number_of_onus() -> None:
    sync_profiles(builtin())
    few, many = bytes_of_an_unchanged_collection(FEW), bytes_of_an_unchanged_collection(MANY)
    assert 0 < many <= MOST_BYTES[connection.vendor]
    assert many - few <= few / 2
