"""Claims waiting executions for free pollers: one short transaction that orders and marks them PENDING.

The caller submits the ids to its backend after the transaction. An execution whose id gets lost on the way is
queued again when its reservation expires.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from typing import Final

from facho.apps.db import sql
from facho.apps.db.database import AdvisoryLock, is_embedded, lock_until_commit
from facho.apps.executions.models import Execution, State
from facho.apps.maintenance.selectors import olts_closed_at
from facho.config import Config
from facho.core import pool
from facho.core.delay import DELAYED_AFTER
from facho.core.pool import (
    ActiveExecution,
    FreePollers,
    Waiting,
    WorkerSeen,
    across_olts,
    choose,
    is_settled,
)

# So many of the queue are read: thousands may wait, and every execution that ends has the next claimed. More
# only if the first do not settle who is next.
_ALL: Final = 2**31 - 1
_FIRST: Final = (32, 512, _ALL)
_one_claim: Final = threading.Lock()


def claim_executions(now: datetime | None, config: Config, *, at_most: int | None = None) -> list[int]:
    """Return the ids of the executions that `claim_with_queues` claims."""
    return [each.execution_id for each in claim_with_queues(now, config, at_most=at_most)]


def claim_with_queues(now: datetime | None, config: Config, *, at_most: int | None = None) -> list[Waiting]:
    """Return executions that are now PENDING, in the order in which they should start.

    For no time, the server's is taken. `at_most` is how many the caller itself can take, where it has no
    queue to share with others.
    """
    if at_most is not None and at_most <= 0:
        return []
    if is_embedded():
        assert now is not None
        return _claim_embedded(now, config, at_most)
    rows = sql.fetch_prepared(_ANY_WAITS, [now])
    if not rows:
        return []
    now = sql.parse_time(rows[0][0])
    with sql.write_transaction():
        # Two that order at once would fill one poller twice.
        lock_until_commit(AdvisoryLock.CLAIM, in_index_order=True)
        chosen = _choose(now, config, at_most)
        if chosen.executions:
            sql.execute_prepared(_reserve_statement(), [now + config.lease, chosen.ids])
    return chosen.executions


def _claim_embedded(now: datetime, config: Config, at_most: int | None) -> list[Waiting]:
    """Choose before the transaction, so that nobody waits for it.

    What another process has claimed meanwhile is left out, and waits for the next claim. The threads of one
    process take turns instead.
    """
    with _one_claim:
        chosen = _choose(now, config, at_most)
        if not chosen.executions:
            return []
        values = [sql.db_time(now + config.lease), sql.db_list(chosen.ids), chosen.active, sql.db_time(now)]
        with sql.write_transaction():
            claimed = {row[0] for row in sql.fetch_prepared(_reserve_statement() + _UNLESS_CLAIMED, values)}
    return [each for each in chosen.executions if each.execution_id in claimed]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Executions to claim, and how many were under way when they were chosen."""

    executions: list[Waiting]
    active: int

    @property
    def ids(self) -> list[int]:
        return [each.execution_id for each in self.executions]


def _choose(now: datetime, config: Config, at_most: int | None) -> _Chosen:
    for first in _FIRST:
        chosen = _choose_among(first, now, config, at_most)
        if chosen is not None:
            return chosen
    return _Chosen([], 0)


def _choose_among(first: int, now: datetime, config: Config, at_most: int | None) -> _Chosen | None:
    """Choose among the OLTs of the first so many of the queue; None if others may have to go before them."""
    queue = _read_queue(now, first)
    free = FreePollers(queue.workers, queue.active, now, within=config.worker_seen_within)
    # What no worker takes must not keep others of its OLT waiting.
    waiting = [each for each in queue.waiting if free.serves(each.queue)]
    most = free.total if at_most is None else min(free.total, at_most)
    closed = _olts_left_alone(now, config) if queue.has_maintenance else set()
    chosen = choose(waiting, queue.busy_olts | closed, most, now, take=free.take)
    if most and queue.last_read is not None and not is_settled(chosen, most, waiting, queue.last_read, now):
        return None
    return _Chosen(chosen, len(queue.active))


@cache
def _reserve_statement() -> str:
    return _RESERVE + sql.is_one_of("id")


