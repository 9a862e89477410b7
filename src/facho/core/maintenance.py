"""When OLTs are left alone: from what a person planned to spans of time.

A span is [start, end): nothing is asked at its start, and at its end all goes on. A weekly window begins when
the operator's clock shows its time, and lasts as long as it lasts, whatever that clock does meanwhile. A time
that the clock leaps over comes as much later; of one that it shows twice, the first counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import pairwise
from typing import Final, TypeAlias

from facho.core.quota import Hour, slots_from

WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LONGEST_WEEKLY: Final = timedelta(hours=24)

_TICK: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)
# And a little more, for the clock may leap.
_A_WEEK: Final = timedelta(days=8)
# Two weekly windows that meet do so within a year: the clock's own changes repeat with it.
_A_YEAR: Final = timedelta(days=370)

Span: TypeAlias = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Single:
    starts_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Weekly:
    # As datetime.weekday has them: Monday is 0.
    weekdays: frozenset[int]
    start: time
    duration: timedelta
    # The one that was under way then ended then.
    ended_at: datetime | None = None


Plan: TypeAlias = Single | Weekly


def spans(plan: Plan, after: datetime, until: datetime, zone: tzinfo) -> Iterator[Span]:
    """Those that have something of [after, until), whole and in their order."""
    if isinstance(plan, Single):
        every: Iterable[Span] = [(plan.starts_at, plan.ends_at)]
    else:
        every = _weekly(plan, after, until, zone)
    return (each for each in every if each[0] < until and each[1] > after)


def _weekly(plan: Weekly, after: datetime, until: datetime, zone: tzinfo) -> Iterator[Span]:
    day = (after - plan.duration).astimezone(zone).date() - _DAY
    last = until.astimezone(zone).date()
    while day <= last:
        if day.weekday() in plan.weekdays:
            start = datetime.combine(day, plan.start, zone).astimezone(UTC)
            yield start, _end(plan, start)
        day += _DAY


def _end(plan: Weekly, start: datetime) -> datetime:
    end = start + plan.duration
    return plan.ended_at if plan.ended_at is not None and start <= plan.ended_at < end else end


def merged(every: Iterable[Span]) -> list[Span]:
    """Apart from each other, and in their order: those that overlap or touch become one."""
    found: list[Span] = []
    for start, end in sorted(every):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif start < end:
            found.append((start, end))
    return found


def span_at(every: Iterable[Span], at: datetime) -> Span | None:
    """The one that lasts then; of several, the one that began last."""
    return max((each for each in every if each[0] <= at < each[1]), default=None)


def now_and_next(plan: Plan, now: datetime, zone: tzinfo) -> tuple[Span | None, Span | None]:
    """The one that lasts, and the one that comes; neither of a plan that is over."""
    far = max(plan.ends_at, now) if isinstance(plan, Single) else now + _A_WEEK
    ahead = list(spans(plan, now, far, zone))
    return span_at(ahead, now), next((each for each in ahead if each[0] > now), None)


def first_overlap(one: Plan, other: Plan, now: datetime, zone: tzinfo) -> datetime | None:
    """When both last for the first time; nothing that is over counts."""
    after, until = now, now + _A_YEAR
    for each in (one, other):
        if isinstance(each, Single):
            after, until = max(now, each.starts_at), each.ends_at
    every = sorted(span for each in (one, other) for span in merged(spans(each, after, until, zone)))
    return next((max(start, after) for (_, end), (start, _) in pairwise(every) if start < end), None)


@dataclass(frozen=True, slots=True)
class Run:
    """Slots in a row, from the first to the last, all inside of a span or all outside."""

    first: datetime
    last: datetime
    count: int
    inside: bool


def runs(first: datetime, last: datetime, interval: timedelta, closed: Sequence[Span]) -> Iterator[Run]:
    """The slots from `first` to `last`, cut where a span begins or ends; the spans are apart."""
    for start, end in (*closed, (last + _TICK, last + _TICK)):
        for edge, inside in ((start, False), (end, True)):
            # How many come before the edge.
            count = -((first - min(edge, last + _TICK)) // interval)
            if count > 0:
                yield Run(first, first + (count - 1) * interval, count, inside)
                first += count * interval


def slots_inside(next_run_at: datetime, interval: timedelta, hour: Hour, closed: Sequence[Span]) -> int:
    """How many of the slots that an hour has from `next_run_at` on lie in spans that are apart."""
    return sum(
        slots_from(next_run_at, interval, Hour(after, until))
        for start, end in closed
        if (after := max(hour.start, start - _TICK)) < (until := min(hour.end, end - _TICK))
    )
