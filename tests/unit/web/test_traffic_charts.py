"""Charts of traffic, as the numbers that a template draws."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facho.core.bit_rates import bit_rate, short_bit_rate
from facho.core.frames import Samples
from facho.web.components.charts import Chart, Period
from facho.web.components.traffic_charts import traffic_chart

NOON = datetime(2025, 6, 10, 12, tzinfo=UTC)
PERIOD = Period(NOON - timedelta(hours=10), NOON, UTC)
MBIT = 1_000_000
EVERY_MS = 300_000


def chart_of(down: list[float | None], up: list[float | None], *, times: list[int] | None = None) -> Chart:
    start = round(PERIOD.start.timestamp() * 1000)
    moments = [start + EVERY_MS * number for number in times or range(len(down))]
    return traffic_chart("Traffic", Samples(moments, down), Samples(moments, up), PERIOD)


@pytest.mark.parametrize(
    ("bps", "text", "on_an_axis"),
    [
        (0, "0 bit/s", "0"),
        (12, "12 bit/s", "12"),
        (999.7, "1 kbit/s", "1 k"),
        (1_250_000, "1.25 Mbit/s", "1.25 M"),
        (20_000_000, "20 Mbit/s", "20 M"),
        (999_600_000, "1 Gbit/s", "1 G"),
        (2_488_320_000, "2.49 Gbit/s", "2.49 G"),
    ],
)
def test_rates_are_written_in_three_digits_with_a_prefix(bps: float, text: str, on_an_axis: str) -> None:
    assert (bit_rate(bps), short_bit_rate(bps)) == (text, on_an_axis)


def test_what_goes_to_the_customers_is_above_zero_and_the_rest_below() -> None:
    chart = chart_of([100 * MBIT, 50 * MBIT], [50 * MBIT, 100 * MBIT])
    assert [row.label for row in chart.rows] == ["100 M", "50 M", "0", "50 M", "100 M"]
    down, up = chart.lines
    assert (down.path, up.path) == ("M0.0 0.0h0L8.3 250.0", "M0.0 750.0h0L8.3 1000.0")


def test_the_percentile_and_the_maximum_are_numbers_and_lines() -> None:
    down: list[float | None] = [*[10.0 * MBIT] * 95, *[20.0 * MBIT] * 5]
    chart = chart_of(down, [None] * 100)
    (line,) = chart.lines
    assert [value for _, value in line.figures] == ["20 Mbit/s", "10 Mbit/s", "20 Mbit/s"]
    assert [(level.at, bool(level.mark)) for level in chart.levels] == [(0, True), (50, True)]


def test_a_maximum_near_the_percentile_has_no_label_over_that_one() -> None:
    chart = chart_of([100.0 * MBIT] * 20, [None] * 20)
    assert [bool(level.mark) for level in chart.levels] == [False, True]


def test_a_line_without_traffic_has_an_axis_of_whole_bits() -> None:
    chart = chart_of([0.0] * 20, [0.0] * 20)
    assert [row.label for row in chart.rows] == ["1 k", "500", "0", "500", "1 k"]


def test_missed_collections_are_gaps() -> None:
    rates: list[float | None] = [*[1.0 * MBIT] * 40]
    without_two = [*range(20), *range(22, 42)]
    assert chart_of(rates, rates, times=without_two).lines[0].path.count("M") == 1
    without_four = [*range(20), *range(24, 44)]
    assert chart_of(rates, rates, times=without_four).lines[0].path.count("M") == 2


def test_the_peak_of_a_month_stays_in_sight() -> None:
    month = Period(NOON - timedelta(days=30), NOON, UTC)
    start = round(month.start.timestamp() * 1000)
    down: list[float | None] = [5.0 * MBIT] * 8640
    down[4321] = 800.0 * MBIT
    up: list[float | None] = [1.0 * MBIT] * 8640
    up[1234] = 400.0 * MBIT
    times = [start + EVERY_MS * n for n in range(8640)]
    chart = traffic_chart("Traffic", Samples(times, down), Samples(times, up), month)
    assert " 133.3" in chart.lines[0].path
    assert " 933.3" in chart.lines[1].path
    assert len(chart.lines[0].path) < 40_000


def test_without_any_rate_the_chart_is_empty() -> None:
    assert chart_of([None], [None]).is_empty
    assert chart_of([], []).is_empty