def claim_execution(execution_id: int, now: datetime, config: Config) -> bool:
    """Claim one execution for a person who runs it without a poller. Return False while the OLT is busy."""
    with sql.write_transaction():
        lock_until_commit(AdvisoryLock.CLAIM)
        olt = Execution.objects.filter(id=execution_id).values_list("olt", flat=True).first()
        if olt is None or olt in busy_olts(now) | _olts_left_alone(now, config):
            return False
        claimed = sql.execute_prepared(
            _reserve_statement(), [sql.db_time(now + config.lease), sql.db_list([execution_id])]
        )
    return claimed == 1


def _olts_left_alone(now: datetime, config: Config) -> set[int]:
    """Return the OLTs under maintenance: the next step ends what waits for them, and none of it may begin."""
    return olts_closed_at(now, config.time_zone)


@dataclass(frozen=True, slots=True)
class _Queue:
    """Everything that the order is made from, at one instant."""

    workers: list[WorkerSeen]
    active: list[ActiveExecution]
    busy_olts: set[int]
    # All that waits for the OLTs of the first of the queue, and all that a person asked for.
    waiting: list[Waiting]
    # The last of the first of the queue: what was not read comes after it. None if all was read.
    last_read: Waiting | None
    # Some OLTs may be under maintenance.
    has_maintenance: bool


def _read_queue(now: datetime, first: int) -> _Queue:
    """Read all in one statement: between two, and at every row, this thread waits for busy pollers."""
    moment, delayed = sql.db_time(now), sql.db_time(now - DELAYED_AFTER)
    values = [moment, delayed, delayed, *[moment] * 5]
    found = sql.fetch_prepared(_queue_statement(first), values)
    ((workers, active, busy, asked, of_olts, ids, maintenance),) = found
    rows = chain(json.loads(asked), chain.from_iterable(json.loads(of_olts)))
    waiting = [_waiting(*row) for row in rows]
    read = set(json.loads(ids))
    last = None
    if len(read) >= first:
        last = max((each for each in waiting if each.execution_id in read), key=lambda e: across_olts(e, now))
    return _Queue(
        [_worker(*row) for row in json.loads(workers)],
        [_active(*row) for row in json.loads(active)],
        set(json.loads(busy)),
        waiting,
        last,
        bool(maintenance),
    )


@cache
def _queue_statement(first: int) -> str:
    """Return a text with the number in it: the plan of a server depends on it."""
    indexes = {name: sql.indexed_by(f"snmp_executions_{name}") for name in _INDEXES}
    return _QUEUE.format(first=first, **indexes, **sql.json_functions())


def busy_olts(now: datetime) -> set[int]:
    """Return the OLTs with an execution under way, or an aborted one whose holder may not know it yet."""
    return {olt for (olt,) in sql.fetch_prepared(_BUSY, [sql.db_time(now)])}


def _worker(name: str, pollers: int, seen_at: str, queues: str) -> WorkerSeen:
    return WorkerSeen(name, pollers, sql.parse_time(seen_at), pool.decode_queues(queues))


def _active(state: str, worker: str, run_now: bool, attempt: int) -> ActiveExecution:
    return ActiveExecution(_queue_name(run_now, attempt), worker if state == State.RUNNING else None)


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
    return Waiting(execution, olt, since, interval, priority, bool(run_now), _queue_name(run_now, attempt))


def _queue_name(run_now: bool, attempt: int) -> str:
    return pool.queue_of(run_now=bool(run_now), attempts=attempt)


