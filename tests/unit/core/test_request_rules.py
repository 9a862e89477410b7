"""How many ONUs are asked at once, and when too many were silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.request_rules import (
    RequestPace,
    batches,
    columns_to_leave_out,
    request_pace,
    smaller_batch,
    too_many_unanswered,
    update_missing_columns,
)


@pytest.mark.parametrize(
    ("count", "size", "lengths"),
    [
        pytest.param(0, 200, [], id="no ONUs, no batch"),
        pytest.param(1, 200, [1], id="one ONU"),
        pytest.param(200, 200, [200], id="exactly one batch"),
        pytest.param(450, 200, [200, 200, 50], id="the last batch has what is left"),
        pytest.param(3, 1, [1, 1, 1], id="one by one"),
    ],
)
def test_onus_are_asked_in_batches(count: int, size: int, lengths: list[int]) -> None:
    assert [len(batch) for batch in batches(range(count), size)] == lengths


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a batch of 0"):
        list(batches([1], 0))


@pytest.mark.parametrize(
    ("size", "next_size"),
    [(200, 50), (50, 1), (1, None), (120, 50), (51, 50), (30, 1), (2, 1), (0, None), (1000, 200)],
)
def test_a_batch_that_failed_is_asked_in_smaller_ones(size: int, next_size: int | None) -> None:
    assert smaller_batch(size) == next_size


@pytest.mark.parametrize(
    ("asked", "unanswered", "failed"),
    [
        pytest.param(0, 0, False, id="nothing was asked"),
        pytest.param(100, 0, False, id="all answered"),
        pytest.param(100, 20, False, id="a fifth was silent"),
        pytest.param(100, 21, True, id="more than a fifth was silent"),
        pytest.param(4, 1, True, id="one of four"),
        pytest.param(5, 1, False, id="one of five"),
        pytest.param(1, 1, True, id="the only one"),
    ],
)
def test_an_execution_fails_when_more_than_a_fifth_is_silent(
    asked: int, unanswered: int, failed: bool
) -> None:
    assert too_many_unanswered(asked, unanswered) is failed


@pytest.mark.parametrize("hundredths", range(101))
def test_exactly_the_allowed_share_is_allowed_whatever_it_is(hundredths: int) -> None:
    most = float(f"0.{hundredths:02}") if hundredths < 100 else 1.0
    assert not too_many_unanswered(700, 7 * hundredths, most=most)
    assert too_many_unanswered(700, 7 * hundredths + 1, most=most)


NOW: Final = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cpu_pct", "read_min_ago", "pace"),
    [
        pytest.param(None, None, RequestPace.NORMAL, id="never read"),
        pytest.param(None, 1, RequestPace.NORMAL, id="the OLT does not tell"),
        pytest.param(99.0, None, RequestPace.NORMAL, id="nobody knows when it was read"),
        pytest.param(12.0, 1, RequestPace.NORMAL, id="idle"),
        pytest.param(80.0, 1, RequestPace.NORMAL, id="at eighty"),
        pytest.param(80.1, 1, RequestPace.ONE_AT_A_TIME, id="above eighty"),
        pytest.param(90.0, 1, RequestPace.ONE_AT_A_TIME, id="at ninety"),
        pytest.param(90.1, 1, RequestPace.SKIP_GETS, id="above ninety"),
        pytest.param(99.0, 10, RequestPace.SKIP_GETS, id="read ten minutes ago"),
        pytest.param(99.0, 10.1, RequestPace.NORMAL, id="read too long ago to say anything"),
        pytest.param(99.0, -5, RequestPace.SKIP_GETS, id="its clock is a little ahead"),
        pytest.param(99.0, -60, RequestPace.NORMAL, id="read before the clock was set back"),
        pytest.param(float("nan"), 1, RequestPace.NORMAL, id="not a number"),
    ],
)
def test_a_busy_olt_is_asked_gently(
    cpu_pct: float | None, read_min_ago: float | None, pace: RequestPace
) -> None:
    read_at = None if read_min_ago is None else NOW - timedelta(minutes=read_min_ago)
    assert request_pace(cpu_pct, read_at, NOW) is pace


def test_the_limits_are_settings() -> None:
    assert request_pace(60.0, NOW, NOW, gentle_above=50.0) is RequestPace.ONE_AT_A_TIME
    assert request_pace(60.0, NOW, NOW, gentle_above=50.0, skip_above=55.0) is RequestPace.SKIP_GETS
    earlier = NOW - timedelta(minutes=2)
    assert request_pace(99.0, earlier, NOW, known_for=timedelta(minutes=1)) is RequestPace.NORMAL


DAY = timedelta(days=1)
NOTED = {"1.2.3": "2025-06-10T09:00:00+00:00"}


def test_what_was_noted_lately_is_left_out() -> None:
    assert columns_to_leave_out(NOTED, NOW) == {"1.2.3"}


def test_after_a_day_it_is_asked_for_again() -> None:
    assert columns_to_leave_out(NOTED, NOW + DAY) == set()
    assert columns_to_leave_out(NOTED, NOW + DAY, again_after=2 * DAY) == {"1.2.3"}


def test_a_note_from_the_future_counts_no_longer_than_any_other() -> None:
    assert columns_to_leave_out(NOTED, NOW - 2 * DAY) == set()


def test_what_is_missing_is_noted_once_more_and_what_came_is_forgotten() -> None:
    lacks = update_missing_columns(NOTED, {"1.2.4"}, {"1.2.3"}, NOW, renewed=False)
    assert lacks == {"1.2.4": "2025-06-10T10:00:00+00:00"}


def test_who_was_not_asked_keeps_its_note() -> None:
    assert update_missing_columns(NOTED, (), (), NOW, renewed=False) == NOTED


def test_an_olt_that_restarted_may_have_everything() -> None:
    assert update_missing_columns(NOTED, (), (), NOW, renewed=True) == {}
