"""Counts the outcomes of slots in the trackers of their hours, in the transaction that decides the outcome.

What is pending is derived from the slots on the nodes' grids and the open executions; `reconcile_trackers`
does that whenever grids change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from facho.apps.db.database import is_embedded
from facho.apps.execution_coordinator.models import QuotaStatus, QuotaTracker
from facho.apps.execution_coordinator.selectors import Owed, load_pending_slots
from facho.apps.execution_coordinator.store import (
    CountedSlots,
    Tracker,
    TrackerKey,
    count_outcomes,
    create_missing_trackers,
    delete_trackers,
    lock_open_trackers,
    set_pending,
)
from facho.config import Config
from facho.core.lost_slots import LostSlots, lose_slots
from facho.core.quota import (
    ABORTED,
    FAILED,
    LATE,
    Hour,
    Outcome,
    SlotOutcome,
    hour_of,
    must_close,
    running_hour,
    slots_by_hour,
)
from facho.core.reasons import NO_REASON, Reason


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of a node, and what it counts for. A run that a person asked for counts for nothing."""

    olt_id: int
    at: datetime
    owes: Sequence[Owed]


def count_part_outcomes(
    slot: Slot, parts: Mapping[int, SlotOutcome], otherwise: SlotOutcome, now: datetime, config: Config
) -> None:
    """Count the outcome of each part, by its node; `otherwise` is the outcome of the others."""
    if counted := part_outcomes(slot, parts, otherwise, now, config):
        count_outcomes(counted, now)


def part_outcomes(
    slot: Slot, parts: Mapping[int, SlotOutcome], otherwise: SlotOutcome, now: datetime, config: Config
) -> list[CountedSlots]:
    """Return what `count_part_outcomes` counts, for a transaction that counts several slots together."""
    outcomes = ((owed, parts.get(owed.node_id, otherwise)) for owed in slot.owes)
    counted = (_counted(slot, owed, outcome, config) for owed, outcome in outcomes)
    return [_skipped_if_late(each, now, config) for each in counted]


def count_failed_slot(slot: Slot, error: Reason, now: datetime, config: Config) -> None:
    """Count the master's part as failed and the chained ones, which were not asked, as skipped."""
    master = {owed.node_id: SlotOutcome(Outcome.FAILED, why=FAILED, what=error) for owed in slot.owes[:1]}
    count_part_outcomes(slot, master, SlotOutcome(Outcome.SKIPPED, why=FAILED, what=error), now, config)


def count_aborted_slots(
    slots: Iterable[Slot], what: Reason, now: datetime, config: Config, *, why: str = ABORTED
) -> None:
    outcome = SlotOutcome(Outcome.SKIPPED, why=why, what=what)
    _count((_counted(slot, owed, outcome, config) for slot in slots for owed in slot.owes), now, config)


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """The slots from the first to the last, none of which was run."""

    olt_id: int
    first: datetime
    last: datetime
    owes: Sequence[Owed]
    why: str
    what: Reason = NO_REASON


def count_skipped_slots(skipped: Iterable[SkippedRange], now: datetime, config: Config) -> None:
    _count((each for some in skipped for each in _by_hour(some, now, config)), now, config)


def _by_hour(skipped: SkippedRange, now: datetime, config: Config) -> Iterator[CountedSlots]:
    for owed in skipped.owes:
        interval = timedelta(seconds=owed.interval_s)
        first = _first_counted(skipped, interval, now, config)
        for hour, count in slots_by_hour(first, skipped.last, interval, config.time_zone):
            reason = lose_slots(skipped.why, skipped.what, first, owed.interval_s, count)
            first += count * interval
            key = TrackerKey(skipped.olt_id, owed.task_type, hour)
            yield CountedSlots(key, Outcome.SKIPPED, count, reason=reason)


