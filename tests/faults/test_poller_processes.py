"""An engine with pollers in several processes: one that dies loses nothing, and all end together."""

import contextlib
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetGate, FleetProcess
from tests.faults.engines import STARTS_WITHIN_S, Engine, Facho, set_up
from tests.waiting import wait_until

pytestmark = pytest.mark.both_databases

OLTS = 4
ONUS = 300
JOBS = (
    ("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s"),
    ("state", "--kind", "table", "--brand", "huawei", "--interval", "3s", "--fact", "state"),
)
NODES = OLTS * len(JOBS)


@pytest.fixture
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=OLTS, onus=ONUS)) as fleet:
        yield fleet


@pytest.fixture
def facho(tmp_path: Path, database_url: str, fleet: FleetProcess) -> Facho:
    home = tmp_path / "home"
    home.mkdir()
    facho = Facho(home, database_url, {"FACHO_POLLER_PROCESSES": "2"})
    set_up(facho, fleet, JOBS)
    return facho


def pids(facho: Facho) -> set[int]:
    """Those of the processes that have pollers now."""
    return {int(name.split(":")[1]) for (name,) in facho.rows("SELECT name FROM workers")}


def wait_for_both(facho: Facho, engine: Engine, *, after: int = 0) -> int:
    """Return the process that the engine has started, after another one was killed."""
    others: set[int] = set()

    def are_there() -> bool:
        assert engine.process.poll() is None, engine.log.read_text(errors="replace")
        others.clear()
        others.update(pids(facho) - {engine.process.pid, after})
        return len(others) == 1

    wait_until(are_there, STARTS_WITHIN_S, what=lambda: f"both processes are there\n{facho.picture()}")
    (child,) = others
    return child


@contextlib.contextmanager
def every_olt_is_walked(facho: Facho, fleet: FleetProcess) -> Iterator[list[FleetGate]]:
    with contextlib.ExitStack() as stack:
        gates = [stack.enter_context(fleet.hold(number, skip=3)) for number in range(OLTS)]
        wait_until(
            lambda: all(gate.held for gate in gates), what=lambda: f"every OLT is walked\n{facho.picture()}"
        )
        yield gates


def running(facho: Facho) -> dict[int, list[int]]:
    """The executions that run, by process."""
    found: dict[int, list[int]] = {}
    for execution, name in facho.rows("SELECT id, worker FROM snmp_executions WHERE state = 'RUNNING'"):
        found.setdefault(int(name.split(":")[1]), []).append(execution)
    return found


def wait_until_every_node_ran(facho: Facho) -> None:
    since = datetime.now(UTC)
    again = (
        "SELECT count(DISTINCT node_id) FROM snmp_executions "
        f"WHERE state = 'SUCCESS' AND started_at > '{since}'"
    )
    wait_until(lambda: facho.one(again) == NODES, what=lambda: f"every node runs again\n{facho.picture()}")


def assert_sound(facho: Facho, fleet: FleetProcess) -> None:
    """When the last engine has stopped in order."""
    assert {"PENDING", "RUNNING"}.isdisjoint(facho.states())
    assert facho.one("SELECT count(*) FROM snmp_executions WHERE lease_token <> ''") == 0
    assert facho.one("SELECT count(*) FROM workers") == 0
    assert facho.one("SELECT count(*) FROM pollers") == 0
    twice = facho.rows(
        "SELECT node_id, slot, count(*) FROM snmp_executions WHERE trigger <> 'run-now' "
        "GROUP BY node_id, slot HAVING count(*) > 1"
    )
    assert twice == []
    assert [olt.overlaps for olt in fleet.report().olts] == [0] * OLTS
    assert facho.one("SELECT count(*) FROM onu_data") == OLTS * ONUS
    assert facho.one("SELECT max(missed) FROM onu_data") == 0


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended and that nobody has asked for stays in the list of processes.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_poller_process_killed_in_mid_walk(facho: Facho, fleet: FleetProcess) -> None:
    with facho.engine() as engine:
        child = wait_for_both(facho, engine)
        wait_until_every_node_ran(facho)
        with every_olt_is_walked(facho, fleet):
            held = running(facho)
            assert len(held[engine.process.pid]) == len(held[child]) == OLTS // 2, "the work is shared"
            os.kill(child, signal.SIGKILL)
            wait_until(lambda: not lives(child))
            facho.expire_process(child)
        wait_for_both(facho, engine, after=child)
        wait_until_every_node_ran(facho)
        shared = f"SELECT count(DISTINCT worker) FROM snmp_executions WHERE id > {max(held[child])}"
        wait_until(lambda: facho.one(shared) >= 2, what=lambda: f"the new one works\n{facho.picture()}")
        engine.stop()
    lost = facho.rows(
        "SELECT execution_id FROM execution_attempts WHERE error LIKE '%running_process_gone%' ORDER BY 1"
    )
    assert lost == [(execution,) for execution in sorted(held[child])]
    assert_sound(facho, fleet)


def test_a_stop_in_mid_walk_hands_back_what_all_processes_have(facho: Facho, fleet: FleetProcess) -> None:
    with facho.engine() as engine:
        child = wait_for_both(facho, engine)
        wait_until_every_node_ran(facho)
        with every_olt_is_walked(facho, fleet):
            # What they walk cannot end.
            engine.stop()
        assert not lives(child)
    failed = facho.one("SELECT count(*) FROM execution_attempts WHERE error <> ''")
    assert failed == 0, "nobody was to blame"
    assert_sound(facho, fleet)


def test_poller_processes_end_with_their_engine(facho: Facho, fleet: FleetProcess) -> None:
    with facho.engine() as engine:
        child = wait_for_both(facho, engine)
        with every_olt_is_walked(facho, fleet):
            engine.kill()
            wait_until(lambda: not lives(child), what=lambda: f"it ends\n{facho.picture()}")
            assert pids(facho) == {engine.process.pid}
        facho.expire(engine)
    with facho.engine() as engine:
        wait_for_both(facho, engine)
        wait_until_every_node_ran(facho)
        engine.stop()
    assert_sound(facho, fleet)
