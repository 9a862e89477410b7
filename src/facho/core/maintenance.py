"""Maintenance windows as spans of time.

A span is [start, end). A weekly window begins when the operator's clock shows its time and lasts its full
duration, whatever daylight saving does meanwhile. A start time that the clock skips is moved by the skipped
time; of one that the clock shows twice, the first counts.
"""

from __future__ import annotations

import enum
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
# One day more than a week, because of daylight-saving time.
_A_WEEK: Final = timedelta(days=8)
# Two weekly windows that overlap do so within a year: daylight-saving changes repeat yearly.
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
    # The window that was open at this time was ended by a person.
    ended_at: datetime | None = None


Plan: TypeAlias = Single | Weekly


class Preset(enum.StrEnum):
    """Times that people plan often."""

    TONIGHT = "tonight"
    NEXT_2H = "next-2h"
    SUNDAY = "sunday"


_NIGHT: Final = (time(0), time(6))


def preset_span(preset: Preset, now: datetime, zone: tzinfo) -> Span:
    """Return the span of a preset on the operator's clock; a night that has begun counts from now on."""
    if preset is Preset.NEXT_2H:
        return now, now + timedelta(hours=2)
    today = now.astimezone(zone).date()
    days = (today + ahead * _DAY for ahead in range(_A_WEEK.days))
    nights = (
        tuple(datetime.combine(day, each, zone).astimezone(UTC) for each in _NIGHT)
        for day in days
        if preset is Preset.TONIGHT or WEEKDAYS[day.weekday()] == "sun"
    )
    return next((max(start, now), end) for start, end in nights if end > now)


def spans(plan: Plan, after: datetime, until: datetime, zone: tzinfo) -> Iterator[Span]:
    """Yield the whole spans that overlap [after, until), in order."""
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
            yield start, _weekly_end(plan, start)
        day += _DAY


def _weekly_end(plan: Weekly, start: datetime) -> datetime:
    end = start + plan.duration
    return plan.ended_at if plan.ended_at is not None and start <= plan.ended_at < end else end


def merge_spans(every: Iterable[Span]) -> list[Span]:
    """Return disjoint spans in order: overlapping or touching ones become one."""
    found: list[Span] = []
    for start, end in sorted(every):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif start < end:
            found.append((start, end))
    return found


def span_at(every: Iterable[Span], at: datetime) -> Span | None:
    """Return the span that contains `at`; of several, the one that began last."""
    return max((each for each in every if each[0] <= at < each[1]), default=None)


def now_and_next(plan: Plan, now: datetime, zone: tzinfo) -> tuple[Span | None, Span | None]:
    """Return the current and the next span, None where there is none."""
    far = max(plan.ends_at, now) if isinstance(plan, Single) else now + _A_WEEK
    ahead = list(spans(plan, now, far, zone))
    return span_at(ahead, now), next((each for each in ahead if each[0] > now), None)


def first_overlap(one: Plan, other: Plan, now: datetime, zone: tzinfo) -> datetime | None:
    """Return the first instant at which both windows are open; past ones do not count."""
    after, until = now, now + _A_YEAR
    for each in (one, other):
        if isinstance(each, Single):
            after, until = max(now, each.starts_at), each.ends_at
    every = sorted(span for each in (one, other) for span in merge_spans(spans(each, after, until, zone)))
    return next((max(start, after) for (_, end), (start, _) in pairwise(every) if start < end), None)


@dataclass(frozen=True, slots=True)
class SlotRun:
    """Consecutive slots that are all inside or all outside a span."""

    first: datetime
    last: datetime
    count: int
    inside: bool


def split_slots(
    first: datetime, last: datetime, interval: timedelta, closed: Sequence[Span]
) -> Iterator[SlotRun]:
    """Yield the slots from `first` to `last`, cut where a span begins or ends; the spans are disjoint."""
    for start, end in (*closed, (last + _TICK, last + _TICK)):
        for edge, inside in ((start, False), (end, True)):
            # The number of slots before the edge.
            count = -((first - min(edge, last + _TICK)) // interval)
            if count > 0:
                yield SlotRun(first, first + (count - 1) * interval, count, inside)
                first += count * interval


def slots_inside(next_run_at: datetime, interval: timedelta, hour: Hour, closed: Sequence[Span]) -> int:
    """Count the slots of an hour, from `next_run_at` on, that lie inside disjoint spans."""
    return sum(
        slots_from(next_run_at, interval, Hour(after, until))
        for start, end in closed
        if (after := max(hour.start, start - _TICK)) < (until := min(hour.end, end - _TICK))
    )
