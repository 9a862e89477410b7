"""Charts, as the numbers that a template draws."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facho.web.components import charts
from facho.web.components.charts import Period, Values, histogram, line_chart, time_axis, value_axis

NOON = datetime(2025, 6, 10, 12, tzinfo=UTC)
DAY = Period(NOON - timedelta(days=1), NOON, UTC)
COLUMN_MS = 86_400_000 // charts.SIZE


def at(hours: float) -> int:
    return int((DAY.start + timedelta(hours=hours)).timestamp() * 1000)


def path_of(*points: tuple[float, float | None], gap: timedelta = timedelta(hours=2)) -> str:
    values = Values("rx", [at(hours) for hours, _ in points], [value for _, value in points])
    return line_chart("Power", "dBm", [values], DAY, longest_gap=gap).lines[0].path


def test_a_line_goes_from_the_left_to_the_right_and_up_for_more() -> None:
    assert path_of((0, -20), (1, -10)) == "M0.0 1000.0h0L41.7 0.0"


def test_a_gap_in_the_values_is_one_in_the_line() -> None:
    assert path_of((0, -20), (1, None), (2, -10)).count("M") == 2
    assert path_of((0, -20), (9, -10)).count("M") == 2
    assert path_of((0, -20), (9, -10), gap=timedelta(hours=10)).count("M") == 1


def test_nothing_known_is_an_empty_chart() -> None:
    chart = line_chart("Power", "dBm", [Values("rx", [], [])], DAY)
    assert chart.is_empty
    assert chart.lines[0].last is None


def test_a_drop_of_a_moment_is_seen_in_a_year() -> None:
    year = Period(NOON - timedelta(days=365), NOON, UTC)
    start = int(year.start.timestamp() * 1000)
    values = [-20.0] * 100_000
    values[54_321] = -35.0
    every = 365 * 86_400_000 // 100_000
    chart = line_chart(
        "Power", "dBm", [Values("rx", [start + n * every for n in range(100_000)], values)], year
    )
    assert chart.rows[0].label == "-35"
    assert " 1000.0" in chart.lines[0].path
    assert len(chart.lines[0].path) < 60_000


def plain_extremes(points: list[tuple[int, float | None]]) -> list[tuple[int, float | None]]:
    """Choose the lowest and the highest of each column, sample by sample."""
    columns: dict[int, list[tuple[int, float | None]]] = {}
    for time, value in points:
        columns.setdefault((time - at(0)) // COLUMN_MS, []).append((time, value))
    kept: list[tuple[int, float | None]] = []
    for column in columns.values():
        known = [(time, value) for time, value in column if value is not None]
        if len(known) < 3:
            kept += column
        else:
            lowest, highest = (choose(known, key=lambda each: each[1]) for choose in (min, max))
            kept += sorted({lowest, highest})
    return kept


# Many samples of a column, and columns without any. None at the very edge, where rounding decides.
SAMPLES = st.dictionaries(
    st.tuples(st.integers(0, 5) | st.integers(0, 999), st.integers(1, COLUMN_MS - 1)),
    st.none() | st.integers(-400, -80).map(lambda tenths: tenths / 10),
    max_size=60,
)


@given(SAMPLES)
def test_each_column_keeps_its_lowest_and_its_highest_value(
    samples: dict[tuple[int, int], float | None],
) -> None:
    points = [(at(0) + column * COLUMN_MS + ms, samples[column, ms]) for column, ms in sorted(samples)]
    series = Values("rx", [time for time, _ in points], [value for _, value in points])
    assert list(charts._thinned(series, DAY.span)) == plain_extremes(points)


def test_the_limit_is_in_sight_though_all_values_are_above_it() -> None:
    chart = line_chart("Power", "dBm", [Values("rx", [at(1)], [-18.0])], DAY, limit=(-27.0, "weak"))
    assert 0 <= chart.limits[0].at <= 100


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_the_axis_has_all_values_and_a_few_round_steps(values: list[float]) -> None:
    span, ticks = value_axis(values)
    assert span.low <= min(values) + 1e-6
    assert span.high >= max(values) - 1e-6
    assert 2 <= len(ticks) <= 12
    assert ticks[0].at == pytest.approx(100)
    assert ticks[-1].at == pytest.approx(0)


def test_times_are_those_of_the_operators_clock() -> None:
    santiago = Period(NOON - timedelta(hours=6), NOON, ZoneInfo("America/Santiago"))
    assert [tick.label for tick in time_axis(santiago)] == ["02:00", "04:00", "06:00", "08:00"]


def test_the_day_on_which_the_clock_jumps_has_its_midnights() -> None:
    zone = ZoneInfo("America/Santiago")
    start = datetime(2025, 9, 5, tzinfo=zone)
    days = Period(start, start + timedelta(days=4), zone)
    assert [tick.label for tick in time_axis(days)] == ["05/09", "06/09", "07/09", "08/09", "09/09"]


def test_a_histogram_counts_and_says_what_is_weak() -> None:
    bars = histogram([-28.5, -28.1, -26.9, -20.0], 1.0, weak_below=-27.0)
    assert [bar.count for bar in bars] == [2, 0, 1, 0, 0, 0, 0, 0, 0, 1]
    assert [bar.weak for bar in bars] == [True, True, *[False] * 8]
    assert bars[0].height == 100
    assert bars[0].label == "-29 … -28"
    assert histogram([], 1.0, weak_below=-27.0) == []
