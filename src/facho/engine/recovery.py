"""Takes back what a process left that died, hung or was cut off: found by its lease, whoever it was."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet

from facho.apps import sql
from facho.apps.executions.models import QUEUED, Execution, State, Trigger
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.models import Poller, Worker
from facho.config import Config
from facho.engine.scheduler import runnable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    unstarted: int = 0
    abandoned: int = 0
    workers: int = 0

    def __bool__(self) -> bool:
        return bool(self.unstarted or self.abandoned or self.workers)


def recover(now: datetime, config: Config) -> Recovered:
    found = Recovered(workers=_forget_workers(now, config))
    # Nearly always there is nothing to do, which is seen without writing.
    if sql.rows(_ODD_LEASES, [sql.written(now), sql.written(_far(now, config))] * 2):
        found = replace(_recover(now, config), workers=found.workers)
    _end_unwanted(now, config)
    if found:
        log.warning(
            "recovered what a dead process left",
            extra={
                "action": "recovered",
                "unstarted": found.unstarted,
                "abandoned": found.abandoned,
                "workers": found.workers,
            },
        )
    return found


# Only these have a lease. Each half has an index of its own, for the table is long: SQLite knows the second
# one's condition only in these words.
_ODD_LEASES: Final = (
    "SELECT 1 FROM snmp_executions"
    " WHERE state IN ('PENDING', 'RUNNING') AND (lease_expires_at <= %s OR lease_expires_at > %s)"
    " UNION ALL SELECT 1 FROM snmp_executions"
    " WHERE NOT (lease_token = '') AND (lease_expires_at <= %s OR lease_expires_at > %s) LIMIT 1"
)


def _recover(now: datetime, config: Config) -> Recovered:
    _shorten_far_leases(now, config)
    found = Recovered(
        unstarted=_give_back_unstarted(now),
        abandoned=sum(_take_back(execution, now) for execution in _abandoned(now)),
    )
    _expired(now).exclude(state=State.RUNNING).exclude(lease_token="").update(
        lease_token="", lease_expires_at=None
    )
    return found


def _far(now: datetime, config: Config) -> datetime:
    """Nobody writes a lease that long."""
    return now + 2 * config.lease


def _expired(now: datetime) -> QuerySet[Execution]:
    return Execution.objects.filter(lease_expires_at__lte=now)


def _shorten_far_leases(now: datetime, config: Config) -> None:
    """A lease further ahead than its length was written before the clock was set back.

    Its holder may be alive, and renews it; so it is given one more length, not taken away.
    """
    Execution.objects.filter(lease_expires_at__gt=_far(now, config)).update(
        lease_expires_at=now + config.lease
    )


def _end_unwanted(now: datetime, config: Config) -> None:
    """What a person wanted to run by hand, and is not waited for any more: nobody else would start it."""
    unwanted = Execution.objects.filter(
        state=State.WAITING, node=None, not_before__lte=now - 2 * config.lease
    )
    if unwanted.exists():
        gone = "the process that asked for it disappeared"
        unwanted.update(state=State.ABORTED, ended_at=now, error=gone)


def give_time(now: datetime, ahead: timedelta, config: Config) -> None:
    """The clock was set forward: leases have run out whose holders still send, and renew them soon."""
    held = Execution.objects.filter(lease_expires_at__gt=now - ahead).update(
        lease_expires_at=now + config.lease
    )
    log.warning(
        "clock set forward",
        extra={"action": "clock_set_forward", "seconds": ahead.total_seconds(), "leases": held},
    )


def _give_back_unstarted(now: datetime) -> int:
    """Claimed for a poller that never began."""
    return _expired(now).filter(state=State.PENDING).update(state=State.WAITING, lease_expires_at=None)


def _abandoned(now: datetime) -> list[Execution]:
    return list(_expired(now).filter(state=State.RUNNING).select_related("node__job"))


def _take_back(execution: Execution, now: datetime) -> bool:
    """It waits again, at once: that the process died was not the OLT's fault. But not for ever."""
    attempts = execution.node.job.max_attempts if execution.node else 1
    error = f"the process that ran it disappeared ({execution.worker})"
    with transaction.atomic():
        lock_node(execution.node_id)
        again = execution.attempt < attempts and may_queue(execution.node_id)
        change = requeued(execution, now) if again else {"state": State.FAILED, "ended_at": now}
        taken = Execution.objects.filter(
            id=execution.id, state=State.RUNNING, lease_token=execution.lease_token, lease_expires_at__lte=now
        ).update(error=error, lease_token="", lease_expires_at=None, **change)
        if taken:
            close_attempt(execution.id, execution.attempt, now, error)
    return bool(taken)


def lock_node(node_id: int | None) -> None:
    """Whoever queues an execution of a node holds its row, so that two never do at once."""
    if node_id is not None:
        list(SnmpJobHost.objects.filter(id=node_id).select_for_update().values_list("id"))


def may_queue(node_id: int | None) -> bool:
    """Nobody switched the node off while it ran, nor asked for another execution of it, which waits."""
    if node_id is None or not runnable().filter(id=node_id).exists():
        return False
    return not Execution.objects.filter(node=node_id, state__in=QUEUED).exists()


def requeued(execution: Execution, not_before: datetime) -> dict[str, object]:
    trigger = Trigger.RUN_NOW if execution.trigger == Trigger.RUN_NOW else Trigger.RETRY
    return {"state": State.WAITING, "not_before": not_before, "trigger": trigger}


def close_attempt(execution_id: int, number: int, now: datetime, error: str) -> None:
    sql.change(_CLOSE_ATTEMPT, [sql.written(now), error, execution_id, number])


_CLOSE_ATTEMPT: Final = (
    "UPDATE execution_attempts SET ended_at = %s, error = %s WHERE execution_id = %s AND number = %s"
)


def _forget_workers(now: datetime, config: Config) -> int:
    gone = Worker.objects.filter(
        Q(seen_at__lt=now - config.worker_seen_within) | Q(seen_at__gt=now + config.worker_seen_within)
    )
    names = list(gone.values_list("name", flat=True))
    if names:
        Poller.objects.filter(worker__in=names).delete()
        gone.filter(name__in=names).delete()
    return len(names)
