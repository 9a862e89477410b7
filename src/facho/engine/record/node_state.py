"""Stores how the node of an execution does: when it ran, its failures in a row, and its suspension."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from facho.apps.db import sql
from facho.apps.db.bulk import update_rows
from facho.apps.executions.locks import lock_olt_and_node
from facho.apps.executions.models import QUEUED, Execution
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import enabled_nodes
from facho.config import Config
from facho.core.execution_end import AttemptEnd, EndState, NodeBefore, Suspension
from facho.core.reasons import Reason
from facho.engine.record.recording import LockedNode, Recording
from facho.engine.record.suspension import resume_node, resume_olt, suspend_node, suspend_olt


def lock_failed_node(
    olt_id: int, node_id: int | None, attempt: int, *, retry_delay: timedelta | None = None
) -> LockedNode | None:
    """Lock the node of a failed attempt and its OLT, either of which may be suspended now.

    `retry_delay` is that of its job, if none is given.
    """
    if node_id is None:
        return None
    lock_olt_and_node(olt_id, node_id)
    node = SnmpJobHost.objects.select_related("job", "olt").get(id=node_id)
    job = node.job
    may_retry = attempt < job.max_attempts and not node.is_suspended and not node.olt.is_suspended
    before = NodeBefore(
        max_attempts=job.max_attempts,
        retry_delay=timedelta(seconds=job.retry_delay_s) if retry_delay is None else retry_delay,
        failures_in_a_row=node.failures_in_a_row,
        may_queue=may_retry and may_queue(node.id),
        is_suspended=node.is_suspended,
        is_olt_suspended=node.olt.is_suspended,
        failed_probes=node.failed_probes,
        failed_olt_probes=node.olt.failed_probes,
    )
    return LockedNode(node, before)


def may_queue(node_id: int | None) -> bool:
    """Tell whether an execution of the node may wait: it is switched on, and no other one waits."""
    if node_id is None or not enabled_nodes().filter(id=node_id).exists():
        return False
    return not Execution.objects.filter(node=node_id, state__in=QUEUED).exists()


def write_failed_node(
    node: LockedNode | None,
    end: AttemptEnd,
    started_at: datetime,
    error: Reason,
    now: datetime,
    config: Config,
) -> None:
    """Count the failed attempt, and suspend what the decision names."""
    if node is None:
        return
    failures = node.before.failures_in_a_row + 1
    sql.update_row(SnmpJobHost, node.row.id, {"failures_in_a_row": failures, "last_run_at": started_at})
    if end.suspension is None:
        return
    assert end.probe_in is not None
    if end.suspension is Suspension.OLT:
        suspend_olt(node.row.olt, error, now, end.probe_in, config)
    else:
        suspend_node(node.row, error, now, end.probe_in)


def write_node_state(recording: Recording) -> None:
    attempt = recording.end.attempt
    if attempt.state is EndState.SUCCESS:
        _write_success(recording)
    elif attempt.state is not EndState.ABORTED:
        error, started_at = recording.collection.error, recording.started.started_at
        write_failed_node(recording.node, attempt, started_at, error, recording.now, recording.config)


def _write_success(recording: Recording) -> None:
    """Date the run of the node and of every chained one that was asked for; resume what was suspended."""
    started, collection, now = recording.started, recording.collection, recording.now
    if started.node_id is not None:
        ran = {"last_run_at": started.started_at, "failures_in_a_row": 0}
        sql.update_row(SnmpJobHost, started.node_id, ran)
    chained = [
        (each.part.node_id, started.started_at)
        for each in collection.parts[1:]
        if each.part.node_id is not None and each.asked
    ]
    update_rows(SnmpJobHost, ["last_run_at"], chained)
    if collection.was_asked and sql.fetch_rows(_WAS_SUSPENDED, [started.node_id, started.olt_id]):
        resume_olt(started.olt_id, now, proven=True)
        if started.node_id is not None:
            resume_node(started.node_id, now, proven=True)


_WAS_SUSPENDED: Final = (
    "SELECT 1 FROM olts o LEFT JOIN snmp_job_hosts n ON n.id = %s WHERE o.id = %s"
    " AND (o.suspended_reason <> '' OR o.failed_probes > 0"
    " OR n.suspended_reason <> '' OR n.failed_probes > 0)"
)
