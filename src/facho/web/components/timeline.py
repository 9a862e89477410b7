"""The geometry of the timeline: a lane per OLT, positions in percent of the time shown.

What was is to the left of now, what is planned to the right of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

from facho.web.components.charts import Period, Tick, time_axis

# A run of a second must be visible too.
_MIN_WIDTH: Final = 0.25


@dataclass(frozen=True, slots=True)
class TimelineRange:
    start: datetime
    now: datetime
    end: datetime

    @classmethod
    def around(cls, now: datetime, back: timedelta, ahead: timedelta) -> TimelineRange:
        return cls(now - back, now, now + ahead)

    def percent(self, at: datetime) -> float:
        """Return the position of a time; outside the range, the nearest edge."""
        return 100.0 * min(1.0, max(0.0, (at - self.start) / (self.end - self.start)))

    @property
    def now_at(self) -> float:
        return self.percent(self.now)

    def ticks(self, zone: tzinfo) -> list[Tick]:
        return time_axis(Period(self.start, self.end, zone), wanted=5)


@dataclass(frozen=True, slots=True)
class TimelineRun:
    """A past, running or planned run. A running one ends now; a planned one has no execution."""

    job: str
    kind: str
    outcome: str
    slot: datetime
    start: datetime
    end: datetime | None
    execution_id: int | None = None
    # Whether it started later than allowed, the reason, and the job that it waited for.
    late: bool = False
    why: str = ""
    waited_for: str = ""

    @property
    def length(self) -> timedelta | None:
        return None if self.end is None else self.end - self.start

    @property
    def delay(self) -> timedelta:
        return self.start - self.slot


@dataclass(frozen=True, slots=True)
class Block:
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """A run and its position; `delay` is the time that a late run waited."""

    run: TimelineRun
    block: Block
    delay: Block | None


@dataclass(frozen=True, slots=True)
class Lane:
    olt_id: int
    olt: str
    site: str
    health: str
    runs: Sequence[DrawnRun] = ()
    closed: Sequence[Block] = ()

    def count(self, outcome: str) -> int:
        return sum(each.run.outcome == outcome for each in self.runs)

    @property
    def last_id(self) -> int | None:
        """Return the execution that gets the keyboard focus first."""
        return next((each.run.execution_id for each in reversed(self.runs) if each.run.execution_id), None)

    @property
    def late(self) -> int:
        return sum(each.delay is not None and each.run.execution_id is not None for each in self.runs)


def draw_run(run: TimelineRun, window: TimelineRange) -> DrawnRun | None:
    """Return the position of a run, or None when all of it lies outside, waiting included."""
    end = max(run.start, run.end or window.now)
    if end < window.start or min(run.slot, run.start) > window.end:
        return None
    delay = _block(run.slot, run.start, window) if run.late and run.start > run.slot else None
    return DrawnRun(run, _block(run.start, end, window, _MIN_WIDTH), delay)


def draw_runs(runs: Iterable[TimelineRun], window: TimelineRange) -> list[DrawnRun]:
    found = (draw_run(run, window) for run in sorted(runs, key=lambda run: run.start))
    return [each for each in found if each is not None]


def closed_blocks(spans: Iterable[tuple[datetime, datetime]], window: TimelineRange) -> list[Block]:
    return [_block(start, end, window) for start, end in spans if end > window.start and start < window.end]


def _block(start: datetime, end: datetime, window: TimelineRange, narrowest: float = 0.0) -> Block:
    left, right = window.percent(start), window.percent(end)
    width = max(narrowest, right - left)
    return Block(min(left, 100 - width), width)
