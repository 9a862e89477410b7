"""How long the disk lasts: from what was measured each hour to the days that are left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from statistics import median
from typing import Final

# The last week: what an operator changed before that is over.
LOOKS_BACK: Final = timedelta(days=7)
# Two measurements that are closer say more of the hour of the day than of growth.
APART: Final = timedelta(hours=6)
# From less than that nothing at all can be told.
_ROUGHLY_APART: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)

WARN_DAYS: Final = 14
ALARM_DAYS: Final = 2
LEAST_FREE: Final = 10**9
LEAST_FREE_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Room:
    """What a file system has for us."""

    free: int
    total: int

    @property
    def scarce(self) -> bool:
        return self.free < LEAST_FREE or self.free < self.total * LEAST_FREE_SHARE


@dataclass(frozen=True, slots=True)
class Sample:
    at: datetime
    database_bytes: int
    # None when the disk of the database cannot be seen from here.
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """`per_day` is the database's growth, `taken_per_day` how fast the free space goes, by whomever.

    Either is None when it is not known, and never negative: what shrinks does not grow.
    """

    now: Sample
    # How long the samples go back.
    span: timedelta
    per_day: float | None
    taken_per_day: float | None

    @property
    def rough(self) -> bool:
        """Only the first hours are known, which are not like others: much is collected for the first time."""
        return self.span < APART

    @property
    def days_left(self) -> float | None:
        """None when it is not known, or when it lasts for ever."""
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