def _first_counted(skipped: SkippedRange, interval: timedelta, now: datetime, config: Config) -> datetime:
    """Return the first slot that is recent enough to be counted."""
    too_old = now - config.quota_catch_up - skipped.first
    return skipped.first + max(0, -(-too_old // interval)) * interval


def _counted(slot: Slot, owed: Owed, outcome: SlotOutcome, config: Config) -> CountedSlots:
    key = TrackerKey(slot.olt_id, owed.task_type, hour_of(slot.at, config.time_zone))
    done = outcome.outcome is Outcome.COMPLETED
    reason = None if done else lose_slots(outcome.why, outcome.what, slot.at, owed.interval_s)
    return CountedSlots(key, outcome.outcome, 1, round(outcome.seconds * 1000) if done else 0, reason)


def _count(outcomes: Iterable[CountedSlots], now: datetime, config: Config) -> None:
    every = [_skipped_if_late(each, now, config) for each in outcomes]
    if every:
        count_outcomes(every, now)


def _skipped_if_late(slots: CountedSlots, now: datetime, config: Config) -> CountedSlots:
    """Count an outcome as skipped from the moment its hour must be closed, whether or not it has been."""
    late = must_close(slots.key.hour.end, now, within=config.quota_close_within)
    if not late or slots.outcome is Outcome.SKIPPED:
        return slots
    reason = slots.reason or LostSlots(LATE, count=slots.count)
    return replace(slots, outcome=Outcome.SKIPPED, duration_ms=0, reason=reason)


def reconcile_trackers(
    olt_ids: Sequence[int] | None, now: datetime, config: Config, hours: Iterable[Hour] = ()
) -> None:
    """Store what is pending in the running hour, in open ones and in those given; None stands for all OLTs.

    In the caller's transaction.
    """
    wanted = sorted({running_hour(now, config.time_zone), *hours, *_open_hours(olt_ids)})
    slots = load_pending_slots(olt_ids, wanted, config.time_zone)
    pending = slots.pending(wanted)
    create_missing_trackers(pending, now)
    trackers = lock_open_trackers([hour.start for hour in wanted], olt_ids)
    if not is_embedded():
        # Read again under the locks: only now nobody else can change what is pending.
        slots = load_pending_slots(olt_ids, wanted, config.time_zone)
        pending = slots.pending(wanted)
    _update_trackers(trackers, pending, slots.enabled, now)


def _open_hours(olt_ids: Sequence[int] | None) -> Iterator[Hour]:
    trackers = QuotaTracker.objects.filter(closed_at=None)
    if olt_ids is not None:
        trackers = trackers.filter(olt__in=olt_ids)
    for start, end in trackers.order_by().values_list("period_start", "period_end").distinct():
        yield Hour(start, end)


def _update_trackers(
    trackers: Sequence[Tracker], pending: Mapping[TrackerKey, int], enabled: frozenset[int], now: datetime
) -> None:
    changed, empty = [], []
    for each in trackers:
        left = pending.get(each.key, 0)
        # Disabling an OLT interrupts the running hour; the counts of a past hour stand, closed or not.
        interrupted = each.key.olt_id not in enabled and each.key.hour.end > now
        status = _status(each, left, interrupted)
        if not each.ended and not left and status != QuotaStatus.INTERRUPTED:
            empty.append(each)
        elif (left, status) != (each.pending, each.status):
            changed.append((each, left, status))
    set_pending(changed, now)
    delete_trackers(empty)


def _status(tracker: Tracker, left: int, interrupted: bool) -> str:
    if interrupted:
        return QuotaStatus.INTERRUPTED
    return QuotaStatus.IN_PROGRESS if left else tracker.status


def slot_from_row(olt_id: int, at: datetime, owes: Iterable[Sequence[object]]) -> Slot:
    """Return the slot of an execution, from the columns of its row."""
    return Slot(olt_id, at, [Owed(*each) for each in owes])  # type: ignore[arg-type]  # from JSON
