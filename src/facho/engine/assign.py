"""Claims waiting executions for free pollers: one short transaction that orders and marks them PENDING.

Whoever claims hands the ids to its backend after the transaction. An id that gets lost on the way is taken
back when its reservation runs out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from facho.apps import sql
from facho.apps.executions.models import Execution
from facho.config import Config
from facho.core.order import Waiting, choose
from facho.core.pool import WorkerSeen, free_slots

# Any number that no other program uses in the same database.
_LOCK: Final = 0xFAC40


def claim(now: datetime, config: Config, *, room: int | None = None) -> list[int]:
    """The ids of executions that are now PENDING, the first to start first.

    `room` is how many the caller itself can take, where it has no queue to share with others.
    """
    if (room is not None and room <= 0) or not sql.rows(_ANY_WAITS, [sql.written(now)]):
        return []
    with sql.writing():
        _lock()
        free = free_slots(_workers(), _active(), now, within=config.worker_seen_within)
        chosen = choose(_waiting(now), busy_olts(now), free if room is None else min(free, room), now)
        ids = [each.execution_id for each in chosen]
        _reserve(ids, now + config.lease)
    return ids


def _reserve(ids: Sequence[int], until: datetime) -> None:
    if ids:
        places = ", ".join(["%s"] * len(ids))
        sql.change(_RESERVE.format(places), [sql.written(until), *ids])


def claim_one(execution_id: int, now: datetime, config: Config) -> bool:
    """For a person who waits in front of the screen and needs no poller. False while the OLT is busy."""
    with sql.writing():
        _lock()
        olt = Execution.objects.filter(id=execution_id).values_list("olt", flat=True).first()
        if olt is None or olt in busy_olts(now):
            return False
        claimed = sql.change(_RESERVE.format("%s"), [sql.written(now + config.lease), execution_id])
    return claimed == 1


def _lock() -> None:
    """One at a time: two that order at once would fill one poller twice. SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _workers() -> list[WorkerSeen]:
    found = sql.rows("SELECT name, pollers, seen_at FROM workers", [])
    return [WorkerSeen(name, pollers, sql.read(seen_at)) for name, pollers, seen_at in found]


def _active() -> int:
    ((count,),) = sql.rows(_ACTIVE, [])
    return int(count)


def busy_olts(now: datetime) -> set[int]:
    """OLTs with an execution under way, or with a holder who may not know yet that it was aborted."""
    return {olt for (olt,) in sql.rows(_BUSY, [sql.written(now)])}


def _waiting(now: datetime) -> Iterator[Waiting]:
    for execution, olt, slot, not_before, run_now, interval_s, priority in sql.rows(
        _WAITING, [sql.written(now)]
    ):
        since = max(slot, not_before)
        yield Waiting(execution, olt, sql.read(since), timedelta(seconds=interval_s), priority, bool(run_now))


# What a person collects by hand has no node; it is claimed by that person's own process.
_WAITS: Final = "e.state = 'WAITING' AND e.not_before <= %s AND e.node_id IS NOT NULL"
_ANY_WAITS: Final = f"SELECT 1 FROM snmp_executions e WHERE {_WAITS} LIMIT 1"  # noqa: S608
_WAITING: Final = (
    "SELECT e.id, e.olt_id, e.slot, e.not_before, e.run_now,"  # noqa: S608
    " COALESCE(n.interval_s, j.interval_s), COALESCE(n.priority, j.priority)"
    " FROM snmp_executions e JOIN snmp_job_hosts n ON n.id = e.node_id JOIN snmp_jobs j ON j.id = n.job_id"
    f" WHERE {_WAITS}"
)
_ACTIVE: Final = "SELECT COUNT(*) FROM snmp_executions WHERE state IN ('PENDING', 'RUNNING')"
# Two looks, each with an index of its own: SQLite knows its condition only in these words.
_BUSY: Final = (
    "SELECT olt_id FROM snmp_executions WHERE state IN ('PENDING', 'RUNNING')"
    " UNION SELECT olt_id FROM snmp_executions WHERE NOT (lease_token = '') AND lease_expires_at > %s"
)
_RESERVE: Final = (
    "UPDATE snmp_executions SET state = 'PENDING', lease_expires_at = %s"
    " WHERE state = 'WAITING' AND id IN ({})"
)
