"""Small charts without words, for a cell of a table: how a number went in a period."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from facho.web.components.charts import Period

# The box of the drawing, which stretches with its cell.
WIDTH: Final = 100
HEIGHT: Final = 20
# Columns: more could not be told apart.
_COLUMNS: Final = 50
# Values that are further apart are not joined.
_GAP: Final = 3
# A number that hardly changes is drawn as a flat line: of its size, so much is hardly.
_LITTLE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Sparkline:
    """An SVG path. A period without values is a gap."""

    path: str
    low: float
    high: float


def sparkline(times: Sequence[int], values: Sequence[float | None], period: Period) -> Sparkline | None:
    """Draw the mean of each column, between the lowest and the highest value; None without values."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, high = min(known), max(known)
    room = max(high - low, _LITTLE * max(abs(low), abs(high)), 1e-9)
    bottom = (low + high - room) / 2
    points: list[str] = []
    before = -1 - _GAP
    for column, mean in _means(times, values, period):
        x = round((column + 0.5) * WIDTH / _COLUMNS)
        y = round(HEIGHT - 1 - (mean - bottom) / room * (HEIGHT - 2), 1)
        # A single value is a dot: a line of no length with round ends.
        points.append(f"L{x} {y:g}" if column - before <= _GAP else f"M{x} {y:g}h0")
        before = column
    return Sparkline("".join(points), low, high)


def _means(
    times: Sequence[int], values: Sequence[float | None], period: Period
) -> Iterator[tuple[int, float]]:
    """Yield the columns that have values, and the mean of each."""
    start, length = period.span.low, period.span.high - period.span.low
    sums, counts = [0.0] * _COLUMNS, [0] * _COLUMNS
    for time, value in zip(times, values, strict=True):
        if value is not None:
            column = min(int((time - start) * _COLUMNS / length), _COLUMNS - 1)
            sums[column] += value
            counts[column] += 1
    for column, count in enumerate(counts):
        if count:
            yield column, sums[column] / count
