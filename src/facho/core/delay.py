"""Delay of a run and its cause: the longest part of the wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

DELAYED_AFTER: Final = timedelta(seconds=5)

_NONE: Final = timedelta(0)


class Why(StrEnum):
    """The reason why a run was late or a slot was skipped."""

    OLT_BUSY = "olt_busy"
    POLLERS_BUSY = "pollers_busy"
    OLT_UNREACHABLE = "olt_unreachable"
    SUSPENDED = "suspended"
    RETRYING = "retrying"
    CPU_HIGH = "cpu_high"
    MAINTENANCE = "maintenance"
    ENGINE_STOPPED = "engine_stopped"
    # The node's own previous execution was still open.
    STILL_RUNNING = "still_running"


@dataclass(frozen=True, slots=True)
class Blocker:
    """An execution that held the OLT while another one waited for it."""

    execution_id: int
    job: str
    started_at: datetime
    # None while it runs.
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Late:
    why: Why
    # The execution that held the OLT longest, when the OLT was busy.
    blocker: Blocker | None
    delay: timedelta


def is_delayed(slot: datetime, at: datetime, *, after: timedelta = DELAYED_AFTER) -> bool:
    return at - slot > after


def why_late(
    *,
    slot: datetime,
    queued_at: datetime,
    started_at: datetime,
    retried: bool,
    blockers: Sequence[Blocker],
    after: timedelta = DELAYED_AFTER,
) -> Late | None:
    """Return why a run that was due at `slot` and queued at `queued_at` started only at `started_at`.

    The wait has three parts: before the slot was queued the engine was not stepping; then the OLT was busy
    with others; what remains was spent waiting for a poller. The longest part is the reason. Where parts are
    equally long the OLT comes first, since it can be named.
    """
    delay = started_at - slot
    if not is_delayed(slot, started_at, after=after):
        return None
    if retried:
        return Late(Why.RETRYING, None, delay)
    queued = min(max(slot, queued_at), started_at)
    held = [_overlap(blocker, queued, started_at) for blocker in blockers]
    busy = sum(held, _NONE)
    stopped = queued - slot
    parts = {
        Why.OLT_BUSY: busy,
        Why.ENGINE_STOPPED: stopped,
        Why.POLLERS_BUSY: delay - stopped - busy,
    }
    why = max(parts, key=parts.__getitem__)
    blocker = blockers[held.index(max(held))] if why is Why.OLT_BUSY else None
    return Late(why, blocker, delay)


def _overlap(blocker: Blocker, since: datetime, until: datetime) -> timedelta:
    """Return for how long between `since` and `until` the blocker held the OLT."""
    ended_at = until if blocker.ended_at is None else min(blocker.ended_at, until)
    return max(_NONE, ended_at - max(blocker.started_at, since))


def why_pending(
    slot: datetime,
    queued_at: datetime,
    *,
    waiting: bool,
    retried: bool,
    olt_busy: bool,
    after: timedelta = DELAYED_AFTER,
) -> Why:
    """Return why a run has not ended when its hour is closed."""
    if is_delayed(slot, queued_at, after=after):
        return Why.ENGINE_STOPPED
    if not waiting:
        return Why.STILL_RUNNING
    if retried:
        return Why.RETRYING
    return Why.OLT_BUSY if olt_busy else Why.POLLERS_BUSY
