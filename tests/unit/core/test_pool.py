"""How many pollers are free, and how busy they were."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.pool import (
    DEFAULT,
    HIGH_PRIORITY,
    RETRY,
    SNMP_QUEUES,
    ActiveExecution,
    FreePollers,
    WorkerSeen,
    alive_workers,
    busy_percentage,
    decode_queues,
    encode_queues,
    is_saturated,
    queue_of,
)

NOW: Final = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
MINUTE: Final = timedelta(minutes=1)


def worker(seen_s_ago: float, pollers: int = 10) -> WorkerSeen:
    return WorkerSeen("w1", pollers, NOW - timedelta(seconds=seen_s_ago))


@pytest.mark.parametrize(
    ("seen_s_ago", "lives"),
    [
        pytest.param(0, True, id="seen now"),
        pytest.param(15, True, id="seen fifteen seconds ago"),
        pytest.param(15.001, False, id="not seen since"),
        pytest.param(-2, True, id="its clock is a little ahead"),
        pytest.param(-3600, False, id="seen before the clock was set back"),
    ],
)
def test_a_worker_lives_while_it_is_seen(seen_s_ago: float, lives: bool) -> None:
    assert bool(alive_workers([worker(seen_s_ago)], NOW)) is lives


ALL: Final = frozenset(SNMP_QUEUES)


def lends(name: str, pollers: int, *queues: str, seen_s_ago: float = 1) -> WorkerSeen:
    return WorkerSeen(name, pollers, NOW - timedelta(seconds=seen_s_ago), frozenset(queues) or ALL)


def running(worker: str, count: int) -> list[ActiveExecution]:
    return [ActiveExecution(DEFAULT, worker)] * count


def coming(queue: str, count: int) -> list[ActiveExecution]:
    return [ActiveExecution(queue, None)] * count


@pytest.mark.parametrize(
    ("workers", "active", "free"),
    [
        pytest.param([], [], 0, id="no worker"),
        pytest.param([lends("w1", 10)], [], 10, id="all idle"),
        pytest.param([lends("w1", 10), lends("w2", 4)], running("w1", 3) + running("w2", 2), 9, id="two"),
        pytest.param([lends("w1", 10)], running("w1", 2) + coming(RETRY, 3), 5, id="three on their way"),
        pytest.param(
            [lends("w1", 10), lends("w2", 4, seen_s_ago=60)],
            running("w1", 1) + running("w2", 4),
            9,
            id="a dead worker has no pollers, and what it left takes none",
        ),
        pytest.param([lends("w1", 10)], running("by hand", 2), 10, id="by hand one needs no poller"),
        pytest.param([lends("w1", 2)], running("w1", 7), 0, id="it lends fewer now: never below none"),
    ],
)
def test_free_pollers(workers: list[WorkerSeen], active: list[ActiveExecution], free: int) -> None:
    assert FreePollers(workers, active, NOW).total == free


@pytest.mark.parametrize(
    ("workers", "active", "asked", "got"),
    [
        pytest.param(
            [lends("w1", 2)], [], [DEFAULT, RETRY, HIGH_PRIORITY], [True, True, False], id="one takes all"
        ),
        pytest.param(
            [lends("urgent", 2, HIGH_PRIORITY)],
            [],
            [DEFAULT, RETRY, HIGH_PRIORITY, HIGH_PRIORITY, HIGH_PRIORITY],
            [False, False, True, True, False],
            id="nobody takes ordinary ones",
        ),
        pytest.param(
            [lends("urgent", 2, HIGH_PRIORITY), lends("w1", 1)],
            [],
            [DEFAULT, DEFAULT, HIGH_PRIORITY, HIGH_PRIORITY, HIGH_PRIORITY],
            [True, False, True, True, False],
            id="one for ordinary ones, and it is given once",
        ),
        pytest.param(
            [lends("urgent", 1, HIGH_PRIORITY), lends("w1", 1)],
            [],
            [HIGH_PRIORITY, HIGH_PRIORITY, DEFAULT],
            [True, True, False],
            id="urgent ones may have all",
        ),
        pytest.param(
            [lends("urgent", 2, HIGH_PRIORITY), lends("w1", 1)],
            running("w1", 1),
            [DEFAULT, HIGH_PRIORITY],
            [False, True],
            id="who would take it is busy",
        ),
        pytest.param(
            [lends("urgent", 2, HIGH_PRIORITY), lends("w1", 1)],
            coming(HIGH_PRIORITY, 2),
            [DEFAULT],
            [True],
            id="what is on its way leaves it to who alone can take it",
        ),
        pytest.param(
            [lends("w1", 1, DEFAULT), lends("w2", 1, RETRY)],
            coming(HIGH_PRIORITY, 3),
            [DEFAULT, RETRY],
            [True, True],
            id="what nobody takes is in nobody's way",
        ),
    ],
)
def test_each_queue_has_the_pollers_that_take_it(
    workers: list[WorkerSeen], active: list[ActiveExecution], asked: list[str], got: list[bool]
) -> None:
    free = FreePollers(workers, active, NOW)
    assert [free.take(queue) for queue in asked] == got


def test_a_queue_is_served_by_who_lives_and_takes_it_also_when_busy() -> None:
    workers = [lends("w1", 1, DEFAULT), lends("w2", 1, RETRY, seen_s_ago=60)]
    free = FreePollers(workers, running("w1", 1), NOW)
    assert [free.serves(queue) for queue in (DEFAULT, RETRY, HIGH_PRIORITY)] == [True, False, False]


@pytest.mark.parametrize(
    ("busy_s", "pollers", "percentage"),
    [
        pytest.param(0, 10, 0.0, id="idle"),
        pytest.param(300, 10, 50.0, id="half of ten minutes of ten pollers"),
        pytest.param(600, 10, 100.0, id="all of it"),
        pytest.param(700, 10, 100.0, id="a poller that has just gone counts no further"),
        pytest.param(-1, 10, 0.0, id="the clock was set back"),
        pytest.param(0, 0, 0.0, id="no pollers"),
    ],
)
def test_how_busy_pollers_were(busy_s: float, pollers: int, percentage: float) -> None:
    assert busy_percentage(timedelta(seconds=busy_s), pollers, MINUTE) == percentage


def test_in_no_time_nobody_was_busy() -> None:
    assert busy_percentage(timedelta(0), 10, timedelta(0)) == 0.0


@pytest.mark.parametrize(
    ("percentage", "saturated"), [(0.0, False), (75.0, False), (75.1, True), (100.0, True)]
)
def test_pollers_are_saturated_above_three_quarters(percentage: float, saturated: bool) -> None:
    assert is_saturated(percentage) is saturated


@pytest.mark.parametrize(
    ("run_now", "attempts", "queue"),
    [
        pytest.param(False, 0, DEFAULT, id="a slot"),
        pytest.param(False, 1, RETRY, id="a retry"),
        pytest.param(True, 0, HIGH_PRIORITY, id="run now"),
        pytest.param(True, 2, HIGH_PRIORITY, id="a retry of a run-now is as urgent"),
    ],
)
def test_its_queue(run_now: bool, attempts: int, queue: str) -> None:
    assert queue_of(run_now=run_now, attempts=attempts) == queue


@pytest.mark.parametrize("queues", [(RETRY,), (DEFAULT, HIGH_PRIORITY), SNMP_QUEUES])
def test_queues_that_are_written_are_read_again(queues: tuple[str, ...]) -> None:
    assert decode_queues(encode_queues(frozenset(queues))) == frozenset(queues)


def test_who_says_nothing_takes_all() -> None:
    assert decode_queues("") == frozenset(SNMP_QUEUES)
