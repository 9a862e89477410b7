"""Claims waiting executions for free pollers: one short transaction that orders and marks them PENDING.

Whoever claims hands the ids to its backend after the transaction. An id that gets lost on the way is taken
back when its reservation runs out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.executions.models import Execution, State
from facho.apps.maintenance.selectors import olts_closed_at
from facho.config import Config
from facho.core import queue
from facho.core.order import Waiting, choose
from facho.core.pool import ActiveExecution, FreePollers, WorkerSeen

# Any number that no other program uses in the same database.
_LOCK: Final = 0xFAC40


def claim_executions(now: datetime, config: Config, *, room: int | None = None) -> list[int]:
    """The ids of executions that are now PENDING, the first to start first.

    `room` is how many the caller itself can take, where it has no queue to share with others.
    """
    if (room is not None and room <= 0) or not sql.fetch_rows(_ANY_WAITS, [sql.db_time(now)]):
        return []
    with sql.write_transaction():
        _lock()
        seen = _look(now)
        free = FreePollers(seen.workers, seen.active, now, within=config.worker_seen_within)
        # What nobody takes must not keep others of its OLT waiting.
        waiting = (each for each in seen.waiting if free.serves(each.queue))
        most = free.total if room is None else min(free.total, room)
        not_now = seen.busy_olts | _left_alone(now, config)
        chosen = choose(waiting, not_now, most, now, take=free.take)
        ids = [each.execution_id for each in chosen]
        _reserve(ids, now + config.lease)
    return ids


def _reserve(ids: Sequence[int], until: datetime) -> None:
    if ids:
        places = ", ".join(["%s"] * len(ids))
        sql.execute(_RESERVE.format(places), [sql.db_time(until), *ids])


def claim_execution(execution_id: int, now: datetime, config: Config) -> bool:
    """For a person who waits in front of the screen and needs no poller. False while the OLT is busy."""
    with sql.write_transaction():
        _lock()
        olt = Execution.objects.filter(id=execution_id).values_list("olt", flat=True).first()
        if olt is None or olt in busy_olts(now) | _left_alone(now, config):
            return False
        claimed = sql.execute(_RESERVE.format("%s"), [sql.db_time(now + config.lease), execution_id])
    return claimed == 1


def _left_alone(now: datetime, config: Config) -> set[int]:
    """What waits for them is ended by the next step; nothing of it may begin before."""
    return olts_closed_at(now, config.time_zone)


def _lock() -> None:
    """One at a time: two that order at once would fill one poller twice. SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


@dataclass(frozen=True, slots=True)
class _Seen:
    """All that an order is made from, at one instant."""

    workers: list[WorkerSeen]
    active: list[ActiveExecution]
    busy_olts: set[int]
    waiting: list[Waiting]


def _look(now: datetime) -> _Seen:
    """In one statement: between two, and at every row, this thread waits for its turn among busy pollers."""
    statement = _LOOK[connection.vendor]
    ((workers, active, busy, waiting),) = sql.fetch_rows(statement, [sql.db_time(now), sql.db_time(now)])
    return _Seen(
        [_worker(*row) for row in json.loads(workers)],
        [_active(*row) for row in json.loads(active)],
        set(json.loads(busy)),
        [_waiting(*row) for row in json.loads(waiting)],
    )


def busy_olts(now: datetime) -> set[int]:
    """OLTs with an execution under way, or with a holder who may not know yet that it was aborted."""
    return {olt for (olt,) in sql.fetch_rows(_BUSY, [sql.db_time(now)])}


def _worker(name: str, pollers: int, seen_at: str, queues: str) -> WorkerSeen:
    return WorkerSeen(name, pollers, sql.parse_time(seen_at), queue.decode_queues(queues))


def _active(state: str, worker: str, run_now: bool, attempt: int) -> ActiveExecution:
    return ActiveExecution(_queue(run_now, attempt), worker if state == State.RUNNING else None)


def _waiting(
    execution: int,
    olt: int,
    slot: str,
    not_before: str,
    run_now: bool,
    attempt: int,
    interval_s: int,
    priority: int,
) -> Waiting:
    since = (
        sql.parse_time(slot) if slot == not_before else max(sql.parse_time(slot), sql.parse_time(not_before))
    )
    interval = timedelta(seconds=interval_s)
    return Waiting(execution, olt, since, interval, priority, bool(run_now), _queue(run_now, attempt))


def _queue(run_now: bool, attempt: int) -> str:
    return queue.queue_of(run_now=bool(run_now), attempts=attempt)


# What a person collects by hand has no node and no ONU; it is claimed by that person's own process.
_FOR_POLLERS: Final = "(e.node_id IS NOT NULL OR e.onu_id IS NOT NULL)"
_WAITS: Final = f"e.state = 'WAITING' AND e.not_before <= %s AND {_FOR_POLLERS}"
# One ONU that is read is no task, and goes first anyway: any number does.
_INTERVAL_S: Final = 60
_PRIORITY: Final = 100
_ANY_WAITS: Final = f"SELECT 1 FROM snmp_executions e WHERE {_WAITS} LIMIT 1"  # noqa: S608
# Two looks, each with an index of its own: SQLite knows its condition only in these words.
_BUSY: Final = (
    "SELECT olt_id FROM snmp_executions WHERE state IN ('PENDING', 'RUNNING')"
    " UNION SELECT olt_id FROM snmp_executions WHERE NOT (lease_token = '') AND lease_expires_at > %s"
)
# And those that a person waits for in front of the screen: who asks by hand goes before all that is planned.
_TAKEN: Final = (
    _BUSY + " UNION SELECT olt_id FROM snmp_executions"  # noqa: S608
    " WHERE state = 'WAITING' AND node_id IS NULL AND onu_id IS NULL"
)
# Each part is one value, an array.
_PARTS: Final = (
    "SELECT COALESCE((SELECT {array}({row}(name, pollers, seen_at, queues)) FROM workers), '[]'),"  # noqa: S608
    " COALESCE((SELECT {array}({row}(state, worker, run_now, attempt)) FROM snmp_executions"
    " WHERE state IN ('PENDING', 'RUNNING')), '[]'),"
    f" COALESCE((SELECT {{array}}(olt_id) FROM ({_TAKEN}) b), '[]'),"
    " COALESCE((SELECT {array}({row}(e.id, e.olt_id, e.slot, e.not_before, e.run_now, e.attempt,"
    f" COALESCE(n.interval_s, j.interval_s, {_INTERVAL_S}), COALESCE(n.priority, j.priority, {_PRIORITY})))"
    " FROM snmp_executions e"
    " LEFT JOIN snmp_job_hosts n ON n.id = e.node_id LEFT JOIN snmp_jobs j ON j.id = n.job_id"
    f" WHERE {_WAITS}), '[]')"
)
_LOOK: Final = {
    "sqlite": _PARTS.format(array="json_group_array", row="json_array"),
    "postgresql": _PARTS.format(array="jsonb_agg", row="jsonb_build_array"),
}
_RESERVE: Final = (
    "UPDATE snmp_executions SET state = 'PENDING', lease_expires_at = %s"
    " WHERE state = 'WAITING' AND id IN ({})"
)
