"""How many pollers are free and how busy they were, and which waiting executions get them first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.pool import (
    DEFAULT,
    DEFAULT_PRIORITY,
    HIGH_PRIORITY,
    RETRY,
    SNMP_QUEUES,
    ActiveExecution,
    FreePollers,
    Waiting,
    WorkerSeen,
    across_olts,
    alive_workers,
    busy_percentage,
    choose,
    decode_queues,
    encode_queues,
    is_saturated,
    missed_slots,
    poller_processes,
    queue_of,
    share_pollers,
    within_olt,
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


@pytest.mark.parametrize(
    ("cores", "pollers", "wanted", "processes"),
    [
        pytest.param(1, 10, 0, 1, id="one core"),
        pytest.param(2, 10, 0, 1, id="two cores: the other one is for the web and the database"),
        pytest.param(4, 10, 0, 2, id="half of the cores"),
        pytest.param(64, 10, 0, 10, id="not more than pollers"),
        pytest.param(2, 10, 2, 2, id="as the setting says"),
        pytest.param(2, 1, 4, 1, id="one poller is in one process"),
    ],
)
def test_processes_follow_the_cores(cores: int, pollers: int, wanted: int, processes: int) -> None:
    assert poller_processes(cores, pollers, wanted) == processes


@pytest.mark.parametrize(
    ("pollers", "processes", "shares"),
    [(10, 1, [10]), (10, 2, [5, 5]), (10, 4, [2, 2, 3, 3]), (3, 3, [1, 1, 1])],
)
def test_pollers_are_shared_evenly(pollers: int, processes: int, shares: list[int]) -> None:
    assert share_pollers(pollers, processes) == shares


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


DISCOVERY: Final = DEFAULT_PRIORITY["discovery"]
WALK: Final = DEFAULT_PRIORITY["walk"]
GET: Final = DEFAULT_PRIORITY["get"]


def waiting(
    number: int, priority: int, waited_s: float, *, every_s: float = 300, run_now: bool = False, olt: int = 1
) -> Waiting:
    slot = NOW - timedelta(seconds=waited_s)
    return Waiting(number, olt, slot, timedelta(seconds=every_s), priority, run_now)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            waiting(9, 1, 0, run_now=True),
            waiting(1, 100, 9000),
            id="run-now precedes even what has starved",
        ),
        pytest.param(
            waiting(9, GET, 301),
            waiting(1, DISCOVERY, 100),
            id="who waited longer than its own interval precedes a higher priority",
        ),
        pytest.param(
            waiting(9, DISCOVERY, 100),
            waiting(1, GET, 300),
            id="exactly one interval is not longer yet",
        ),
        pytest.param(
            waiting(9, GET, 61, every_s=60),
            waiting(1, DISCOVERY, 200, every_s=3600),
            id="its own interval counts, not the longest wait",
        ),
        pytest.param(
            waiting(9, DISCOVERY, 310),
            waiting(1, GET, 500),
            id="of two that waited longer than their interval, the higher priority",
        ),
        pytest.param(
            waiting(9, GET, 601),
            waiting(1, DISCOVERY, 310),
            id="who waited for two of its intervals precedes who waited for one",
        ),
        pytest.param(
            waiting(9, DISCOVERY, 0),
            waiting(1, GET, 60),
            id="discovery precedes a get that is due earlier",
        ),
        pytest.param(
            waiting(9, GET, 60),
            waiting(1, GET, 30),
            id="at the same priority the earlier slot",
        ),
        pytest.param(
            waiting(1, GET, 60),
            waiting(9, GET, 60),
            id="at the same slot the lower id",
        ),
        pytest.param(
            waiting(9, GET, 60, run_now=True),
            waiting(1, GET, 30, run_now=True),
            id="of two run-nows the one that was asked for first",
        ),
    ],
)
def test_of_one_olt(first: Waiting, second: Waiting) -> None:
    assert within_olt(first, NOW) < within_olt(second, NOW)
    assert choose([second, first], set(), 10, NOW) == [first]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            waiting(9, 1, 0, run_now=True),
            waiting(1, 100, 9000, olt=2),
            id="run-now precedes the most delayed",
        ),
        pytest.param(
            waiting(9, GET, 5.001),
            waiting(1, DISCOVERY, 5, olt=2),
            id="delayed precedes a higher priority that is not",
        ),
        pytest.param(
            waiting(9, GET, 30),
            waiting(1, DISCOVERY, 20, olt=2),
            id="the most delayed first, whatever its priority",
        ),
        pytest.param(
            waiting(9, DISCOVERY, 1),
            waiting(1, WALK, 4, olt=2),
            id="where none is delayed the higher priority",
        ),
        pytest.param(
            waiting(9, GET, 4),
            waiting(1, GET, 1, olt=2),
            id="at the same priority the earlier slot",
        ),
        pytest.param(
            waiting(1, GET, 4),
            waiting(9, GET, 4, olt=2),
            id="at the same slot the lower id",
        ),
        pytest.param(
            waiting(9, DISCOVERY, 30),
            waiting(1, GET, 30, olt=2),
            id="of two equally delayed the higher priority",
        ),
    ],
)
def test_of_several_olts(first: Waiting, second: Waiting) -> None:
    assert across_olts(first, NOW) < across_olts(second, NOW)
    assert choose([second, first], set(), 10, NOW) == [first, second]
    assert choose([second, first], set(), 1, NOW) == [first]


def test_an_olt_gets_one_at_a_time() -> None:
    queue = [waiting(number, GET, 60, olt=1) for number in range(5)]
    assert [chosen.execution_id for chosen in choose(queue, set(), 10, NOW)] == [0]


def test_a_busy_olt_gets_none_not_even_by_run_now() -> None:
    queue = [waiting(1, GET, 0, run_now=True, olt=1), waiting(2, GET, 0, olt=2)]
    assert [chosen.olt_id for chosen in choose(queue, {1}, 10, NOW)] == [2]


@pytest.mark.parametrize("free", [0, -3])
def test_without_a_free_poller_all_wait(free: int) -> None:
    assert choose([waiting(1, GET, 60)], set(), free, NOW) == []


def test_nobody_waiting_is_nobody_chosen() -> None:
    assert choose([], set(), 10, NOW) == []


def test_one_that_is_not_due_yet_has_missed_nothing() -> None:
    assert missed_slots(waiting(1, GET, -60), NOW) == 0


def test_an_olt_has_the_place_of_what_has_waited_longest_for_it() -> None:
    most_delayed = waiting(1, GET, 200, every_s=300, olt=1)
    goes_before_it = waiting(2, GET, 61, every_s=60, olt=1)
    of_another = waiting(3, GET, 100, every_s=300, olt=2)
    assert choose([most_delayed, goes_before_it, of_another], set(), 2, NOW) == [goes_before_it, of_another]
