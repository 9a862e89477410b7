"""An engine that dies, hangs or is started twice: nothing is lost, nothing runs twice, all recovers."""

import contextlib
import os
import random
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetGate, FleetProcess
from tests.faults.engines import Engine, Facho, set_up
from tests.waiting import wait_until

pytestmark = pytest.mark.both_databases

OLTS = 4
ONUS = 300
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
        # At a request to one OLT, whatever the engine does with the others meanwhile.
        with (
            facho.engine() as engine,
            fleet.hold(moments.randrange(OLTS), skip=moments.randrange(60)) as gate,
        ):
            wait_until(lambda gate=gate: gate.held, what=facho.picture)  # type: ignore[misc]
            engine.kill()
        facho.expire(engine)

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

    def is_frozen() -> bool:
        engine.send(signal.SIGSTOP)
        if facho.is_locked():
            engine.send(signal.SIGCONT)
            return False
        return True

    wait_until(is_frozen, what=lambda: f"it is frozen while it does not write\n{facho.picture()}")


def hold_walks(fleet: FleetProcess, gates: contextlib.ExitStack) -> list[FleetGate]:
    """Hold the walk of every OLT after its first requests."""
    return [gates.enter_context(fleet.hold(number, skip=3)) for number in range(OLTS)]


def wait_for_walks(facho: Facho, gates: list[FleetGate]) -> None:
    wait_until(
        lambda: all(gate.held for gate in gates), what=lambda: f"every OLT is walked\n{facho.picture()}"
    )


def test_stopped_longer_than_its_lease_it_sends_and_writes_nothing(facho: Facho, fleet: FleetProcess) -> None:
    set_up(facho, fleet, JOBS[:1])
    # That it may run out without the freezing, on a busy machine, changes nothing.
    with contextlib.ExitStack() as stack:
        # Before the engine starts: else it may end a walk first.
        gates = hold_walks(fleet, stack)
        with facho.engine({"FACHO_LEASE": "3"}) as frozen:
            wait_for_walks(facho, gates)
            freeze(frozen, facho)
            held = attempts_of(facho, frozen)
            assert len(held) >= OLTS
            stack.close()
            with facho.engine() as other:
                wait_until(
                    lambda: (
                        facho.one("SELECT count(DISTINCT olt_id) FROM snmp_executions WHERE state='SUCCESS'")
                        == OLTS
                    ),
                    what=lambda: f"the other engine takes over\n{facho.picture()}",
                )
                woken_at = datetime.now(UTC)
                frozen.send(signal.SIGCONT)
                wait_until(
                    lambda: seen_since(facho, frozen, woken_at), what=lambda: f"awake\n{facho.picture()}"
                )
                other.stop()
            frozen.stop()
    ended = attempts_of(facho, frozen)
    assert all("running_process_gone" in ended[number] for number in held), (
        "taken back, and not ended by the frozen one"
    )
    assert_nothing_is_stuck(facho)
    assert_nothing_ran_twice(facho, fleet)
    assert_no_onu_is_lost(facho)


def attempts_of(facho: Facho, engine: Engine) -> dict[int, str]:
    """The attempts that a process made, with their errors."""
    whose = f"worker LIKE '%:{engine.process.pid}:%'"
    return dict(facho.rows(f"SELECT id, error FROM execution_attempts WHERE {whose}"))


def seen_since(facho: Facho, engine: Engine, since: datetime) -> bool:
    """Whether it has renewed what it holds, and said that it is there."""
    when = since.replace(tzinfo=None).isoformat(" ") if "sqlite" in facho.database_url else since
    whose = f"name LIKE '%:{engine.process.pid}:%' AND seen_at > '{when}'"
    return bool(facho.one(f"SELECT count(*) FROM workers WHERE {whose}"))


def test_two_engines_by_mistake_never_ask_an_olt_at_once(facho: Facho, fleet: FleetProcess) -> None:
    set_up(facho, fleet, JOBS)
    facho.settings["FACHO_POLLERS"] = "1"
    workers = "SELECT count(DISTINCT worker) FROM snmp_executions WHERE state = 'SUCCESS'"
    with facho.engine() as first, facho.engine() as second:
        facho.wait_for(first)
        facho.wait_for(second)
        with fleet.hold(0) as gate:
            wait_until(lambda: gate.held, what=facho.picture)
            # The only poller of one engine is at it: the other one does the rest.
            done = successes(facho)
            wait_until(lambda: successes(facho) >= done + 2 * OLTS, what=facho.picture)
        wait_until(lambda: successes(facho) >= 30 and facho.one(workers) == 2, what=facho.picture)
        first.stop()
        second.stop()
    assert_nothing_is_stuck(facho)
    assert_nothing_ran_twice(facho, fleet)
    assert_no_onu_is_lost(facho)


def test_a_stop_in_mid_walk_hands_back_and_the_next_engine_takes_it_up(
    facho: Facho, fleet: FleetProcess
) -> None:
    set_up(facho, fleet, JOBS[:1])
    with facho.engine() as engine, contextlib.ExitStack() as stack:
        gates = hold_walks(fleet, stack)
        wait_for_walks(facho, gates)
        # What it walks cannot end.
        engine.stop()
        assert_nothing_is_stuck(facho)
        assert facho.states().get("WAITING", 0) >= OLTS
    with facho.engine() as engine:
        wait_until(lambda: successes(facho) >= OLTS, what=facho.picture)
        engine.stop()
    assert_nothing_ran_twice(facho, fleet)
    assert_no_onu_is_lost(facho)
