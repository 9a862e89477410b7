"""Duration of a task on an OLT, learned from its earlier runs.

    seconds = level x factor of the hour x (fixed part + part for each ONU)

The level follows the last dozen runs and is robust to outliers; a lasting jump is accepted after three runs.
The curve of the day has a mean for each hour, weighted by how many runs are known. Everything is kept as
logarithms, so that twice as long is as far away as half as long.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from statistics import median
from typing import Any, Final, NamedTuple

# Initial guess of the fixed part, expressed in ONUs.
FIXED_AS_ONUS: Final = 50
# Predictions are marked as sure from this many runs on.
SURE_AFTER: Final = 3

_RECENT: Final = 12
_FADING: Final = 0.85
# Outliers are clipped to this distance (log) from the median.
_OUTLYING: Final = 0.3
_JUMP: Final = 0.35
_JUMP_RUNS: Final = 3
_PART_OF_DAY_H: Final = 12.0
_HOURS: Final = 24
# Memory of an hour of the day in runs, and the number of runs at which it has half its weight.
_HOUR_RUNS: Final = 12.0
_HALF_KNOWN: Final = 2.0
# Damping of updates of the fixed share.
_FIXED_DOUBT: Final = 0.05
_LEAST_FIXED: Final = 0.01
_HIGH: Final = 0.5
_LEAST_HIGH, _MOST_HIGH = 0.02, 1.5
_LEAST_ERROR, _MOST_ERROR = 0.001, 0.99
# Bounds of a prediction: a millisecond to a day.
_SHORTEST, _LONGEST = math.log(0.001), math.log(86400.0)


@dataclass(frozen=True, slots=True)
class Predicted:
    """Half of the runs take up to p50, 95 of 100 up to p95. Not `sure` is a guess from elsewhere."""

    p50_s: float
    p95_s: float
    sure: bool


class Accuracy(enum.StrEnum):
    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"


# Errors in per cent: good up to the first, too large for a plan above the second.
_GOOD_PCT, _FAIR_PCT = 15, 40
# An error that no plan notices, however large a share of a short task it is.
_GOOD_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class TypicalError:
    """Half of the runs are at most this far from their prediction."""

    seconds: float
    # Of the longer of prediction and run: never more than 100.
    percent: float
    accuracy: Accuracy


def typical_error(predicted_s: float, error_pct: float | None) -> TypicalError | None:
    """Return the typical error of a prediction; None before the first run that could be compared."""
    if error_pct is None:
        return None
    share = bounded_error(error_pct / 100) or 0.0
    seconds, percent = predicted_s * share, 100 * share
    if seconds <= _GOOD_S or percent <= _GOOD_PCT:
        accuracy = Accuracy.GOOD
    else:
        accuracy = Accuracy.FAIR if percent <= _FAIR_PCT else Accuracy.POOR
    return TypicalError(seconds, percent, accuracy)


class PastRun(NamedTuple):
    # Hour of the day with its fraction.
    hour: float
    seconds: float
    onus: int


class Jump(NamedTuple):
    """A lasting change of the duration: when, by how much, and in which hour of the day."""

    at: float
    by: float
    hour: int


class HourMean(NamedTuple):
    """The mean of one hour of the day, and the number of runs behind it."""

    mean: float = 0.0
    runs: float = 0.0


@dataclass(frozen=True, slots=True)
class Learned:
    """The state of the model for one task on one OLT. Its size does not grow with the number of runs."""

    samples: int = 0
    # The hours refer to this number of ONUs; `fixed` is the share of time that does not depend on them.
    onus: int = 1
    fixed: float = 1.0
    # Accumulated change in the number of ONUs behind `fixed`.
    moved: float = 0.0
    hours: tuple[HourMean, ...] = (HourMean(),) * _HOURS
    recent: tuple[PastRun, ...] = ()
    jump: Jump | None = None
    # 95th percentile of the error above the prediction (log).
    high: float = _HIGH
    # Median error, as a share of the longer of prediction and run; None before the first prediction.
    error: float | None = None

    @property
    def error_pct(self) -> float | None:
        return None if self.error is None else 100 * self.error

    @property
    def fixed_s(self) -> float:
        return self.fixed * self._usual_s

    @property
    def per_onu_s(self) -> float:
        return (1 - self.fixed) * self._usual_s / self.onus

    @property
    def _usual_s(self) -> float:
        return _seconds(_Day(self).level)

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "samples": self.samples,
            "onus": self.onus,
            "fixed": round(self.fixed, 4),
            "moved": round(self.moved, 5),
            "hours": [[round(each, 4) for each in known] for known in self.hours],
            "recent": [[round(run.hour, 2), round(run.seconds, 3), run.onus] for run in self.recent],
            "jump": None
            if self.jump is None
            else [round(self.jump.at, 2), round(self.jump.by, 4), self.jump.hour],
            "high": round(self.high, 4),
            "error": None if self.error is None else round(self.error, 4),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Learned:
        """Decode a state. One that this version cannot read is learned again from nothing."""
        try:
            jump = written["jump"]
            lists = {
                "hours": tuple(HourMean(*each) for each in written["hours"]),
                "recent": tuple(PastRun(*each) for each in written["recent"]),
                "jump": None if jump is None else Jump(*jump),
                "error": bounded_error(written["error"]),
            }
            return cls(**{**written, **lists})
        except (KeyError, TypeError):
            return cls()


def predict(learned: Learned, at: datetime, onus: int, zone: tzinfo) -> Predicted:
    """Return the prediction for a run at `at`. One that never ran: `core.duration_guess`."""
    middle = _expected(learned, _hour(at, zone), onus)
    return Predicted(_seconds(middle), _seconds(middle + learned.high), learned.samples >= SURE_AFTER)


def learn(learned: Learned, at: datetime, seconds: float, onus: int, zone: tzinfo) -> Learned:
    """Return the state after one more successful run. A run without a duration is ignored."""
    if not 0 < seconds < math.inf:
        return learned
    onus = max(onus, 1)
    run = PastRun(_hour(at, zone), max(seconds, 0.001), onus)
    if not learned.samples:
        fixed = FIXED_AS_ONUS / (FIXED_AS_ONUS + onus)
        return replace(learned, samples=1, onus=onus, fixed=fixed, recent=(run,))
    off = math.log(run.seconds) - _expected(learned, run.hour, onus)
    after = _rebase_onus(_update_fixed_share(_update_errors(learned, off), run, off), onus)
    recent = (*after.recent, run)
    after = replace(after, samples=after.samples + 1, recent=recent[-_RECENT:])
    return _update_hour(_detect_jump(after, at.timestamp() / 3600))


def _hour(at: datetime, zone: tzinfo) -> float:
    wall = at.astimezone(zone)
    return wall.hour + wall.minute / 60


def _seconds(logarithm: float) -> float:
    return math.exp(min(max(logarithm, _SHORTEST), _LONGEST))


def _expected(learned: Learned, hour: float, onus: int) -> float:
    day = _Day(learned)
    return day.usual(hour) + day.lately + _size(learned, onus)


def _size(learned: Learned, onus: int) -> float:
    """Return how much longer (log) a run with `onus` takes than with the ONUs the hours refer to."""
    return math.log(learned.fixed + (1 - learned.fixed) * max(onus, 1) / learned.onus)


class _Day:
    """The curve of the day, and the deviations of the last runs from it."""

    def __init__(self, learned: Learned) -> None:
        known = [each.mean for each in learned.hours if each.runs]
        self._mean = mean = sum(known) / len(known) if known else 0.0
        self._hours = [
            mean + (each.mean - mean) * each.runs / (each.runs + _HALF_KNOWN) for each in learned.hours
        ]
        self.offs = [
            math.log(run.seconds) - _size(learned, run.onus) - self.usual(run.hour) for run in learned.recent
        ]
        self.lately = _weighted_mean(self.offs)

    @property
    def level(self) -> float:
        return self._mean + self.lately

    def usual(self, hour: float) -> float:
        """Return the curve at an hour: straight lines between the middles of the hours."""
        after = int(hour + 0.5)
        part = hour + 0.5 - after
        return (1 - part) * self._hours[after - 1] + part * self._hours[after % _HOURS]


def _weighted_mean(offs: Sequence[float]) -> float:
    """Return a mean in which the last ones count most, and outliers are clipped."""
    if not offs:
        return 0.0
    middle = median(offs)
    weights = _WEIGHTS[-len(offs) :]
    near = [weight * _clip_outlier(off - middle) for weight, off in zip(weights, offs, strict=True)]
    return middle + sum(near) / sum(weights)


_WEIGHTS: Final = tuple(_FADING**age for age in reversed(range(_RECENT)))


def _clip_outlier(off: float) -> float:
    return min(max(off, -_OUTLYING), _OUTLYING)


def _update_errors(learned: Learned, off: float) -> Learned:
    """Update the error figures. Both move towards their quantile in steps that become smaller."""
    step = max(0.05, 1 / (learned.samples + 1))
    high = learned.high + step * (0.95 if off > learned.high else -0.05)
    error = max(1 - math.exp(-abs(off)), _LEAST_ERROR)
    if learned.error is not None:
        error = learned.error * math.exp(step * ((error > learned.error) - (error < learned.error)))
    return replace(learned, high=min(max(high, _LEAST_HIGH), _MOST_HIGH), error=_clip_error(error))


def _clip_error(error: float) -> float:
    return min(max(error, _LEAST_ERROR), _MOST_ERROR)


def bounded_error(error: float | None) -> float | None:
    """Return an error that an earlier version stored as a share of the run alone, which had no bound."""
    return error if error is None or error < 1 else error / (1 + error)


def _update_fixed_share(learned: Learned, run: PastRun, off: float) -> Learned:
    """Update the fixed share: a change in the number of ONUs shows what depends on them."""
    before = sum(math.log(each.onus) for each in learned.recent) / len(learned.recent)
    moved = math.log(run.onus) - before
    known = learned.moved + moved * moved
    fixed = learned.fixed - moved * _clip_outlier(off) / (known + _FIXED_DOUBT)
    return replace(learned, fixed=_share(fixed), moved=min(known, 10.0))


def _share(fixed: float) -> float:
    return min(max(fixed, _LEAST_FIXED), 1.0)


def _rebase_onus(learned: Learned, onus: int) -> Learned:
    """Return the same state with hours that refer to another number of ONUs."""
    if onus == learned.onus:
        return learned
    more = _size(learned, onus)
    hours = tuple(known._replace(mean=known.mean + more) if known.runs else known for known in learned.hours)
    return replace(learned, onus=onus, fixed=_share(learned.fixed / math.exp(more)), hours=hours)


def _detect_jump(learned: Learned, now: float) -> Learned:
    """Accept a new level when the last runs are all far off to the same side."""
    by = _jumped_by(_Day(learned).offs)
    if by is None:
        return learned
    recent = learned.recent[-_JUMP_RUNS:]
    jump = Jump(now, by, int(recent[0].hour))
    unchanged = _hours_between(learned.jump, jump)
    hours = tuple(
        known._replace(mean=known.mean + by) if known.runs and hour not in unchanged else known
        for hour, known in enumerate(learned.hours)
    )
    return replace(learned, hours=hours, recent=recent, jump=None if unchanged else jump)


def _jumped_by(offs: Sequence[float]) -> float | None:
    before, last = offs[:-_JUMP_RUNS], offs[-_JUMP_RUNS:]
    if len(before) < _JUMP_RUNS:
        return None
    usual = median(before)
    far = min(last) > usual + _JUMP or max(last) < usual - _JUMP
    return median(last) - usual if far else None


def _hours_between(jump: Jump | None, back: Jump) -> set[int]:
    """Return the hours of a jump that is taken back now, and none of one that lasted.

    Such a jump was a part of the day that differs from the rest: these hours keep what was learned in it.
    """
    if jump is None or jump.by * back.by > 0 or back.at - jump.at > _PART_OF_DAY_H:
        return set()
    return {(jump.hour + later) % _HOURS for later in range((back.hour - jump.hour) % _HOURS)}


def _update_hour(learned: Learned) -> Learned:
    """Update the hour of the last run that cannot be one of the first runs of a jump."""
    if len(learned.recent) <= _JUMP_RUNS:
        return learned
    run = learned.recent[-1 - _JUMP_RUNS]
    day, hour = _Day(learned), int(run.hour) % _HOURS
    expected = day.usual(run.hour) + day.lately
    clipped = expected + _clip_outlier(math.log(run.seconds) - _size(learned, run.onus) - expected)
    known = learned.hours[hour]
    runs = min(known.runs + 1, _HOUR_RUNS)
    taught = HourMean(known.mean + (clipped - known.mean) / runs, runs)
    return replace(learned, hours=(*learned.hours[:hour], taught, *learned.hours[hour + 1 :]))
