"""An engine that dies, hangs or is started twice: nothing is lost, nothing runs twice, all recovers."""

import os
import random
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.presets import PRESETS
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from tests.faults.engines import Engine, Facho, set_up, wait_until

pytestmark = pytest.mark.both_databases

OLTS = 4
ONUS = 300
# A discovery takes some seconds: long enough to do something to it.
UNHURRIED = Scenario(latency_s=0.25, max_message=600)
JOBS = (
    ("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s"),
    ("state", "--kind", "table", "--brand", "huawei", "--interval", "3s", "--fact", "state"),
)
# As often as it takes to believe it, when there is time; a few kills show what is broken outright.
KILLS = 20 if "TESTS_LONG" in os.environ else 8
NODES = OLTS * len(JOBS)


@pytest.fixture
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=OLTS, onus=ONUS)) as fleet:
        yield fleet


@pytest.fixture
def facho(tmp_path: Path, database_url: str) -> Facho:
    return Facho(tmp_path, database_url)


def assert_nothing_ran_twice(facho: Facho, fleet: FleetProcess) -> None:
    twice = facho.rows(
        "SELECT node_id, slot, count(*) FROM snmp_executions WHERE trigger <> 'run-now' "
        "GROUP BY node_id, slot HAVING count(*) > 1"
    )
    assert twice == []
    assert [olt.overlaps for olt in fleet.report().olts] == [0] * OLTS


def assert_nothing_is_stuck(facho: Facho) -> None:
    """A moment after the last engine stopped in order."""
    assert {"PENDING", "RUNNING"}.isdisjoint(facho.states())
    assert facho.one("SELECT count(*) FROM snmp_executions WHERE lease_token <> ''") == 0


def assert_no_onu_is_lost(facho: Facho) -> None:
    assert facho.one("SELECT count(*) FROM onu_data") == OLTS * ONUS
    assert facho.one("SELECT count(*) FROM onu_data WHERE presence <> 'present'") == 0
    assert facho.one("SELECT max(missed) FROM onu_data") == 0


def successes(facho: Facho) -> int:
    return facho.states().get("SUCCESS", 0)


def test_killed_many_times_at_random_moments(facho: Facho, fleet: FleetProcess) -> None:
    set_up(facho, fleet, JOBS)
    moments = random.Random(7)
    # What is different on PostgreSQL shows sooner.
    for _ in range(KILLS if facho.database_url.startswith("sqlite") else KILLS // 4):
        with facho.engine() as engine:
            facho.wait_for(engine)
            time.sleep(moments.uniform(0.0, 1.2))
            engine.kill()

    again = (
        "SELECT count(DISTINCT node_id) FROM snmp_executions "
        f"WHERE state = 'SUCCESS' AND started_at > '{datetime.now(UTC)}'"
    )
    with facho.engine() as engine:
        facho.wait_for(engine)
        recovery = wait_until(
            lambda: facho.one(again) == NODES,
            what=lambda: f"every node runs again\n{facho.picture()}",
        )
        engine.stop()

    print(f"every node ran again after {recovery:.1f} s")
    assert_nothing_is_stuck(facho)
    assert_nothing_ran_twice(facho, fleet)
    assert_no_onu_is_lost(facho)


def freeze(engine: Engine, facho: Facho) -> None:
    """Not while it writes: on SQLite nobody else could write then, and there would be nothing to see."""
    engine.send(signal.SIGSTOP)
    while facho.is_locked():
        engine.send(signal.SIGCONT)
        time.sleep(0.05)
        engine.send(signal.SIGSTOP)


def test_stopped_longer_than_its_lease_it_sends_and_writes_nothing(facho: Facho, fleet: FleetProcess) -> None:
    set_up(facho, fleet, JOBS[:1])
    fleet.set_scenario(UNHURRIED)
    with facho.engine() as frozen:
        wait_until(lambda: facho.states().get("RUNNING", 0) >= 2, what="executions run")
        freeze(frozen, facho)
        held = {row[0] for row in facho.rows("SELECT id FROM snmp_executions WHERE state = 'RUNNING'")}
        attempts = facho.rows("SELECT id, attempt FROM snmp_executions WHERE state = 'RUNNING' ORDER BY id")
        time.sleep(3.0)
        fleet.set_scenario(PRESETS["plain"].scenario)
        with facho.engine() as other:
            wait_until(
                lambda: (
                    facho.one("SELECT count(DISTINCT olt_id) FROM snmp_executions WHERE state='SUCCESS'")
                    == OLTS
                ),
                what="the other engine took over",
            )
            frozen.send(signal.SIGCONT)
            time.sleep(2.0)
            written = facho.rows(
                "SELECT count(*) FROM execution_attempts a JOIN snmp_executions e ON e.id = a.execution_id "
                "WHERE e.state = 'SUCCESS' AND a.error LIKE 'the process that ran it disappeared%'"
            )
            other.stop()
        frozen.stop()
    assert held
    assert attempts
    assert written[0][0] >= 1, "what the frozen engine held was taken back, and succeeded elsewhere"
    assert_nothing_is_stuck(facho)
    assert_nothing_ran_twice(facho, fleet)
    assert_no_onu_is_lost(facho)


def test_two_engines_by_mistake_never_ask_an_olt_at_once(facho: Facho, fleet: FleetProcess) -> None:
    set_up(facho, fleet, JOBS)
    # One poller each, and OLTs that take a while: no engine can do all of it alone.
    fleet.set_scenario(Scenario(latency_s=0.05))
    facho.settings["FACHO_POLLERS"] = "1"
    both = "SELECT count(DISTINCT worker) FROM snmp_executions WHERE state = 'SUCCESS'"
    with facho.engine() as first, facho.engine() as second:
        facho.wait_for(first)
        facho.wait_for(second)
        wait_until(lambda: successes(facho) >= 30 and facho.one(both) == 2, what="both do some of the work")
        first.stop()
        second.stop()
    assert_nothing_is_stuck(facho)
    assert_nothing_ran_twice(facho, fleet)
    assert_no_onu_is_lost(facho)


def test_a_stop_in_mid_walk_hands_back_and_the_next_engine_takes_it_up(
    facho: Facho, fleet: FleetProcess
) -> None:
    set_up(facho, fleet, JOBS[:1])
    fleet.set_scenario(UNHURRIED)
    with facho.engine() as engine:
        wait_until(lambda: facho.states().get("RUNNING", 0) >= 2, what="executions run")
        began = time.monotonic()
        engine.stop()
        assert time.monotonic() - began < 15.0
    assert_nothing_is_stuck(facho)
    assert facho.states().get("WAITING", 0) >= 2
    fleet.set_scenario(PRESETS["plain"].scenario)
    with facho.engine() as engine:
        wait_until(lambda: successes(facho) >= OLTS)
        engine.stop()
    assert_nothing_ran_twice(facho, fleet)
    assert_no_onu_is_lost(facho)
