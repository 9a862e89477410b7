"""The scheduler's step: slots that have come become waiting executions, and the nodes' next slots are set.

A step is idempotent, and two schedulers at once do no harm: each works on the nodes that it has locked, and a
slot can be queued only once.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db import IntegrityError
from django.db.models import Value
from django.db.models.functions import Coalesce, Greatest

from facho.apps.db import sql
from facho.apps.db.sql import insert_rows, update_rows
from facho.apps.execution_coordinator.selectors import Owed, owed_by
from facho.apps.executions.models import ACTIVE, OPEN, Execution, SkippedSlots, State, Trigger
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import closed_times
from facho.apps.snmp_jobs.models import JobKind, SnmpJobHost
from facho.apps.snmp_jobs.selectors import enabled_nodes
from facho.config import Config
from facho.core.delay import Why
from facho.core.maintenance import Span, span_at, split_slots
from facho.core.reasons import Reason, text_reason
from facho.core.schedule import (
    Adopt,
    Advance,
    Fate,
    Node,
    Queue,
    Skip,
    Unfinished,
    advance,
    fate_of_slot,
    first_run_of_changed,
    is_too_far,
)
from facho.engine.collect.work_builder import request_pace_of
from facho.engine.coordinate.quotas import (
    SkippedRange,
    count_failed_slot,
    count_skipped_slots,
    reconcile_trackers,
    slot_from_row,
)
from facho.engine.events.coordinator_log import log_ended_executions
from facho.engine.events.stream import publish
from facho.engine.events.types import ClockChanged

log = logging.getLogger(__name__)

# The most nodes of one transaction: others get a turn between two.
CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class QueueResult:
    """The numbers of slots that a step queued and skipped."""

    queued: int = 0
    skipped: int = 0

    def __add__(self, other: QueueResult) -> QueueResult:
        return QueueResult(self.queued + other.queued, self.skipped + other.skipped)


def queue_due_slots(now: datetime, config: Config) -> QueueResult:
    done = QueueResult()
    while True:
        try:
            with sql.write_transaction():
                due = _lock_due_nodes(now)
                queued = _queue_nodes(due, now, config)
        except IntegrityError:
            # One of them is refused. It must not keep the others waiting at every step.
            return done + _queue_one_by_one(now, config)
        done += queued
        if len(due) < CHUNK:
            return done


def _queue_one_by_one(now: datetime, config: Config) -> QueueResult:
    done = QueueResult()
    for node_id in enabled_nodes().filter(next_run_at__lte=now).values_list("id", flat=True):
        try:
            with sql.write_transaction():
                done += _queue_nodes(_lock_due_nodes(now, only=node_id), now, config)
        except IntegrityError as error:
            log.error(
                "slot not queued",
                extra={"action": "not_queued", "node_id": node_id, "error": str(error)},
            )
            _skip_slot_that_ran(node_id, now, config)
    return done


def _skip_slot_that_ran(node_id: int, now: datetime, config: Config) -> None:
    """Skip a slot that was executed already: somebody set the node's next run back in the database."""
    with sql.write_transaction():
        for row in _lock_due_nodes(now, only=node_id):
            ahead = advance(row.next_run_at, row.interval, now)
            if Execution.objects.filter(node=node_id, slot=ahead.slot).exists():
                update_rows(SnmpJobHost, ["next_run_at"], [(node_id, ahead.next_run_at)])
                reconcile_trackers([row.olt_id], now, config)


class _DueNode(NamedTuple):
    node_id: int
    olt_id: int
    next_run_at: datetime
    interval_s: int
    priority: int
    kind: str
    suspended: Reason
    olt_suspended: Reason
    cpu_pct: float | None
    cpu_read_at: datetime | None

    @property
    def interval(self) -> timedelta:
        return timedelta(seconds=self.interval_s)


def _lock_due_nodes(now: datetime, *, only: int | None = None) -> list[_DueNode]:
    nodes = enabled_nodes() if only is None else enabled_nodes().filter(id=only)
    rows = (
        nodes.filter(next_run_at__lte=now)
        # Of two at once the older node: plans count on it.
        .order_by("next_run_at", "id")
        # Another scheduler has the nodes that are locked.
        .select_for_update(of=("self",), skip_locked=True, no_key=True)
        .values_list(
            "id",
            "olt_id",
            "next_run_at",
            Coalesce("interval_s", "job__interval_s"),
            Coalesce("priority", "job__priority"),
            "job__kind",
            "suspended_reason",
            "olt__suspended_reason",
            "olt__cpu_pct",
            "olt__cpu_read_at",
        )[:CHUNK]
    )
    return [_DueNode(*row) for row in rows]


