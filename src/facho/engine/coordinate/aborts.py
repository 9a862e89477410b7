"""Aborts executions that are no longer wanted; what they owe counts as skipped, for the given reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from facho.apps.executions.models import QUEUED, Attempt, Execution, State
from facho.config import current
from facho.core.reasons import Reason
from facho.engine.coordinate.quotas import Slot, count_aborted_slots, slot_from_row
from facho.engine.events.coordinator_log import log_ended_executions
from facho.engine.events.stream import publish
from facho.engine.events.types import ExecutionAborted


@dataclass(frozen=True, slots=True)
class AbortedExecution:
    execution_id: int
    olt_id: int
    node_id: int | None
    job: str
    slot: Slot


def abort_queued(
    executions: QuerySet[Execution], why: Reason, now: datetime, *, counts: bool = True
) -> list[AbortedExecution]:
    """Abort those that have not begun. If it does not count, the caller reconciles the quotas."""
    queued = _lock(executions.filter(state__in=QUEUED))
    _rows(queued).update(state=State.ABORTED, error=why, ended_at=now, lease_token="", lease_expires_at=None)
    _report(queued, why, now, counts)
    return queued


def abort_open(
    executions: QuerySet[Execution], why: Reason, now: datetime, *, counts: bool = True
) -> list[AbortedExecution]:
    """Abort those that have not ended.

    A running one keeps its lease: the holder stops at the next renewal, and until then occupies the OLT.
    """
    queued = abort_queued(executions, why, now, counts=counts)
    running = _lock(executions.filter(state=State.RUNNING))
    ids = [each.execution_id for each in running]
    Attempt.objects.filter(execution__in=ids, ended_at=None).update(error=why, ended_at=now)
    _rows(running).update(state=State.ABORTED, error=why, ended_at=now)
    _report(running, why, now, counts)
    return queued + running


def _lock(executions: QuerySet[Execution]) -> list[AbortedExecution]:
    rows = (
        executions.order_by("id")
        .select_for_update(of=("self",), no_key=True)
        .values_list("id", "olt_id", "node_id", "node__job__name", "slot", "owes")
    )
    return [
        AbortedExecution(execution, olt, node, job or "", slot_from_row(olt, slot, owes))
        for execution, olt, node, job, slot, owes in rows
    ]


def _rows(aborted: Sequence[AbortedExecution]) -> QuerySet[Execution]:
    return Execution.objects.filter(id__in=[each.execution_id for each in aborted])


def _report(aborted: Sequence[AbortedExecution], why: Reason, now: datetime, counts: bool) -> None:
    if counts:
        count_aborted_slots((each.slot for each in aborted), why, now, current())
    log_ended_executions([each.execution_id for each in aborted])
    for each in aborted:
        publish(
            ExecutionAborted(olt_id=each.olt_id, execution_id=each.execution_id, job=each.job, why=why), now
        )
