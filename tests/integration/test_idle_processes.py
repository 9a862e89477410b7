"""How often processes wake up while there is nothing to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.faults.engines import STARTS_WITHIN_S, Facho, wait_for_steps
from tests.services import pattern, warm
from tests.services.postgres import Postgres
from tests.services.redis import Redis
from tests.waiting import wait_until

# The steps of the scheduler, one a second, that are counted over.
STEPS: Final = 8
# A thread that waits for the answer to a statement wakes up once for it, and a step makes some. One that
# looks for something all the time would wake up fifty times a second.
MOST_OF_A_WORKER: Final = 8
MOST_WITH_STEPS: Final = 30
# Of everything that a person would wait for nothing is shortened here.
DEFAULTS: Final = {"FACHO_LEASE": "20", "FACHO_LEASE_RENEW": "5", "FACHO_WORKER_SEEN_WITHIN": "15"}


@pytest.fixture
def distributed(tmp_path: Path, shared_postgres: Postgres, shared_redis: Redis) -> Facho:
    shared_postgres.create_database("idle")
    return prepare(tmp_path, shared_postgres.url("idle"), {"FACHO_BROKER_URL": shared_redis.url})


def prepare(folder: Path, database_url: str, settings: dict[str, str]) -> Facho:
    home = folder / "home"
    home.mkdir()
    facho = Facho(home, database_url, {**DEFAULTS, "FACHO_PROBE_AFTER": "60,300", **settings})
    pattern.put_tables(facho.database_url)
    facho.run("migrate")
    return facho


def started(facho: Facho, *roles: str) -> Iterator[list[int]]:
    """Yield the processes when they have settled."""
    processes = []
    try:
        for role in roles:
            log = facho.home.parent / f"{role}.out"
            with log.open("wb") as output:
                processes.append(warm.start([role], env=facho.environment, output=output))
        wait_until(lambda: facho.one("SELECT count(*) FROM workers"), STARTS_WITHIN_S, what=facho.picture)
        wait_until(
            lambda: facho.rows("SELECT 1 FROM coordinator_state WHERE name = 'scheduler'"),
            STARTS_WITHIN_S,
            what=facho.picture,
        )
        wait_for_steps(facho, 3)
        yield [each.pid for each in processes]
    finally:
        for each in processes:
            each.terminate()
        for each in processes:
            each.wait(STARTS_WITHIN_S)


def wake_ups(pid: int) -> int:
    """Return how often threads of the process have gone to sleep by themselves: each wake-up ends so."""
    found = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text()
        found += int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return found


def wake_ups_a_second(facho: Facho, pids: list[int]) -> list[float]:
    before, began = [wake_ups(pid) for pid in pids], time.monotonic()
    wait_for_steps(facho, STEPS)
    seconds = time.monotonic() - began
    return [(wake_ups(pid) - old) / seconds for pid, old in zip(pids, before, strict=True)]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="only Linux counts them")
def test_an_idle_worker_and_an_idle_beat_sleep(distributed: Facho) -> None:
    for pids in started(distributed, "worker", "beat"):
        worker, beat = wake_ups_a_second(distributed, pids)
        print(f"worker {worker:.1f}, beat {beat:.1f} wake-ups a second")
        assert worker < MOST_OF_A_WORKER
        assert beat < MOST_WITH_STEPS


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="only Linux counts them")
def test_an_idle_engine_sleeps(tmp_path: Path) -> None:
    facho = prepare(tmp_path, f"sqlite:///{tmp_path}/facho.sqlite3", {})
    for pids in started(facho, "engine"):
        (engine,) = wake_ups_a_second(facho, pids)
        print(f"engine {engine:.1f} wake-ups a second")
        assert engine < MOST_WITH_STEPS