def _queue_nodes(due: Sequence[_DueNode], now: datetime, config: Config) -> QueueResult:
    if not due:
        return QueueResult()
    unfinished = _read_unfinished([row.node_id for row in due], now)
    busy = dict(
        Execution.objects.filter(olt__in={row.olt_id for row in due}, state__in=ACTIVE).values_list(
            "olt", "id"
        )
    )
    closed = _read_closed_times(due, now, config)
    advanced = ((row, advance(row.next_run_at, row.interval, now)) for row in due)
    fates: _Fates = [
        (row, ahead, _decide(row, ahead.slot, closed, unfinished, busy, now, config))
        for row, ahead in advanced
    ]
    owed = owed_by([row.node_id for row in due])
    next_runs = [(row.node_id, sql.db_time(ahead.next_run_at)) for row, ahead, _ in fates]
    update_rows(SnmpJobHost, ["next_run_at"], next_runs, is_adapted=True)
    _fail_replaced_retries(fates, now, config)
    fates = _adopt_waiting(fates, owed, now)
    queued = [
        _execution_row(row, ahead.slot, fate.attempt, owed[row.node_id], now)
        for row, ahead, fate in fates
        if isinstance(fate, Queue)
    ]
    insert_rows(Execution, _EXECUTION_FIELDS, queued, is_adapted=True)
    skipped = [*_missed_slots(fates, closed), *_skipped_slots(fates)]
    SkippedSlots.objects.bulk_create(skipped)
    count_skipped_slots(_skipped_ranges(skipped, owed), now, config)
    return QueueResult(len(queued), sum(each.count for each in skipped))


def _skipped_ranges(skipped: Sequence[SkippedSlots], owed: _OwedBy) -> Iterable[SkippedRange]:
    """Return what the quotas count. The reason names the job that was in the way, if there was one."""
    in_the_way = {each.execution_id for each in skipped if each.execution_id is not None}
    jobs = dict(Execution.objects.filter(id__in=in_the_way).values_list("id", "node__job__name"))
    for each in skipped:
        if each.why == Why.MAINTENANCE:
            # Slots in maintenance are not owed.
            continue
        job = (jobs.get(each.execution_id) if each.execution_id else None) or ""
        what = text_reason(job) or each.detail
        yield SkippedRange(each.olt_id, each.first_slot, each.last_slot, owed[each.node_id], each.why, what)


_Fates = Sequence[tuple[_DueNode, Advance, Fate]]
_OwedBy = Mapping[int, tuple[Owed, ...]]
_ClosedTimes = Mapping[int, Sequence[Span]]


def _read_closed_times(due: Sequence[_DueNode], now: datetime, config: Config) -> _ClosedTimes:
    """Return the maintenance of the OLTs, as far back as slots are counted."""
    after = max(min(row.next_run_at for row in due), now - config.quota_catch_up)
    olt_ids = list({row.olt_id for row in due})
    return closed_times(olt_ids, after, now + timedelta(microseconds=1), config.time_zone)


def _read_unfinished(node_ids: Sequence[int], now: datetime) -> dict[int, Unfinished]:
    """Return the open execution of each node; of two the waiting one."""
    rows = Execution.objects.filter(node__in=node_ids, state__in=OPEN).values_list(
        "node", "id", "state", "trigger", "not_before", "attempt"
    )
    found: dict[int, Unfinished] = {}
    for node, execution, state, trigger, not_before, attempt in rows:
        waiting = state == State.WAITING
        if waiting or node not in found:
            retrying, is_run_now = waiting and not_before > now, trigger == Trigger.RUN_NOW
            found[node] = Unfinished(execution, waiting, retrying, is_run_now, attempt)
    return found


def _decide(
    row: _DueNode,
    slot: datetime,
    closed: _ClosedTimes,
    unfinished: dict[int, Unfinished],
    busy: dict[int, int],
    now: datetime,
    config: Config,
) -> Fate:
    node = Node(
        is_get=row.kind == JobKind.GET,
        suspended=row.suspended,
        olt_suspended=row.olt_suspended,
        pace=request_pace_of(row.cpu_pct, row.cpu_read_at, now, config),
        olt_busy_with=busy.get(row.olt_id),
        left_alone=span_at(closed.get(row.olt_id, ()), slot) is not None,
    )
    return fate_of_slot(node, unfinished.get(row.node_id))


_EXECUTION_FIELDS: Final = (
    "node", "olt", "trigger", "slot", "not_before", "queued_at", "priority", "attempt", "owes"
)  # fmt: skip


def _execution_row(
    row: _DueNode, slot: datetime, attempt: int, owes: tuple[Owed, ...], now: datetime
) -> tuple[Any, ...]:
    """Return the values of _EXECUTION_FIELDS, as the database takes them."""
    trigger = Trigger.RETRY if attempt else Trigger.SCHEDULE
    at = sql.db_time(slot)
    owed = json.dumps(owes)
    return row.node_id, row.olt_id, trigger.value, at, at, sql.db_time(now), row.priority, attempt, owed


