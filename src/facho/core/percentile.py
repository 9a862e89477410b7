"""The percentile of a series: what it stays below for most of the time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

# As transit is billed: one sample in twenty may be higher.
BILLED: Final = 95.0


def percentile(values: Iterable[float | None], percent: float = BILLED) -> float | None:
    """Return the smallest value that so many per cent of the values do not exceed; None without values."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    rank = math.ceil(len(known) * percent / 100)
    return known[max(rank, 1) - 1]


def highest(values: Iterable[float | None]) -> float | None:
    """Return the largest value; None without values."""
    return max((value for value in values if value is not None), default=None)
