"""What follows a failed attempt: another one, or none, and the suspension of what failed too often."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from facho.apps.executions.locks import lock_olt_and_node
from facho.apps.executions.models import QUEUED, Execution, State, Trigger
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import enabled_nodes
from facho.config import Config
from facho.core.retry import Exhausted, RetryAt, after_failure, probe_after
from facho.engine.record.suspension import suspend_node, suspend_olt


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """Of an execution whose row the caller holds."""

    execution_id: int
    olt_id: int
    node_id: int | None
    number: int
    started_at: datetime
    error: str
    # Nothing at all came from the OLT.
    silent: bool = False
    # Its process died, hung or was cut off: whether the attempt is to blame, nobody knows.
    lost: bool = False


def next_attempt(failed: FailedAttempt, now: datetime, *, delay: timedelta | None = None) -> dict[str, Any]:
    """What to write to the execution: it waits again if an attempt is left, with its OLT free meanwhile.

    `delay` is that of its job, if nothing else is said.
    """
    ended = {"state": State.FAILED, "ended_at": now}
    if failed.node_id is None:
        return ended
    lock_olt_and_node(failed.olt_id, failed.node_id)
    node = SnmpJobHost.objects.select_related("job", "olt").get(id=failed.node_id)
    wait = timedelta(seconds=node.job.retry_delay_s) if delay is None else delay
    follows = after_failure(failed.number, node.job.max_attempts, wait, now)
    suspended = node.is_suspended or node.olt.is_suspended
    if isinstance(follows, Exhausted) or suspended or not may_queue(node.id):
        return ended
    assert isinstance(follows, RetryAt)
    by_hand = Execution.objects.filter(id=failed.execution_id, trigger=Trigger.RUN_NOW).exists()
    trigger = Trigger.RUN_NOW if by_hand else Trigger.RETRY
    return {"state": State.WAITING, "not_before": follows.not_before, "trigger": trigger}


def may_queue(node_id: int | None) -> bool:
    """Nobody switched the node off while it ran, nor asked for another execution of it, which waits."""
    if node_id is None or not enabled_nodes().filter(id=node_id).exists():
        return False
    return not Execution.objects.filter(node=node_id, state__in=QUEUED).exists()


def may_read(onu_id: int) -> bool:
    """Nobody asked for another reading of the ONU, which waits."""
    return not Execution.objects.filter(onu=onu_id, state__in=QUEUED).exists()


def count_failure(failed: FailedAttempt, state: State, now: datetime, config: Config) -> None:
    """`state` is that of the execution after the attempt: it may wait for the next one."""
    if failed.node_id is None:
        return
    node = SnmpJobHost.objects.select_related("job", "olt").get(id=failed.node_id)
    node.failures_in_a_row += 1
    node.last_run_at = failed.started_at
    node.save(update_fields=["failures_in_a_row", "last_run_at"])
    exhausted = state is State.FAILED and failed.number >= node.job.max_attempts
    if not exhausted or node.is_suspended or node.olt.is_suspended or _may_be_innocent(failed, node):
        return
    if failed.silent:
        probe_in = probe_after(node.olt.failed_probes, waits=config.probe_after)
        suspend_olt(node.olt, failed.error, now, probe_in)
    else:
        suspend_node(node, failed.error, now, probe_after(node.failed_probes, waits=config.probe_after))


def _may_be_innocent(failed: FailedAttempt, node: SnmpJobHost) -> bool:
    """A power cut in its only attempt is no reason to suspend it; if it is lost again, that is one."""
    return failed.lost and node.failures_in_a_row < 2
