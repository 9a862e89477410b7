"""Keeps the quotas: what became of a slot is counted in the transaction in which it became of it.

Outcomes are added up, and what is pending is looked up: the slots of the hour that are still on the nodes'
grids, and the executions that are open. `reconcile` does that whenever grids change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import connection

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
from facho.core.lost_slots import ABORTED, FAILED, LATE, LostSlots
from facho.core.quota import Hour, Outcome, SlotOutcome, hour_of, must_close, running_hour, slots_by_hour


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of a node on its OLT, and what it counts for: nothing for a run that a person asked for."""

    olt_id: int
    at: datetime
    owes: Sequence[Owed]


def count_part_outcomes(
    slot: Slot, parts: Mapping[int, SlotOutcome], otherwise: SlotOutcome, now: datetime, config: Config
) -> None:
    """By the node of each part; `otherwise` is what became of those that are not named."""
    came = ((owed, parts.get(owed.node_id, otherwise)) for owed in slot.owes)
    _settle((_settled(slot, owed, each, config) for owed, each in came), now, config)


def count_failed_slot(slot: Slot, error: str, now: datetime, config: Config) -> None:
    """The master's part failed, and so what is chained to it was not asked."""
    master = {owed.node_id: SlotOutcome(Outcome.FAILED, why=FAILED, what=error) for owed in slot.owes[:1]}
    count_part_outcomes(slot, master, SlotOutcome(Outcome.SKIPPED, why=FAILED, what=error), now, config)


def count_aborted_slots(
    slots: Iterable[Slot], what: str, now: datetime, config: Config, *, why: str = ABORTED
) -> None:
    came = SlotOutcome(Outcome.SKIPPED, why=why, what=what)
    _settle((_settled(slot, owed, came, config) for slot in slots for owed in slot.owes), now, config)


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """Slots from the first to the last of which nobody ran one."""

    olt_id: int
    first: datetime
    last: datetime
    owes: Sequence[Owed]
    why: str
    what: str = ""


def count_skipped_slots(passed: Iterable[SkippedRange], now: datetime, config: Config) -> None:
    _settle((each for some in passed for each in _passed(some, now, config)), now, config)


def _passed(passed: SkippedRange, now: datetime, config: Config) -> Iterator[CountedSlots]:
    for owed in passed.owes:
        interval = timedelta(seconds=owed.interval_s)
        for hour, count in slots_by_hour(
            _recent(passed, interval, now, config), passed.last, interval, config.time_zone
        ):
            reason = LostSlots(passed.why, passed.what, count, count * owed.interval_s)
            key = TrackerKey(passed.olt_id, owed.task_type, hour)
            yield CountedSlots(key, Outcome.SKIPPED, count, reason=reason)


def _recent(passed: SkippedRange, interval: timedelta, now: datetime, config: Config) -> datetime:
    """The first slot that is not so long ago that nobody accounts for it any more."""
    ago = now - config.quota_catch_up - passed.first
    return passed.first + max(0, -(-ago // interval)) * interval


def _settled(slot: Slot, owed: Owed, came: SlotOutcome, config: Config) -> CountedSlots:
    key = TrackerKey(slot.olt_id, owed.task_type, hour_of(slot.at, config.time_zone))
    done = came.outcome is Outcome.COMPLETED
    reason = None if done else LostSlots(came.why, came.what, 1, owed.interval_s)
    return CountedSlots(key, came.outcome, 1, round(came.seconds * 1000) if done else 0, reason)


def _settle(outcomes: Iterable[CountedSlots], now: datetime, config: Config) -> None:
    every = [_in_time(each, now, config) for each in outcomes]
    if every:
        count_outcomes(every, now)


def _in_time(settled: CountedSlots, now: datetime, config: Config) -> CountedSlots:
    """Whether its hour was closed already, or will be in a moment, must make no difference."""
    late = must_close(settled.key.hour.end, now, within=config.quota_close_within)
    if not late or settled.outcome is Outcome.SKIPPED:
        return settled
    reason = settled.reason or LostSlots(LATE, "", settled.count)
    return replace(settled, outcome=Outcome.SKIPPED, duration_ms=0, reason=reason)


def reconcile_trackers(
    olt_ids: Sequence[int] | None, now: datetime, config: Config, hours: Iterable[Hour] = ()
) -> None:
    """What is pending in the running hour, in those that are open, and in those given. In a transaction.

    Of all OLTs, if none are named.
    """
    wanted = sorted({running_hour(now, config.time_zone), *hours, *_open_hours(olt_ids)})
    seen = load_pending_slots(olt_ids, wanted, config.time_zone)
    pending = seen.pending(wanted)
    create_missing_trackers(pending, now)
    trackers = lock_open_trackers([hour.start for hour in wanted], olt_ids)
    if connection.vendor != "sqlite":
        # Only now nobody else can change what is pending.
        seen = load_pending_slots(olt_ids, wanted, config.time_zone)
        pending = seen.pending(wanted)
    _write(trackers, pending, seen.enabled, now)


def _open_hours(olt_ids: Sequence[int] | None) -> Iterator[Hour]:
    trackers = QuotaTracker.objects.filter(closed_at=None)
    if olt_ids is not None:
        trackers = trackers.filter(olt__in=olt_ids)
    for start, end in trackers.order_by().values_list("period_start", "period_end").distinct():
        yield Hour(start, end)


def _write(
    trackers: Sequence[Tracker], pending: Mapping[TrackerKey, int], enabled: frozenset[int], now: datetime
) -> None:
    changed, empty = [], []
    for each in trackers:
        left = pending.get(each.key, 0)
        # What the OLT got in an hour that is over stands, whether or not somebody has closed it yet.
        is_cut_short = each.key.olt_id not in enabled and each.key.hour.end > now
        status = _status(each, left, is_cut_short)
        if not each.ended and not left and status != QuotaStatus.INTERRUPTED:
            empty.append(each)
        elif (left, status) != (each.pending, each.status):
            changed.append((each, left, status))
    set_pending(changed, now)
    delete_trackers(empty)


def _status(tracker: Tracker, left: int, is_cut_short: bool) -> str:
    if is_cut_short:
        return QuotaStatus.INTERRUPTED
    return QuotaStatus.IN_PROGRESS if left else tracker.status


def slot_from_row(olt_id: int, at: datetime, owes: Iterable[Sequence[object]]) -> Slot:
    """As the row of an execution has it."""
    return Slot(olt_id, at, [Owed(*each) for each in owes])  # type: ignore[arg-type]  # from JSON
