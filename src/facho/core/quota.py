"""Quotas: the runs of a task that an OLT must get in an hour, and their outcomes.

An hour is (start, end] on the operator's clock: a slot at exactly 11:00 belongs to the hour from 10:00.
A partial hour requires only the slots that fit, without compensation later. A run belongs to the hour
of its slot, and a slot has one outcome, that of its last attempt. Always:

    required = completed + failed + skipped + pending
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from facho.core.reasons import NO_REASON, Reason

# Below this share of its runs a task's quota is not met.
MET_PERCENT: Final = 80.0
# An hour is closed at the latest this long after its end, whatever is still pending.
CLOSE_WITHIN: Final = timedelta(minutes=10)

_HOUR: Final = timedelta(hours=1)
_TICK: Final = timedelta(microseconds=1)


class Status(enum.StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    PARTIAL = "PARTIAL"
    QUOTA_NOT_MET = "QUOTA_NOT_MET"
    FAILED = "FAILED"
    # The OLT was disabled, so the missing runs are not a violation.
    INTERRUPTED = "INTERRUPTED"


class Outcome(enum.StrEnum):
    """The outcome of a slot. An aborted execution counts as skipped."""

    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class SlotOutcome:
    """What became of one part of a slot."""

    outcome: Outcome
    seconds: float = 0.0
    # For what was not completed.
    why: str = ""
    what: Reason = NO_REASON


@dataclass(frozen=True, slots=True, order=True)
class Hour:
    """After `start`, up to and with `end`; both in UTC."""

    start: datetime
    end: datetime

    def __contains__(self, slot: datetime) -> bool:
        return self.start < slot <= self.end


def hour_of(slot: datetime, zone: tzinfo) -> Hour:
    """The operator's hour that a slot belongs to.

    It begins and ends where the local clock shows a whole hour. In zones with a half-hour offset hours are
    shifted too; when a clock is changed by half an hour, one hour is shorter or longer.
    """
    hours = list(_whole_hours(slot, zone))
    return Hour(max(each for each in hours if each < slot), min(each for each in hours if each >= slot))


def running_hour(now: datetime, zone: tzinfo) -> Hour:
    """The hour of the slots that come next: on the stroke, the one that begins."""
    return hour_of(now + _TICK, zone)


def _whole_hours(around: datetime, zone: tzinfo) -> Iterator[datetime]:
    """Instants near `around` at which the wall clock shows a whole hour."""
    for near in (around - _HOUR, around, around + _HOUR):
        wall = near.astimezone(zone)
        floor = near.astimezone(UTC) - timedelta(
            minutes=wall.minute, seconds=wall.second, microseconds=wall.microsecond
        )
        for each in (floor, floor + _HOUR):
            shown = each.astimezone(zone)
            if not (shown.minute or shown.second or shown.microsecond):
                yield each


def hours_between(after: datetime, until: datetime, zone: tzinfo) -> Iterator[Hour]:
    """The hours of all slots after `after` and not after `until`, in their order."""
    while after < until:
        hour = hour_of(after + _TICK, zone)
        yield hour
        after = hour.end


def slots_from(next_run_at: datetime, interval: timedelta, hour: Hour) -> int:
    """Count the remaining slots of the hour for a node, the next of them at `next_run_at`."""
    return _slots_until(next_run_at, interval, hour.end) - _slots_until(next_run_at, interval, hour.start)


def slots_by_hour(
    first: datetime, last: datetime, interval: timedelta, zone: tzinfo
) -> Iterator[tuple[Hour, int]]:
    """Yield for each hour how many of the slots from `first` to `last` belong to it."""
    for hour in hours_between(first - _TICK, last, zone):
        upto = Hour(hour.start, min(hour.end, last))
        if count := slots_from(first, interval, upto):
            yield hour, count


def _slots_until(next_run_at: datetime, interval: timedelta, until: datetime) -> int:
    return max(0, (until - next_run_at) // interval + 1)


def status_of(required: int, completed: int, *, kept: float = MET_PERCENT) -> Status:
    """Return the status of an hour that is over."""
    if completed >= required:
        return Status.COMPLETED
    if not completed:
        return Status.FAILED
    return Status.PARTIAL if is_met(required, completed, kept=kept) else Status.QUOTA_NOT_MET


def is_met(required: int, completed: int, *, kept: float = MET_PERCENT) -> bool:
    return completed * 100 >= required * kept


def must_close(end: datetime, now: datetime, *, within: timedelta = CLOSE_WITHIN) -> bool:
    """Is it so late that an hour which ended then is closed with what is still pending?

    A run that ends later counts as skipped.
    """
    return now > end + within


def slots_left(pending: int, required: int, completed: int, *, kept: float = MET_PERCENT) -> tuple[int, int]:
    """Return the remaining slots of the hour, and how many of them must succeed to meet the quota."""
    needed = -int(-required * kept // 100)
    return pending, max(0, needed - completed)


# Beside the reasons that delay a run, `core.delay.Why`.
FAILED: Final = "failed"
ABORTED: Final = "aborted"
# It ended after its hour was closed.
LATE: Final = "late"
OTHER: Final = "other"
