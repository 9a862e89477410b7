"""What is changed while the engine is at work, by a person or by SQL, is handled within seconds."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from tests.faults.engines import Facho, set_up
from tests.waiting import wait_until

ONUS = 200
JOBS = (("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s"),)


@pytest.fixture
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=2, onus=ONUS)) as fleet:
        yield fleet


def states(facho: Facho, olt: str) -> set[str]:
    query = "SELECT e.state FROM snmp_executions e JOIN olts o ON o.id = e.olt_id WHERE o.name = '{}'"
    return {state for (state,) in facho.rows(query.format(olt))}


def test_an_olt_is_disabled_while_it_is_being_walked_by_a_person_and_by_sql(
    tmp_path: Path, fleet: FleetProcess
) -> None:
    facho = Facho(tmp_path, f"sqlite:///{tmp_path / 'facho.db'}", {"FACHO_COORDINATOR_STEP": "1"})
    set_up(facho, fleet, JOBS)
    # The gates come first: else the engine may end a walk before they are there.
    with contextlib.ExitStack() as gates:
        first, second = (gates.enter_context(fleet.hold(number, skip=3)) for number in range(2))
        with facho.engine() as engine:
            wait_until(lambda: first.held and second.held, what=lambda: f"both are held\n{facho.picture()}")

            facho.run("olt", "disable", "olt-0")
            facho.change("UPDATE olts SET enabled = 0 WHERE name = 'olt-1'")

            wait_until(lambda: states(facho, "olt-1") == {"ABORTED"}, what=facho.picture)
            assert states(facho, "olt-0") == {"ABORTED"}
            leases = "SELECT count(*) FROM snmp_executions WHERE lease_token <> ''"
            wait_until(lambda: facho.one(leases) == 0, what=lambda: f"it lets go\n{facho.picture()}")
            asked = [olt.requests for olt in fleet.report().olts]
            gates.close()
            # The answers come now, and the engine goes on with its work: what it did is written down.
            wait_until(lambda: facho.one("SELECT count(*) FROM coordinator_logs") >= 4, what=facho.picture)
            engine.stop()
    assert [olt.requests for olt in fleet.report().olts] == asked
    assert facho.one("SELECT count(*) FROM onu_data") == 0
    assert {row for (row,) in facho.rows("SELECT DISTINCT status FROM quota_tracker")} == {"INTERRUPTED"}
    told = (tmp_path / "logs" / "coordinator" / "main.log").read_text()
    assert "olt-0" in told
    assert "olt-1" in told
