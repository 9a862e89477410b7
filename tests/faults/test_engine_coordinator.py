"""What is changed while the engine is at work, by a person or by SQL, is handled within seconds."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from tests.faults.engines import Facho, set_up, wait_until

ONUS = 2000
# Ten seconds for a discovery, or longer.
SLOW = Scenario(latency_s=0.5, max_message=600)
JOBS = (("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s"),)


@pytest.fixture
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=2, onus=ONUS, scenario=SLOW)) as fleet:
        yield fleet


def states(facho: Facho, olt: str) -> set[str]:
    query = "SELECT e.state FROM snmp_executions e JOIN olts o ON o.id = e.olt_id WHERE o.name = '{}'"
    return {state for (state,) in facho.rows(query.format(olt))}


def change(facho: Facho, statement: str) -> None:
    path = facho.database_url.removeprefix("sqlite:///")
    with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection, connection:
        connection.execute(statement)


def test_an_olt_is_disabled_while_it_is_being_walked_by_a_person_and_by_sql(
    tmp_path: Path, fleet: FleetProcess
) -> None:
    facho = Facho(tmp_path, f"sqlite:///{tmp_path / 'facho.db'}", {"FACHO_COORDINATOR_STEP": "1"})
    set_up(facho, fleet, JOBS)
    with facho.engine() as engine:
        facho.wait_for(engine)
        wait_until(lambda: all("RUNNING" in states(facho, olt) for olt in ("olt-0", "olt-1")))
        wait_until(lambda: all(olt.requests > 3 for olt in fleet.report().olts), what="both are walked")

        facho.run("olt", "disable", "olt-0")
        change(facho, "UPDATE olts SET enabled = 0 WHERE name = 'olt-1'")

        wait_until(lambda: states(facho, "olt-1") == {"ABORTED"}, what=facho.picture)
        assert states(facho, "olt-0") == {"ABORTED"}
        leases = "SELECT count(*) FROM snmp_executions WHERE lease_token <> ''"
        wait_until(lambda: facho.one(leases) == 0, what="who walked it lets go")
        asked = [olt.requests for olt in fleet.report().olts]
        wait_until(lambda: facho.one("SELECT count(*) FROM coordinator_logs") >= 4, what="it is written down")
        assert [olt.requests for olt in fleet.report().olts] == asked
        engine.stop()
    assert facho.one("SELECT count(*) FROM onu_data") == 0
    assert {row for (row,) in facho.rows("SELECT DISTINCT status FROM quota_tracker")} == {"INTERRUPTED"}
    told = (tmp_path / "logs" / "coordinator" / "main.log").read_text()
    assert "olt-0" in told
    assert "olt-1" in told
