"""From sizes that were measured each hour to the days that the disk lasts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from facho.core.disk import Forecast, Room, Sample, forecast

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
MB = 10**6
GB = 10**9


def hourly(hours: int, size: Callable[[int], int], free: Callable[[int], int | None]) -> Forecast:
    """`size` and `free` are asked for hours before now."""
    samples = [Sample(NOW - timedelta(hours=ago), size(ago), free(ago)) for ago in range(hours, -1, -1)]
    return forecast(samples[:-1], samples[-1])


def growing(hours: int, per_hour: int = 10 * MB, free: int | None = 44 * GB) -> Forecast:
    def left(ago: int) -> int | None:
        return None if free is None else free + ago * per_hour

    return hourly(hours, lambda ago: 2 * GB - ago * per_hour, left)


def test_steady_growth() -> None:
    found = growing(48)
    assert found.per_day == pytest.approx(240 * MB)
    assert found.days_left == pytest.approx(44 * GB / (240 * MB))
    assert not found.rough


def test_without_a_sample_nothing_is_known() -> None:
    found = forecast([], Sample(NOW, 2 * GB, 44 * GB))
    assert (found.per_day, found.days_left, found.rough) == (None, None, True)


@pytest.mark.parametrize(("hours", "rough"), [(1, True), (5, True), (6, False)])
def test_less_than_six_hours_are_told_as_rough(hours: int, rough: bool) -> None:
    found = growing(hours)
    assert found.per_day == pytest.approx(240 * MB)
    assert found.rough is rough


def test_minutes_tell_nothing() -> None:
    found = forecast([Sample(NOW - timedelta(minutes=50), GB, GB)], Sample(NOW, 2 * GB, GB))
    assert (found.per_day, found.days_left) == (None, None)


@pytest.mark.parametrize("per_hour", [0, -10 * MB])
def test_what_is_flat_or_shrinks_does_not_grow(per_hour: int) -> None:
    found = growing(48, per_hour)
    assert (found.per_day, found.days_left) == (0, None)


def test_one_night_of_cleaning_does_not_bend_it() -> None:
    # A day and a half ago, 1 GB went.
    found = hourly(168, lambda ago: 5 * GB - ago * 10 * MB + (GB if ago > 36 else 0), lambda _: 44 * GB)
    assert found.per_day == pytest.approx(240 * MB, rel=0.2)


def test_what_others_take_from_the_disk_counts() -> None:
    found = hourly(48, lambda _: 2 * GB, lambda ago: 24 * GB + ago * GB)
    assert found.per_day == 0
    assert found.taken_per_day == pytest.approx(24 * GB)
    assert found.days_left == pytest.approx(1)


def test_a_disk_that_cannot_be_seen_lasts_for_an_unknown_time() -> None:
    found = growing(48, free=None)
    assert found.per_day == pytest.approx(240 * MB)
    assert found.days_left is None


def test_a_disk_that_only_some_see_is_told_by_their_samples() -> None:
    found = hourly(48, lambda _: GB, lambda ago: None if ago % 2 else 24 * GB + ago * GB)
    assert found.taken_per_day == pytest.approx(24 * GB)


def test_what_was_measured_before_the_last_week_or_in_the_future_does_not_count() -> None:
    week = [Sample(NOW - timedelta(days=ago), 2 * GB) for ago in range(1, 8)]
    others = [Sample(NOW - timedelta(days=20), 0), Sample(NOW + timedelta(days=1), 90 * GB)]
    assert forecast([*others, *week], Sample(NOW, 2 * GB)).per_day == 0


@pytest.mark.parametrize(
    ("free", "total", "scarce"),
    [(2 * GB, 10 * GB, False), (GB - 1, 10 * GB, True), (40 * GB, 1000 * GB, True), (GB, 20 * GB, False)],
)
def test_scarce_is_under_a_gigabyte_or_a_twentieth(free: int, total: int, scarce: bool) -> None:
    assert Room(free, total).scarce is scarce
