"""Days until the disk is full, from hourly measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from statistics import median
from typing import Final

# Earlier measurements may precede changes that the operator made.
LOOKS_BACK: Final = timedelta(days=7)
# Closer measurements show the hour of the day rather than growth.
APART: Final = timedelta(hours=6)
# Closer ones are not used at all.
_ROUGHLY_APART: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)

WARN_DAYS: Final = 14
ALARM_DAYS: Final = 2
LEAST_FREE: Final = 10**9
LEAST_FREE_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Room:
    """Free and total bytes of a file system."""

    free: int
    total: int

    @property
    def scarce(self) -> bool:
        return self.free < LEAST_FREE or self.free < self.total * LEAST_FREE_SHARE


@dataclass(frozen=True, slots=True)
class Sample:
    at: datetime
    database_bytes: int
    # None if the database is on another machine.
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """`per_day` is the database's growth, `taken_per_day` how fast the free space goes, by whomever.

    Either is None if unknown, and never negative.
    """

    now: Sample
    # The age of the oldest sample.
    span: timedelta
    per_day: float | None
    taken_per_day: float | None

    @property
    def rough(self) -> bool:
        """Return whether only the first hours are known, in which much is collected for the first time."""
        return self.span < APART

    @property
    def days_left(self) -> float | None:
        """Return the days until the disk is full, None if unknown or if the free space does not shrink."""
        fastest = max(self.per_day or 0.0, self.taken_per_day or 0.0)
        return self.now.free_bytes / fastest if self.now.free_bytes is not None and fastest else None


def forecast(samples: Sequence[Sample], now: Sample) -> Forecast:
    """`now` is measured at this moment; the samples may be older or in any order."""
    known = [each for each in samples if timedelta() < now.at - each.at <= LOOKS_BACK]
    known = [*sorted(known, key=lambda each: each.at), now]
    growth = _per_day(known, lambda sample: sample.database_bytes)
    taken = _per_day([each for each in known if each.free_bytes is not None], lambda each: -_free(each))
    return Forecast(now, now.at - known[0].at, growth, taken)


def _free(sample: Sample) -> int:
    assert sample.free_bytes is not None
    return sample.free_bytes


def _per_day(samples: Sequence[Sample], measure: Callable[[Sample], int]) -> float | None:
    """The median of the slopes of all pairs: one night of cleaning or importing does not bend it."""
    if len(samples) < 2:
        return None
    apart = APART if samples[-1].at - samples[0].at >= APART else _ROUGHLY_APART
    slopes = list(_slopes(samples, measure, apart))
    return max(0.0, median(slopes)) if slopes else None


def _slopes(samples: Sequence[Sample], measure: Callable[[Sample], int], apart: timedelta) -> Iterator[float]:
    for earlier, later in combinations(samples, 2):
        if later.at - earlier.at >= apart:
            yield (measure(later) - measure(earlier)) / ((later.at - earlier.at) / _DAY)
