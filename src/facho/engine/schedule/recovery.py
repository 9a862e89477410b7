"""Recovers executions whose process died, hung or was cut off: their leases have expired."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db.models import QuerySet

from facho.apps.db import sql
from facho.apps.executions.locks import lock_running
from facho.apps.executions.models import ACTIVE, Execution, State
from facho.apps.executions.store import return_to_queue
from facho.apps.zabbix_pollers.store import remove_lost_workers
from facho.config import Config
from facho.core.reasons import Reason
from facho.engine.events.coordinator_log import log_ended_executions
from facho.engine.events.stream import publish
from facho.engine.events.types import ClockChanged, WorkRecovered
from facho.engine.record.no_collection import record_lost


@dataclass(frozen=True, slots=True)
class Recovered:
    unstarted: int = 0
    abandoned: int = 0
    workers: int = 0

    def __bool__(self) -> bool:
        return bool(self.unstarted or self.abandoned or self.workers)


def recover(now: datetime, config: Config) -> Recovered:
    found = Recovered(workers=remove_lost_workers(now, within=config.worker_seen_within))
    # Nearly always there is nothing to do, which is seen without writing.
    if sql.fetch_rows(ODD_LEASES, [sql.db_time(now), sql.db_time(latest_expiry(now, config))] * 2):
        found = replace(_recover(now, config), workers=found.workers)
    _abort_unwanted(now, config)
    if found:
        event = WorkRecovered(unstarted=found.unstarted, abandoned=found.abandoned, workers=found.workers)
        publish(event, now)
    return found


# Only these have a lease. Each half has an index of its own, for the table is long: SQLite knows the second
# one's condition only in these words.
ODD_LEASES: Final = (
    "SELECT 1 FROM snmp_executions"
    " WHERE state IN ('PENDING', 'RUNNING') AND (lease_expires_at <= %s OR lease_expires_at > %s)"
    " UNION ALL SELECT 1 FROM snmp_executions"
    " WHERE NOT (lease_token = '') AND (lease_expires_at <= %s OR lease_expires_at > %s) LIMIT 1"
)


def _recover(now: datetime, config: Config) -> Recovered:
    _shorten_far_leases(now, config)
    found = Recovered(
        unstarted=return_to_queue(lease_expires_at__lte=now),
        abandoned=_take_back_abandoned(now, config),
    )
    _expired(now).exclude(state=State.RUNNING).exclude(lease_token="").update(
        lease_token="", lease_expires_at=None
    )
    return found


def latest_expiry(now: datetime, config: Config) -> datetime:
    """Return a time after every lease that is written now."""
    return now + 2 * config.lease


def _expired(now: datetime) -> QuerySet[Execution]:
    return Execution.objects.filter(lease_expires_at__lte=now)


def _leased() -> tuple[QuerySet[Execution], QuerySet[Execution]]:
    """Return the executions under way, and those that were ended while a process held them.

    Nothing else has a lease. Each of the two has an index of its own; the expiry has none.
    """
    ended = Execution.objects.exclude(state__in=ACTIVE).exclude(lease_token="")
    return Execution.objects.filter(state__in=ACTIVE), ended


def _shorten_far_leases(now: datetime, config: Config) -> None:
    """A lease further ahead than its length was written before the clock was set back.

    Its holder may be alive, and renews it; so it is given one more length, not taken away.
    """
    for leased in _leased():
        leased.filter(lease_expires_at__gt=latest_expiry(now, config)).update(
            lease_expires_at=now + config.lease
        )


def _abort_unwanted(now: datetime, config: Config) -> None:
    """Abort manual executions that no process waits for any more: nobody else would start them."""
    unwanted = Execution.objects.filter(
        state=State.WAITING, node=None, onu=None, not_before__lte=now - 2 * config.lease
    )
    if ids := list(unwanted.values_list("id", flat=True)):
        gone = Reason.of("asking_process_gone")
        unwanted.filter(id__in=ids).update(state=State.ABORTED, ended_at=now, error=gone)
        log_ended_executions(ids)


def extend_leases_after_clock_jump(now: datetime, ahead: timedelta, config: Config) -> None:
    """Extend the leases that expired only because the clock was set forward: their holders still send."""
    for leased in _leased():
        leased.filter(lease_expires_at__gt=now - ahead).update(lease_expires_at=now + config.lease)
    publish(ClockChanged(seconds=ahead.total_seconds()), now)


def _take_back_abandoned(now: datetime, config: Config) -> int:
    abandoned = _expired(now).filter(state=State.RUNNING).order_by("id").values_list("id", flat=True)
    taken = 0
    for execution_id in list(abandoned):
        taken += _take_back(execution_id, now, config, taken)
    return taken


def _take_back(execution_id: int, now: datetime, config: Config, before: int) -> bool:
    """Queue the execution again, and count the lost attempt as a failed one.

    `before` is how many of those lost together with it were taken back before it.
    """
    with sql.write_transaction():
        # Whoever has locked the row is storing the results, however long that takes, or taking it back.
        execution = lock_running(execution_id, skip_locked=True, lease_expires_at__lte=now)
        if execution is None:
            return False
        record_lost(execution, now, config, retry_delay=_delay(execution, before, config))
    return True


def _delay(execution: Execution, before: int, config: Config) -> timedelta:
    """Return no delay the first time. Later, one of them may kill its process and lose the others each time.

    So they run one after the other then: the others have ended when that one runs again.
    """
    return timedelta() if execution.attempt < 2 else before * config.lease
