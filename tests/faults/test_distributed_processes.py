"""Workers and beats that die, hang or are stopped: others take up what they left, and nothing runs twice."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.distributed import (
    PLAIN,
    UNHURRIED,
    Site,
    assert_all_ended_in_order,
    run_site,
    steps_go_on,
    told,
)
from tests.faults.engines import COMES_WITHIN_S, Engine
from tests.services.postgres import Postgres
from tests.services.redis import Redis

# As an operator's page does it.
ABORT = """
import sys
from facho.cli.system import system
with system():
    from facho.engine.clock import database_now
    from facho.engine.commands.runs import abort
    abort(int(sys.argv[1]), database_now())
"""


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, shared_postgres: Postgres, shared_redis: Redis
) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("site")
    with run_site(folder, shared_postgres, shared_redis) as site:
        yield site


def attempts_of(site: Site, execution: int) -> list[tuple[int, str]]:
    return [
        (number, error)
        for number, error in site.facho.rows(
            f"SELECT number, error FROM execution_attempts WHERE execution_id = {execution} ORDER BY number"
        )
    ]


def abort_one(site: Site, of: Engine) -> int:
    """Until it is quicker than the execution."""
    while True:
        found = site.busy_with(of)
        done = subprocess.run(
            [sys.executable, "-c", ABORT, str(found)],
            env=site.facho.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return found
        assert "has ended already" in done.stderr


def test_a_worker_killed_in_mid_walk(site: Site) -> None:
    site.ready()
    before = site.onus()
    victim = site.workers[0]
    held = site.in_mid_walk(victim)

    victim.kill()

    killed_at = site.now()
    site.fleet.set_scenario(PLAIN)
    told("a worker killed in mid-walk", site.runs_again(killed_at))
    assert "disappeared" in attempts_of(site, held[0])[0][1]
    assert before <= site.onus()
    site.assert_sound()


def test_all_workers_killed_and_new_ones_started(site: Site) -> None:
    site.ready()
    before = site.onus()
    site.in_mid_walk(at_least=2)

    for worker in site.workers:
        worker.kill()

    site.fleet.set_scenario(PLAIN)
    # Slots come and go, and there is nobody to run them.
    time.sleep(3.0)
    started_at = site.now()
    for worker in [site.start("worker") for _ in range(2)]:
        site.facho.wait_for(worker)
    told("new workers started after all were killed", site.runs_again(started_at))
    assert before <= site.onus()
    site.assert_sound()


def test_one_beat_of_two_killed(site: Site) -> None:
    """The one that stepped alone until now; the other one came later."""
    site.ready(beats=2)
    steps_go_on(site, 2.0)

    site.beats[0].kill()

    killed_at = site.now()
    gap = steps_go_on(site, 4.0)
    print(f"the longest time without a step was {gap:.1f} s")
    assert gap < 3.0
    site.runs_again(killed_at)
    site.assert_sound()


def test_a_worker_frozen_for_longer_than_its_lease(site: Site) -> None:
    site.ready()
    before = site.onus()
    frozen = site.workers[0]
    held = site.in_mid_walk(frozen)

    frozen.send(signal.SIGSTOP)
    time.sleep(5.0)
    site.fleet.set_scenario(PLAIN)
    taken_over = site.runs_again(site.now())
    frozen.send(signal.SIGCONT)

    woken_at = site.now()
    told("a worker frozen: while it was", taken_over)
    told("a worker frozen: when it was awake again", site.runs_again(woken_at))
    assert "disappeared" in attempts_of(site, held[0])[0][1]
    assert before <= site.onus()
    site.assert_sound()
    assert frozen.process.poll() is None


def test_a_worker_stopped_in_mid_walk_hands_back(site: Site) -> None:
    site.ready()
    stopped = site.workers[0]
    held = site.in_mid_walk(stopped)
    pid = stopped.process.pid

    began, stopped_at = time.monotonic(), site.now()
    stopped.stop()
    took = time.monotonic() - began

    print(f"the worker ended after {took:.1f} s")
    # The walk itself would have taken half a minute.
    assert took < 15.0
    left = site.facho.one(
        "SELECT count(*) FROM snmp_executions WHERE state IN ('PENDING', 'RUNNING') "
        f"AND worker LIKE '%:{pid}:%' AND lease_token <> ''"
    )
    assert left == 0
    site.fleet.set_scenario(PLAIN)
    told("a worker stopped in mid-walk", site.runs_again(stopped_at))
    assert not any(error for _, error in attempts_of(site, held[0])), "nobody was to blame"
    site.assert_sound()


def test_all_pollers_busy_keep_nobody_from_stepping(site: Site) -> None:
    site.ready(workers=0)
    ready_at = site.now()
    victim, other = (site.start("worker", "--pollers", "1") for _ in range(2))
    for worker in (victim, other):
        site.facho.wait_for(worker)
    site.fleet.set_scenario(UNHURRIED)
    for worker in (victim, other):
        site.busy_with(worker)

    gap = steps_go_on(site, 8.0)
    aborted = abort_one(site, other)
    gap = max(gap, steps_go_on(site, 3.0))
    assert site.facho.one(f"SELECT state FROM snmp_executions WHERE id = {aborted}") == "ABORTED"
    assert site.facho.one(f"SELECT lease_token FROM snmp_executions WHERE id = {aborted}") == ""

    killed = site.busy_with(victim)
    victim.kill()
    gap = max(gap, steps_go_on(site, 4.0))
    assert "disappeared" in attempts_of(site, killed)[0][1], "taken back by a step"

    print(f"the longest time without a step was {gap:.1f} s")
    assert gap < 5.0
    queued = site.facho.one(f"SELECT count(*) FROM snmp_executions WHERE queued_at > '{ready_at}'")
    assert queued > 0
    site.fleet.set_scenario(PLAIN)
    told("all pollers busy, then not", site.runs_again(site.now()))
    site.assert_sound()


def test_all_stop_in_order(site: Site) -> None:
    site.ready()
    for each in (*site.workers, *site.beats):
        each.send(signal.SIGTERM)
    for each in (*site.workers, *site.beats):
        assert each.process.wait(COMES_WITHIN_S) == 0, each.log.read_text(errors="replace")
    assert_all_ended_in_order(site)
