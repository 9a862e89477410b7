"""Charts as numbers that a template draws: all positions are percentages of the space.

The drawing itself stretches (`components/chart.html`), its words do not, so that it reads as well on a
phone as on a wall. Time is the caller's: nothing here looks at a clock.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Final

from django.utils.formats import date_format

from facho.apps import localized_numbers

# Lines are drawn in a square of this size; its columns are the finest that can be seen.
SIZE: Final = 1000
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_EDGES: Final = 10
_TIME_STEPS: Final = tuple(
    timedelta(minutes=minutes) for minutes in (1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080)
)


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled line across the chart, at a percentage from its left or its top."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """The SVG path of a series in the square. A gap in the values is a gap in the line."""

    name: str
    path: str
    last: float | None
    # Shown instead of the last value: each with its name.
    figures: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Level:
    """A value of a series that is drawn across the chart, at a percentage from its top."""

    at: float
    label: str
    # The number of its series, from 1.
    series: int
    # What is written at its end; empty where another label is in its place.
    mark: str


@dataclass(frozen=True, slots=True)
class ValueBand:
    """A range of values across the chart, in percent from its top."""

    top: float
    height: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    unit: str
    lines: Sequence[Line]
    rows: Sequence[Tick]
    columns: Sequence[Tick]
    # Limits, and marked instants.
    limits: Sequence[Tick] = field(default=())
    marks: Sequence[Tick] = field(default=())
    # Ranges of values.
    bands: Sequence[ValueBand] = field(default=())
    levels: Sequence[Level] = field(default=())

    @property
    def is_empty(self) -> bool:
        return not any(line.path for line in self.lines)


@dataclass(frozen=True, slots=True)
class Span:
    """The lowest and the highest value that a chart shows."""

    low: float
    high: float

    def percent(self, value: float) -> float:
        return 100.0 * (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Values:
    name: str
    # Milliseconds since 1970, ascending, and a value or None for each.
    times: Sequence[int]
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Period:
    start: datetime
    end: datetime
    zone: tzinfo

    @property
    def span(self) -> Span:
        return Span(self.start.timestamp() * 1000, self.end.timestamp() * 1000)


def line_chart(
    title: str,
    unit: str,
    series: Sequence[Values],
    period: Period,
    *,
    limit: tuple[float, str] | None = None,
    marks: Sequence[tuple[datetime, str]] = (),
    span: tuple[float, float] | None = None,
    band: tuple[float, float, str] | None = None,
    longest_gap: timedelta = timedelta(hours=2),
) -> Chart:
    """Draw series as lines, which break where a value is missing or none came for `longest_gap`.

    The values of `span` are always in sight.
    """
    known = [value for each in series for value in each.values if value is not None]
    known += span or ()
    if limit is not None:
        known.append(limit[0])
    if known and band is not None:
        known += band[:2]
    axis, rows = value_axis(known)
    bands = [] if band is None else [_value_band(axis, *band)]
    limits = [] if limit is None else [Tick(100 - axis.percent(limit[0]), limit[1])]
    return Chart(
        title,
        unit,
        [draw_line(each, period, axis, longest_gap) for each in series],
        rows,
        time_axis(period),
        limits,
        [Tick(period.span.percent(at.timestamp() * 1000), what) for at, what in marks],
        bands,
    )


def _value_band(axis: Span, low: float, high: float, label: str) -> ValueBand:
    return ValueBand(100 - axis.percent(high), axis.percent(high) - axis.percent(low), label)


def value_axis(
    known: Iterable[float], wanted: int = 4, label: Callable[[float], str] = localized_numbers.number
) -> tuple[Span, list[Tick]]:
    """Return a span of round numbers around the values, and its ticks."""
    found = list(known) or [0.0, 1.0]
    low, high = min(found), max(found)
    step = _round_step((high - low) / wanted or max(abs(high), 1.0) / 10)
    span = Span(math.floor(low / step) * step, math.ceil(high / step) * step)
    if span.low == span.high:
        span = Span(span.low - step, span.high + step)
    count = round((span.high - span.low) / step)
    values = (span.low + number * step for number in range(count + 1))
    return span, [Tick(100 - span.percent(value), label(value)) for value in values]


def _round_step(rough: float) -> float:
    size: float = 10.0 ** math.floor(math.log10(rough))
    return next(step * size for step in _STEPS if step * size >= rough * 0.999)


def time_axis(period: Period, wanted: int = 5) -> list[Tick]:
    """Return ticks at full hours or days of the reader's clock."""
    length = period.end - period.start
    step = next((step for step in _TIME_STEPS if step * wanted >= length), _TIME_STEPS[-1])
    words = "TIME_FORMAT" if length <= timedelta(days=2) else "MONTH_DAY_FORMAT"
    return [
        Tick(period.span.percent(at.timestamp() * 1000), date_format(at, words))
        for at in _multiples(period, step)
        if period.start <= at <= period.end
    ]


