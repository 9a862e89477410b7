"""Slots of a node, on a fixed grid: its first run plus any number of intervals; and the fate of a due slot.

How long a run takes never moves the grid, so 5 minutes means 12 runs an hour. The grid is in UTC: a change to
daylight-saving time in the operator's zone neither adds nor drops a slot. Slots are never
counted one by one, since an engine may have been stopped for a year.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from facho.core.delay import Why
from facho.core.reasons import NO_REASON, Reason
from facho.core.request_rules import RequestPace

FIRST_RUN_DELAY: Final = timedelta(seconds=60)
SPREAD_LIMIT: Final = timedelta(seconds=300)


def first_run_of_new(now: datetime, *, delay: timedelta = FIRST_RUN_DELAY) -> datetime:
    """Return the first run of a new node: soon, so that a person sees it work."""
    return now + delay


def first_run_of_enabled(now: datetime, interval: timedelta) -> datetime:
    """Return the first run after the node, its job or its OLT was enabled or resumed."""
    return now + interval


def first_run_of_changed(now: datetime, interval: timedelta) -> datetime:
    """Return the first run after a change of interval: a new grid is anchored there."""
    return now + interval


def spread(position: int, count: int, interval: timedelta, *, limit: timedelta = SPREAD_LIMIT) -> timedelta:
    """Return the offset of one of `count` nodes that start at once, so that they do not fall due together.

    Positions count from 0: the first, and a single one, keep their exact time.
    """
    return position * min(interval, limit) / count


@dataclass(frozen=True, slots=True)
class Advance:
    """One run for a due node, whatever was missed."""

    # The latest due slot: the run counts in the hour of this slot.
    slot: datetime
    # The first slot after now.
    next_run_at: datetime
    # Missed slots before `slot`; there is no catch-up.
    skipped: int
    first_skipped: datetime | None
    last_skipped: datetime | None


def advance(next_run_at: datetime, interval: timedelta, now: datetime) -> Advance:
    """Advance a node that is due, `next_run_at <= now`."""
    if next_run_at > now:
        raise ValueError(f"not due: the next slot is {next_run_at}, and it is {now}")
    missed = (now - next_run_at) // interval
    slot = next_run_at + missed * interval
    return Advance(
        slot=slot,
        next_run_at=slot + interval,
        skipped=missed,
        first_skipped=next_run_at if missed else None,
        last_skipped=slot - interval if missed else None,
    )


def is_too_far(
    next_run_at: datetime,
    now: datetime,
    interval: timedelta,
    *,
    slack: timedelta = FIRST_RUN_DELAY + SPREAD_LIMIT,
) -> bool:
    """Return whether the next slot is further away than any rule puts it: the clock was set back.

    Such a node would not run until the clock has caught up; it gets a new grid by `first_run_of_changed`.
    """
    return next_run_at - now > interval + slack


def slots_in(next_run_at: datetime, interval: timedelta, after: datetime, until: datetime) -> int:
    """Count the slots in (after, until], on the grid both ways from `next_run_at`."""
    return max(0, (until - next_run_at) // interval - (after - next_run_at) // interval)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An execution of the node that has not ended yet."""

    execution_id: int
    # WAITING; otherwise PENDING or RUNNING.
    waiting: bool
    # Waiting for the time of its next attempt.
    retrying: bool
    # Requested by a person; it is not the run of a slot.
    by_hand: bool
    attempt: int


@dataclass(frozen=True, slots=True)
class Node:
    """The state of a node that decides about its slot, apart from an unfinished execution."""

    is_get: bool
    suspended: Reason
    olt_suspended: Reason
    pace: RequestPace
    # The execution that holds the OLT now, if any.
    olt_busy_with: int | None
    # The slot lies in a maintenance window.
    left_alone: bool = False


@dataclass(frozen=True, slots=True)
class Queue:
    """Queue an execution. `attempt` counts the attempts of the execution that it replaces."""

    attempt: int = 0
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Adopt:
    """The run that a person asked for, and that has not begun, becomes the slot's."""

    execution_id: int


@dataclass(frozen=True, slots=True)
class Skip:
    why: Why
    execution_id: int | None = None
    detail: Reason = NO_REASON


Fate: TypeAlias = Queue | Adopt | Skip


def fate_of_slot(node: Node, unfinished: Unfinished | None) -> Fate:
    if node.left_alone:
        return Skip(Why.MAINTENANCE)
    if node.olt_suspended:
        return Skip(Why.OLT_UNREACHABLE, detail=node.olt_suspended)
    if node.suspended:
        return Skip(Why.SUSPENDED, detail=node.suspended)
    if node.is_get and node.pace is RequestPace.SKIP_GETS:
        return Skip(Why.CPU_HIGH)
    if unfinished is None:
        return Queue()
    return _fate_with_unfinished(unfinished, node.olt_busy_with)


def _fate_with_unfinished(unfinished: Unfinished, olt_busy_with: int | None) -> Fate:
    if not unfinished.waiting:
        return Skip(Why.STILL_RUNNING, unfinished.execution_id)
    if unfinished.retrying:
        # The next slot comes before the retry: the old slot has failed, and this one is the next attempt.
        return Queue(unfinished.attempt, unfinished.execution_id)
    if unfinished.by_hand:
        return Adopt(unfinished.execution_id)
    if olt_busy_with is not None:
        return Skip(Why.OLT_BUSY, olt_busy_with)
    return Skip(Why.POLLERS_BUSY, unfinished.execution_id)
