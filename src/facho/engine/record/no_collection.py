"""Ends attempts that leave no collection: the OLT could not be asked, a person asked it by hand, or the
process stops or is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from facho.apps.db import sql
from facho.apps.executions.locks import lock_node, lock_running
from facho.apps.executions.models import QUEUED, Attempt, Execution, State, Trigger
from facho.apps.executions.store import close_attempt
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.execution_end import AttemptEnd, EndState, OltReachability, end_failed_attempt, judge_olt
from facho.core.reasons import Reason
from facho.engine.collect.part_results import PartResult, PartState
from facho.engine.coordinate.quotas import Slot, count_aborted_slots, count_failed_slot, slot_from_row
from facho.engine.events.coordinator_log import log_ended_executions
from facho.engine.process.leases import StartedExecution
from facho.engine.record.execution_row import (
    LockedNode,
    check_lease,
    end_attempt,
    lock_failed_node,
    may_queue,
    write_failed_node,
    write_manual_execution,
)
from facho.engine.record.olt_state import update_reachability
from facho.masking import mask_secrets


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A running attempt that fails. The row of its execution is locked."""

    execution_id: int
    number: int
    started_at: datetime
    olt_id: int
    slot: Slot
    # A person asked for the execution.
    is_run_now: bool
    # It reads one ONU, and is no collection of the OLT.
    is_onu_read: bool


def record_failure(started: StartedExecution, error: Reason, now: datetime | None, config: Config) -> State:
    """Store that the OLT could not be asked: a job without columns, or a bug. Raises LeaseLost."""
    with sql.write_transaction():
        before = check_lease(started, now)
        now = before.now
        attempt = _Attempt(
            started.execution_id,
            started.attempt,
            started.started_at,
            started.olt_id,
            before.slot,
            before.is_run_now,
            before.is_onu_read,
        )
        node = lock_failed_node(started.olt_id, started.node_id, started.attempt)
        known = node.before if node else None
        end = end_failed_attempt(started.attempt, known, now, probe_waits=config.probe_after)
        _fail(attempt, node, end, error.with_texts(mask_secrets), now, config, olt=before.olt)
    return State(end.state.value)


def record_lost(running: Execution, now: datetime, config: Config, *, retry_delay: timedelta) -> None:
    """Store that the process of a running execution is gone: its attempt failed.

    In the transaction of the caller, who has locked the execution.
    """
    attempt = _Attempt(
        running.id,
        running.attempt,
        running.started_at or now,
        running.olt_id,
        slot_from_row(running.olt_id, running.slot, running.owes),
        running.trigger == Trigger.RUN_NOW,
        running.onu_id is not None,
    )
    node = lock_failed_node(running.olt_id, running.node_id, running.attempt, retry_delay=retry_delay)
    known = node.before if node else None
    end = end_failed_attempt(running.attempt, known, now, lost=True, probe_waits=config.probe_after)
    _fail(attempt, node, end, Reason.of("running_process_gone", worker=running.worker), now, config)


def _fail(
    attempt: _Attempt,
    node: LockedNode | None,
    end: AttemptEnd,
    error: Reason,
    now: datetime,
    config: Config,
    *,
    olt: OltReachability | None = None,
) -> None:
    """`olt` is read if it is needed and not given."""
    end_attempt(
        attempt.execution_id,
        attempt.number,
        attempt.started_at,
        end,
        error,
        now,
        is_run_now=attempt.is_run_now,
    )
    write_failed_node(node, end, attempt.started_at, error, now, config)
    if end.state is not EndState.FAILED:
        return
    count_failed_slot(attempt.slot, error, now, config)
    if not attempt.is_onu_read:
        before = olt or _read_olt(attempt.olt_id)
        limit = config.emergency_failures
        after = judge_olt(before, end.state, None, is_collection=True, emergency_failures=limit)
        update_reachability(attempt.olt_id, before, after, now)


def _read_olt(olt_id: int) -> OltReachability:
    row = Olt.objects.values_list("unreachable_since", "failed_in_a_row").get(id=olt_id)
    return OltReachability(*row)


def record_by_hand(started: StartedExecution, part: PartResult, now: datetime | None) -> None:
    """Store that a person asked by hand. The answers went to that person. Raises LeaseLost."""
    with sql.write_transaction():
        now = check_lease(started, now).now
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