def _fail_replaced_retries(fates: _Fates, now: datetime, config: Config) -> None:
    """End retries that still wait: their slot has failed, and the new slot is the next attempt."""
    ids = [fate.replaces for _, _, fate in fates if isinstance(fate, Queue) and fate.replaces is not None]
    if not ids:
        return
    waiting = Execution.objects.filter(id__in=ids, state=State.WAITING).select_for_update(no_key=True)
    rows = list(waiting.values_list("id", "olt_id", "slot", "owes", "error"))
    Execution.objects.filter(id__in=[row[0] for row in rows]).update(state=State.FAILED, ended_at=now)
    for _, olt_id, slot, owes, error in rows:
        count_failed_slot(slot_from_row(olt_id, slot, owes), error, now, config)
    log_ended_executions([row[0] for row in rows])


def _adopt_waiting(fates: _Fates, owed: _OwedBy, now: datetime) -> _Fates:
    """Give waiting executions the new slot. One that has started meanwhile makes the slot a skipped one."""
    return [
        (row, ahead, Skip(Why.STILL_RUNNING, fate.execution_id))
        if isinstance(fate, Adopt)
        and not _try_to_adopt(fate.execution_id, ahead.slot, owed[row.node_id], now)
        else (row, ahead, fate)
        for row, ahead, fate in fates
    ]


def _try_to_adopt(execution_id: int, slot: datetime, owes: tuple[Owed, ...], now: datetime) -> bool:
    waiting = Execution.objects.filter(id=execution_id, state=State.WAITING)
    since = Greatest("not_before", Value(slot))
    return bool(
        waiting.update(trigger=Trigger.SCHEDULE, slot=slot, not_before=since, queued_at=now, owes=owes)
    )


def _missed_slots(fates: _Fates, closed: _ClosedTimes) -> Iterable[SkippedSlots]:
    """Return the slots that passed while no step was made."""
    for row, ahead, fate in fates:
        if ahead.first_skipped is not None and ahead.last_skipped is not None:
            suspended = isinstance(fate, Skip) and fate.why in (Why.SUSPENDED, Why.OLT_UNREACHABLE)
            why = fate.why if suspended and isinstance(fate, Skip) else Why.ENGINE_STOPPED
            spans = closed.get(row.olt_id, ())
            for run in split_slots(ahead.first_skipped, ahead.last_skipped, row.interval, spans):
                yield SkippedSlots(
                    node_id=row.node_id,
                    olt_id=row.olt_id,
                    first_slot=run.first,
                    last_slot=run.last,
                    count=run.count,
                    why=Why.MAINTENANCE if run.inside else why,
                )


def _skipped_slots(fates: _Fates) -> Iterable[SkippedSlots]:
    for row, ahead, fate in fates:
        if isinstance(fate, Skip):
            yield SkippedSlots(
                node_id=row.node_id,
                olt_id=row.olt_id,
                first_slot=ahead.slot,
                last_slot=ahead.slot,
                count=1,
                why=fate.why,
                detail=fate.detail,
                execution_id=fate.execution_id,
            )


def reset_slots_too_far_ahead(now: datetime, config: Config) -> int:
    """Reset nodes whose next slot is further away than any rule puts it: the clock was set back."""
    slack = config.first_run_delay + config.spread_limit
    with sql.write_transaction():
        rows = list(
            enabled_nodes()
            .filter(next_run_at__gt=now + slack)
            .select_for_update(of=("self",), skip_locked=True, no_key=True)
            .values_list("id", "olt_id", "next_run_at", Coalesce("interval_s", "job__interval_s"))
        )
        olt_of = {node_id: olt_id for node_id, olt_id, *_ in rows}
        too_far = [
            (node_id, first_run_of_changed(now, interval))
            for node_id, _, next_run_at, interval_s in rows
            if next_run_at is not None
            and is_too_far(next_run_at, now, interval := timedelta(seconds=interval_s), slack=slack)
        ]
        update_rows(SnmpJobHost, ["next_run_at"], too_far)
        if too_far:
            reconcile_trackers(sorted({olt_of[node_id] for node_id, _ in too_far}), now, config)
    _bring_probes_forward(now, config)
    if too_far:
        publish(ClockChanged(seconds=-_clock_change(now, rows).total_seconds()), now)
    return len(too_far)


def _clock_change(now: datetime, rows: Iterable[tuple[int, int, datetime | None, int]]) -> timedelta:
    """Return by how much the clock was set back, at least: no slot was further away than its interval."""
    return max(
        next_run_at - now - timedelta(seconds=interval_s)
        for *_, next_run_at, interval_s in rows
        if next_run_at is not None
    )


def _bring_probes_forward(now: datetime, config: Config) -> None:
    """Bring forward probes that would not be made until the clock has caught up."""
    longest = now + max(config.probe_after)
    for suspended in (Olt.objects, SnmpJobHost.objects):
        suspended.filter(next_probe_at__gt=longest).update(next_probe_at=longest)