# A manual execution has no node and no ONU; it is claimed by that person's own process.
_FOR_POLLERS: Final = "(e.node_id IS NOT NULL OR e.onu_id IS NOT NULL)"
_WAITS: Final = f"e.state = 'WAITING' AND e.not_before <= %s AND {_FOR_POLLERS}"
# The reading of one ONU has no interval and goes first anyway: any number does.
_INTERVAL_S: Final = 60
# The server's time, if something waits: nearly always nothing does, which is seen without a lock.
_ANY_WAITS: Final = (
    "SELECT given.now FROM (SELECT COALESCE(%s::timestamptz, clock_timestamp()) AS now) given"  # noqa: S608
    f" WHERE EXISTS (SELECT 1 FROM snmp_executions e WHERE {_WAITS.replace('%s', 'given.now')})"
)
# Two SELECTs, each with an index of its own: SQLite recognises the condition of the index only like this.
_BUSY: Final = (
    "SELECT olt_id FROM snmp_executions WHERE state IN ('PENDING', 'RUNNING')"
    " UNION SELECT olt_id FROM snmp_executions WHERE NOT (lease_token = '') AND lease_expires_at > %s"
)
# And those with a manual execution that waits: it goes before all that is planned. The two conditions on the
# state are those of an index.
_TAKEN: Final = (
    _BUSY + " UNION SELECT olt_id FROM snmp_executions {one_queued_per_node}"  # noqa: S608
    " WHERE state IN ('WAITING', 'PENDING') AND state = 'WAITING' AND node_id IS NULL AND onu_id IS NULL"
)
_INTERVAL: Final = f"COALESCE(n.interval_s, j.interval_s, {_INTERVAL_S})"
_NODE_OF: Final = "LEFT JOIN snmp_job_hosts n ON n.id = e.node_id LEFT JOIN snmp_jobs j ON j.id = n.job_id"
_INDEXES: Final = ("delayed", "prompt", "run_now", "olt_waiting", "one_queued_per_node")
_ORDERED: Final = (
    f"SELECT e.id, e.olt_id FROM snmp_executions e {{}} WHERE e.state = 'WAITING' AND {_FOR_POLLERS}"  # noqa: S608
    " AND NOT e.run_now AND e.olt_id NOT IN (SELECT olt_id FROM busy)"
)
_ROW: Final = f"{{row}}(e.id, e.olt_id, e.slot, e.not_before, e.run_now, e.attempt, {_INTERVAL}, e.priority)"
# Each column but the last is an array. `delayed` and `prompt` are the first of the queue in the order of
# `across_olts`, each from an index in its order: the delayed ones, and as many others as are missing then.
# For each OLT of them come all that wait for it, because what an OLT runs next depends on all of them: in a
# subquery of its own, since a server believes that hardly anything waits, and would join by reading it all.
_QUEUE: Final = (
    f"WITH busy AS ({_TAKEN}),"  # noqa: S608
    f" delayed AS ({_ORDERED.format('{delayed}')} AND e.not_before < %s"
    " ORDER BY e.not_before, e.priority DESC, e.id LIMIT {first}),"
    f" prompt AS (SELECT * FROM ({_ORDERED.format('{prompt}')} AND e.not_before >= %s AND e.not_before <= %s"
    " ORDER BY e.priority DESC, e.not_before, e.id LIMIT {first}) others"
    " LIMIT ({first} - (SELECT COUNT(*) FROM delayed))),"
    " first AS (SELECT id, olt_id FROM delayed UNION ALL SELECT id, olt_id FROM prompt),"
    " asked AS MATERIALIZED (SELECT * FROM snmp_executions {run_now} WHERE state = 'WAITING' AND run_now)"
    " SELECT COALESCE((SELECT {array}({row}(name, pollers, seen_at, queues)) FROM workers), '[]'),"
    " COALESCE((SELECT {array}({row}(state, worker, run_now, attempt)) FROM snmp_executions"
    " WHERE state IN ('PENDING', 'RUNNING')), '[]'),"
    " COALESCE((SELECT {array}(olt_id) FROM busy), '[]'),"
    f" COALESCE((SELECT {{array}}({_ROW}) FROM asked e {_NODE_OF}"
    f" WHERE e.not_before <= %s AND {_FOR_POLLERS}), '[]'),"
    f" COALESCE((SELECT {{array}}({{nested}}((SELECT {{array}}({_ROW})"
    f" FROM snmp_executions e {{olt_waiting}} {_NODE_OF}"
    f" WHERE {_WAITS} AND NOT e.run_now AND e.olt_id = theirs.olt_id)))"
    " FROM (SELECT DISTINCT olt_id FROM first) theirs), '[]'),"
    " COALESCE((SELECT {array}(id) FROM first), '[]'),"
    " EXISTS (SELECT 1 FROM maintenance_windows WHERE enabled"
    " AND (weekdays <> '' OR (starts_at <= %s AND ends_at > %s)))"
)
_RESERVE: Final = (
    "UPDATE snmp_executions SET state = 'PENDING', lease_expires_at = %s WHERE state = 'WAITING' AND "
)
# More are under way than when these were chosen: another process has claimed some, perhaps for the same OLTs.
_UNLESS_CLAIMED: Final = (
    " AND (SELECT COUNT(*) FROM snmp_executions WHERE state IN ('PENDING', 'RUNNING')) <= %s"  # noqa: S608
    f" AND olt_id NOT IN ({_BUSY}) RETURNING id"
)
