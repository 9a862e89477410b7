"""Downsample a series: minimum, mean and maximum of each span of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

Point = tuple[datetime, float | None]


@dataclass(frozen=True, slots=True)
class DownsampledSpan:
    """`count` values from `start` on; without any, the numbers are None."""

    start: datetime
    count: int
    least: float | None
    mean: float | None
    most: float | None


def downsample(points: Iterable[Point], start_of: Callable[[datetime], datetime]) -> list[DownsampledSpan]:
    """Return one span for each start that `start_of` returns. The points are in order."""
    return [
        _span(start, [value for _, value in group if value is not None])
        for start, group in groupby(points, lambda point: start_of(point[0]))
    ]


def _span(start: datetime, values: Sequence[float]) -> DownsampledSpan:
    if not values:
        return DownsampledSpan(start, 0, None, None, None)
    return DownsampledSpan(start, len(values), min(values), sum(values) / len(values), max(values))


def mean_per_cell(points: Sequence[Point], start: datetime, end: datetime, cells: int) -> list[float | None]:
    """Return the mean of each of `cells` equal parts of the time, None where there is no value."""
    sums, counts = [0.0] * cells, [0] * cells
    for at, value in points:
        if value is not None and start <= at < end:
            cell = (at - start) * cells // (end - start)
            sums[cell] += value
            counts[cell] += 1
    return [total / number if number else None for total, number in zip(sums, counts, strict=True)]
