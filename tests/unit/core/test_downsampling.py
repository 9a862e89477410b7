"""Many points as few."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facho.core.downsampling import DownsampledSpan, Point, downsample, mean_per_cell

NOON = datetime(2025, 6, 10, 12, tzinfo=UTC)


def hour(at: datetime) -> datetime:
    return at.replace(minute=0)


def points(*values: float | None, minutes: int = 20) -> list[Point]:
    return [(NOON + number * timedelta(minutes=minutes), value) for number, value in enumerate(values)]


def test_each_hour_has_its_least_mean_and_most() -> None:
    assert downsample(points(1.0, None, 4.0, 5.0, None, None, None), hour) == [
        DownsampledSpan(NOON, 2, 1.0, 2.5, 4.0),
        DownsampledSpan(NOON + timedelta(hours=1), 1, 5.0, 5.0, 5.0),
        DownsampledSpan(NOON + timedelta(hours=2), 0, None, None, None),
    ]
    assert downsample([], hour) == []


def test_time_is_cut_evenly_and_gaps_stay() -> None:
    end = NOON + timedelta(minutes=80)
    assert mean_per_cell(points(1.0, 2.0, None, 4.0), NOON, end, 4) == [1.0, 2.0, None, 4.0]
    assert mean_per_cell(points(1.0, 2.0, None, 4.0), NOON, end, 2) == [1.5, 4.0]
    assert mean_per_cell(points(1.0, 2.0), NOON + timedelta(minutes=10), end, 1) == [2.0]


@given(st.lists(st.none() | st.floats(-50, 50), max_size=50))
def test_nothing_is_lost_and_nothing_is_made_up(values: list[float | None]) -> None:
    given_values = [value for value in values if value is not None]
    spans = downsample(points(*values), hour)
    assert sum(span.count for span in spans) == len(given_values)
    for span in spans:
        if span.count:
            assert span.least in given_values
            assert span.most in given_values
            assert (span.least or 0.0) - 1e-9 <= (span.mean or 0.0) <= (span.most or 0.0) + 1e-9
    end = NOON + timedelta(minutes=20) * max(1, len(values))
    cells = [
        cell for cell in mean_per_cell(points(*values), NOON, end, max(1, len(values))) if cell is not None
    ]
    assert cells == pytest.approx(given_values)
