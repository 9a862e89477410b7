"""Workers and beats that die, hang or are stopped: others take up what they left, and nothing runs twice."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.distributed import Site, assert_all_ended_in_order, run_site, told
from tests.services.postgres import Postgres
from tests.services.redis import Redis
from tests.waiting import PATIENCE_S, wait_until

# As an operator's page does it.
ABORT = """
import sys
from facho.cli.system import system
with system():
    from facho.apps.db.database import database_now
    from facho.engine.commands.runs import abort_execution
    abort_execution(int(sys.argv[1]), database_now())
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


def is_taken_back(site: Site, execution: int) -> bool:
    return any("running_process_gone" in error for _, error in attempts_of(site, execution))


def abort(site: Site, execution: int) -> None:
    subprocess.run([sys.executable, "-c", ABORT, str(execution)], env=site.facho.environment, check=True)


def test_a_worker_killed_in_mid_walk(site: Site) -> None:
    site.ready()
    before = site.onus()
    victim = site.workers[0]

    with site.in_mid_walk(victim) as held:
        victim.kill()
        killed_at = site.now()
        site.facho.expire(victim)

    told("a worker killed in mid-walk", site.runs_again(killed_at))
    assert is_taken_back(site, held[0])
    assert before <= site.onus()
    site.assert_sound()


def test_all_workers_killed_and_new_ones_started(site: Site) -> None:
    site.ready()
    before = site.onus()

    with site.in_mid_walk(at_least=2):
        for worker in site.workers:
            worker.kill()
            site.facho.expire(worker)

    # Slots come and go, and there is nobody to run them.
    site.wait_for_steps(4)
    started_at = site.now()
    for worker in [site.start("worker") for _ in range(2)]:
        site.facho.wait_for(worker)
    told("new workers started after all were killed", site.runs_again(started_at))
    assert before <= site.onus()
    site.assert_sound()


def test_one_beat_of_two_killed(site: Site) -> None:
    """The one that stepped alone until now; the other one came later."""
    site.ready(beats=2)
    site.wait_for_steps(2)

    site.beats[0].kill()

    killed_at = site.now()
    site.wait_for_steps(3)
    site.runs_again(killed_at)
    site.assert_sound()


def test_a_worker_frozen_for_longer_than_its_lease(site: Site) -> None:
    site.ready(workers=1)
    before = site.onus()
    # That it may run out without the freezing, on a busy machine, changes nothing.
    frozen = site.start("worker", FACHO_LEASE="3")
    site.facho.wait_for(frozen)

    with site.in_mid_walk(frozen) as held:
        frozen.send(signal.SIGSTOP)
        wait_until(lambda: is_taken_back(site, held[0]), what=lambda: f"taken back\n{site.facho.picture()}")
    # The answers that were held are there for it when it wakes.
    taken_over = site.runs_again(site.now())
    frozen.send(signal.SIGCONT)

    woken_at = site.now()
    seen = (
        f"SELECT count(*) FROM workers WHERE name LIKE '%:{frozen.process.pid}:%' AND seen_at > '{woken_at}'"
    )
    wait_until(lambda: site.facho.one(seen), what=lambda: f"it is awake\n{site.facho.picture()}")
    told("a worker frozen: while it was", taken_over)
    told("a worker frozen: when it was awake again", site.runs_again(woken_at))
    assert before <= site.onus()
    site.assert_sound()
    assert frozen.process.poll() is None


def test_a_worker_stopped_in_mid_walk_hands_back(site: Site) -> None:
    site.ready()
    stopped = site.workers[0]
    pid = stopped.process.pid

    with site.in_mid_walk(stopped) as held:
        stopped_at = site.now()
        # What it walks cannot end.
        stopped.stop()
        left = site.facho.one(
            "SELECT count(*) FROM snmp_executions WHERE state IN ('PENDING', 'RUNNING') "
            f"AND worker LIKE '%:{pid}:%' AND lease_token <> ''"
        )
        assert left == 0

    told("a worker stopped in mid-walk", site.runs_again(stopped_at))
    assert not any(error for _, error in attempts_of(site, held[0])), "nobody was to blame"
    site.assert_sound()


def test_all_pollers_busy_keep_nobody_from_stepping(site: Site) -> None:
    site.ready(workers=0)
    ready_at = site.now()
    victim, other = (site.start("worker", "--pollers", "1") for _ in range(2))
    for worker in (victim, other):
        site.facho.wait_for(worker)
    with site.holding() as gates:
        (killed,), (aborted,) = site.held(gates, victim), site.held(gates, other)

        site.wait_for_steps(5)
        abort(site, aborted)
        lease = f"SELECT lease_token FROM snmp_executions WHERE id = {aborted}"
        wait_until(lambda: site.facho.one(lease) == "", what=lambda: f"it lets go\n{site.facho.picture()}")
        assert site.facho.one(f"SELECT state FROM snmp_executions WHERE id = {aborted}") == "ABORTED"
        site.held(gates, other)
        site.wait_for_steps(2)

        victim.kill()
        site.facho.expire(victim)
        wait_until(
            lambda: is_taken_back(site, killed), what=lambda: f"a step takes back\n{site.facho.picture()}"
        )

    queued = site.facho.one(f"SELECT count(*) FROM snmp_executions WHERE queued_at > '{ready_at}'")
    assert queued > 0
    told("all pollers busy, then not", site.runs_again(site.now()))
    site.assert_sound()


def test_all_stop_in_order(site: Site) -> None:
    site.ready()
    for each in (*site.workers, *site.beats):
        each.send(signal.SIGTERM)
    for each in (*site.workers, *site.beats):
        assert each.process.wait(PATIENCE_S) == 0, each.log.read_text(errors="replace")
    assert_all_ended_in_order(site)