def _multiples(period: Period, step: timedelta) -> Iterator[datetime]:
    """Return the multiples of a step on the local clock: a day of 23 hours has its midnight too."""
    local = period.start.astimezone(period.zone)
    at = local.replace(hour=0, minute=0, second=0, microsecond=0)
    while at <= period.end:
        yield at
        at = (at.replace(tzinfo=None) + step).replace(tzinfo=period.zone)


def draw_line(series: Values, period: Period, span: Span, longest_gap: timedelta) -> Line:
    """Draw a series on an axis; of each column of the chart its lowest and its highest value are kept."""
    points: list[str] = []
    # Computed once: a month has thousands of points.
    width = period.span
    # What is kept of two columns lies up to two columns apart.
    gap = max(longest_gap.total_seconds() * 1000, 2 * (width.high - width.low) / SIZE)
    last_time, last = 0, None
    wide, high = SIZE / (width.high - width.low), SIZE / (span.high - span.low)
    for time, value in _thinned(series, width):
        if value is None:
            last_time = 0
            continue
        last = value
        begins = not last_time or time - last_time > gap
        x, y = (time - width.low) * wide, max(0.0, SIZE - (value - span.low) * high)
        points.append(f"{'M' if begins else 'L'}{x:.1f} {y:.1f}")
        # A single value is a dot: a line of no length with round ends.
        if begins:
            points.append("h0")
        last_time = time
    return Line(series.name, "".join(points), last)


def _thinned(series: Values, width: Span) -> Iterator[tuple[int, float | None]]:
    """Keep the lowest and the highest value of each column, so that no drop gets lost in a month."""
    times, values = series.times, series.values
    column, start = (width.high - width.low) / SIZE, 0
    while start < len(times):
        edge = width.low + ((times[start] - width.low) // column + 1) * column
        end = bisect_left(times, edge, start + 1)
        yield from _extremes(times[start:end], values[start:end])
        start = end


def _extremes(times: Sequence[int], values: Sequence[float | None]) -> list[tuple[int, float | None]]:
    known = [value for value in values if value is not None]
    if len(known) < 3:
        return list(zip(times, values, strict=True))
    kept = {values.index(min(known)), values.index(max(known))}
    return [(times[place], values[place]) for place in sorted(kept)]


@dataclass(frozen=True, slots=True)
class Bar:
    """`left`, `width` and `height` in percent."""

    left: float
    width: float
    height: float
    count: float
    label: str
    weak: bool
    # The label below its left edge; a chart has at most ten.
    edge: str = ""

    @property
    def top(self) -> float:
        return 100 - self.height


def histogram(values: Iterable[float], step: float, *, weak_below: float) -> list[Bar]:
    """Count the values in each step. A bar is weak when all of it is below the limit."""
    found = list(values)
    if not found:
        return []
    first, last = math.floor(min(found) / step), math.floor(max(found) / step)
    counts = [0] * (last - first + 1)
    for value in found:
        counts[math.floor(value / step) - first] += 1
    width, most = 100 / len(counts), max(counts)
    every = -(-len(counts) // _MOST_EDGES)
    edges = [localized_numbers.number((first + number) * step) for number in range(len(counts) + 1)]
    return [
        Bar(
            number * width,
            width,
            100 * count / most,
            count,
            f"{edges[number]} … {edges[number + 1]}",
            (first + number + 1) * step <= weak_below,
            "" if number % every else edges[number],
        )
        for number, count in enumerate(counts)
    ]
