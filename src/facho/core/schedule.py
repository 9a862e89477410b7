"""When a node runs: on a fixed grid of slots, its first run plus any number of intervals.

How long a run takes never moves the grid, so 5 minutes means 12 runs an hour. The grid is in UTC: a change to
daylight-saving time in the operator's zone neither adds nor drops a slot. Nothing here counts slots one by
one, since an engine may have been stopped for a year.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

FIRST_RUN_DELAY: Final = timedelta(seconds=60)
SPREAD_LIMIT: Final = timedelta(seconds=300)


def first_run_of_new(now: datetime, *, delay: timedelta = FIRST_RUN_DELAY) -> datetime:
    """A job was created, or an OLT attached: soon, so that a person sees it work."""
    return now + delay


def first_run_of_enabled(now: datetime, interval: timedelta) -> datetime:
    """The node, its job or its OLT was off, or suspended, and is back."""
    return now + interval


def first_run_of_changed(now: datetime, interval: timedelta) -> datetime:
    """The interval is another one: a new grid, anchored here."""
    return now + interval


def spread(position: int, count: int, interval: timedelta, *, limit: timedelta = SPREAD_LIMIT) -> timedelta:
    """By how much to move one of `count` nodes that start at once, so that they do not fall due together.

    Positions count from 0: the first, and one alone, keep their time exactly.
    """
    return position * min(interval, limit) / count


@dataclass(frozen=True, slots=True)
class Advance:
    """What to do with a node that is due: one run, whatever was missed."""

    # The latest slot that has come: the run counts in the hour in which it happens.
    slot: datetime
    # The first slot after now.
    next_run_at: datetime
    # Slots before `slot` that nobody ran. They are not made up for.
    skipped: int
    first_skipped: datetime | None
    last_skipped: datetime | None


def advance(next_run_at: datetime, interval: timedelta, now: datetime) -> Advance:
    """For a node that is due, `next_run_at <= now`."""
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
    """Is the next slot further away than any rule could have put it? Then the clock was set back.

    Such a node would be silent until the clock has caught up. It gets a new grid by `first_run_of_changed`.
    """
    return next_run_at - now > interval + slack


def slots_in(next_run_at: datetime, interval: timedelta, after: datetime, until: datetime) -> int:
    """How many slots lie after `after` and not after `until`, on the grid both ways from `next_run_at`."""
    return max(0, (until - next_run_at) // interval - (after - next_run_at) // interval)
