"""Who goes first: of those that wait for one OLT, and of the OLTs that wait for a poller."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.pool import DEFAULT_PRIORITY, Waiting, across_olts, choose, missed_slots, within_olt

NOW: Final = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
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
