"""Ends attempts that leave no collection: failed before the OLT was asked, asked by hand, or handed back."""

from __future__ import annotations

from datetime import datetime

from facho.apps.db import sql
from facho.apps.executions.locks import lock_node, lock_running
from facho.apps.executions.models import QUEUED, Attempt, Execution, State
from facho.apps.executions.store import close_attempt
from facho.config import Config
from facho.core.execution_end import AttemptEnd, EndState, end_failed_attempt, judge_olt
from facho.core.reasons import Reason
from facho.engine.collect.work import PartResult, PartState
from facho.engine.coordinate.quotas import count_aborted_slots, count_failed_slot, slot_from_row
from facho.engine.coordinate.reachability import update_reachability
from facho.engine.events.execution_logs import log_ended_executions
from facho.engine.process.leases import StartedExecution
from facho.engine.record.execution_row import end_attempt, write_manual_execution
from facho.engine.record.node_state import lock_failed_node, may_queue, write_failed_node
from facho.engine.record.recording import check_lease
from facho.masking import mask_secrets


def record_failure(started: StartedExecution, error: Reason, now: datetime, config: Config) -> State:
    """Store that the OLT could not be asked: a job without columns, or a bug. Raises LeaseLost."""
    with sql.write_transaction():
        before = check_lease(started, now)
        error = error.with_texts(mask_secrets)
        node = lock_failed_node(started.olt_id, started.node_id, started.attempt)
        end = end_failed_attempt(
            started.attempt, node.before if node else None, now, probe_waits=config.probe_after
        )
        end_attempt(
            started.execution_id,
            started.attempt,
            started.started_at,
            end,
            error,
            now,
            is_run_now=before.is_run_now,
        )
        write_failed_node(node, end, started.started_at, error, now, config)
        if end.state is EndState.FAILED:
            count_failed_slot(before.slot, error, now, config)
            after = judge_olt(
                before.olt,
                end.state,
                None,
                is_collection=not before.is_onu_read,
                emergency_failures=config.emergency_failures,
            )
            update_reachability(started.olt_id, before.olt, after, now)
    return State(end.state.value)


def record_by_hand(started: StartedExecution, part: PartResult, now: datetime) -> None:
    """Store that a person asked by hand. The answers went to that person. Raises LeaseLost."""
    with sql.write_transaction():
        check_lease(started, now)
        state = EndState.SUCCESS if part.state is PartState.SUCCESS else EndState.FAILED
        write_manual_execution(started, part, AttemptEnd(state), now)


def hand_back(started: StartedExecution, now: datetime, config: Config) -> None:
    """Return the execution to the queue because the process stops. The attempt does not count."""
    with sql.write_transaction():
        running = lock_running(started.execution_id, lease_token=started.token)
        if running is None:
            return
        if started.node_id is not None:
            lock_node(started.node_id)
        again = _may_wait_again(running)
        Execution.objects.filter(id=started.execution_id).update(
            state=State.WAITING if again else State.ABORTED,
            lease_token="",
            lease_expires_at=None,
            attempt=started.attempt - 1,
            ended_at=None if again else now,
            error=Reason.of("handed_back"),
        )
        if again:
            Attempt.objects.filter(execution=started.execution_id, number=started.attempt).delete()
        else:
            close_attempt(started.execution_id, started.attempt, now, Reason.of("process_stopped"))
            slot = slot_from_row(running.olt_id, running.slot, running.owes)
            count_aborted_slots([slot], Reason.of("process_stopped"), now, config)
            log_ended_executions([started.execution_id])


def _may_wait_again(running: Execution) -> bool:
    if running.onu_id is None:
        return may_queue(running.node_id)
    return not Execution.objects.filter(onu=running.onu_id, state__in=QUEUED).exists()
