"""How many pollers are free, and how busy they were."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.pool import WorkerSeen, alive, busy_percentage, free_slots, is_saturated

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
    assert bool(alive([worker(seen_s_ago)], NOW)) is lives


@pytest.mark.parametrize(
    ("workers", "active", "free"),
    [
        pytest.param([], 0, 0, id="no worker"),
        pytest.param([worker(1)], 0, 10, id="all idle"),
        pytest.param([worker(1, 10), worker(2, 4)], 5, 9, id="two workers"),
        pytest.param([worker(1, 10), worker(60, 4)], 5, 5, id="a dead worker has no pollers"),
        pytest.param([worker(60, 10)], 7, 0, id="its executions are still open: never below none"),
    ],
)
def test_free_pollers(workers: list[WorkerSeen], active: int, free: int) -> None:
    assert free_slots(workers, active, NOW) == free


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
