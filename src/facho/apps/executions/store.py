"""Writes of executions and their attempts that several parts of the engine share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q, Sum

from facho.apps.db import sql
from facho.apps.db.database import is_embedded
from facho.apps.executions.models import Execution, ExecutionTotals, State
from facho.core.reasons import Reason, encode

_CLOSE_ATTEMPT: Final = (
    "UPDATE execution_attempts SET ended_at = %s, error = %s WHERE execution_id = %s AND number = %s"
)


def close_attempt(execution_id: int, number: int, now: datetime, error: Reason) -> None:
    sql.execute_prepared(_CLOSE_ATTEMPT, [sql.db_time(now), encode(error), execution_id, number])


def return_to_queue(**where: object) -> int:
    """PENDING -> WAITING, for claimed executions that nobody is going to start. Return how many."""
    pending = Execution.objects.filter(state=State.PENDING, **where)
    return pending.update(state=State.WAITING, lease_expires_at=None)


def set_priorities(olt_ids: Sequence[int]) -> None:
    """Give the open executions of these OLTs the priorities that their nodes have now."""
    sql.execute_prepared(_SET_PRIORITIES + sql.is_one_of("olt_id"), [sql.db_list(olt_ids)])


_PRIORITY_OF_NODE: Final = (
    "(SELECT COALESCE(n.priority, j.priority) FROM snmp_job_hosts n JOIN snmp_jobs j ON j.id = n.job_id"
    " WHERE n.id = snmp_executions.node_id)"
)
_SET_PRIORITIES: Final = (
    f"UPDATE snmp_executions SET priority = {_PRIORITY_OF_NODE}"  # noqa: S608
    " WHERE state IN ('WAITING', 'PENDING', 'RUNNING') AND node_id IS NOT NULL"
    f" AND priority <> {_PRIORITY_OF_NODE} AND "
)


# An OLT has one execution under way at a time, and its row is locked while an attempt is ended: nobody else
# adds to the same totals meanwhile.
# The upper bounds of the classes of durations, in seconds.
WITHIN: Final = (1, 3, 10, 30, 60, 120, 300, 600, 1800)
_LOAD: Final = ("requests", "timeouts", "varbinds", "bytes_sent", "bytes_received")
_ENDED: Final = (State.SUCCESS, State.FAILED)
# The kind of readings of one ONU: they say nothing about the OLT's collections.
ONE_ONU: Final = "onu"


@dataclass(frozen=True, slots=True)
class AttemptReport:
    """What the row of an execution keeps of an attempt. What is not given stays as it was."""

    parts: Sequence[Mapping[str, Any]] | None = None
    counts: Mapping[str, int] | None = None
    load: Mapping[str, float] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """The end of an attempt. `state` is that of the execution afterwards: it may wait for another attempt."""

    execution_id: int
    number: int
    state: State
    error: Reason
    at: datetime
    seconds: float
    report: AttemptReport = AttemptReport()


def write_attempt_end(
    end: EndedAttempt, *, retry_at: datetime | None = None, trigger: str | None = None
) -> None:
    """Release the execution, close its attempt and add it to the totals.

    `retry_at` and `trigger` are of an execution that waits again. A server does it all in one statement: none
    of the rows belongs to anybody else while the execution's is locked.
    """
    moment, error = sql.db_time(end.at), encode(end.error)
    released = [
        end.state.value,
        error,
        *map(_json, (end.report.parts, end.report.counts, end.report.load or None, end.report.result)),
        None if end.state is State.WAITING else moment,
        sql.db_time(retry_at),
        trigger,
        end.execution_id,
    ]
    closed = [moment, error, end.execution_id, end.number]
    if is_embedded():
        sql.execute_prepared(_RELEASE, released)
        sql.execute_prepared(_CLOSE_ATTEMPT, closed)
        sql.execute_prepared(_ADD, _total_values(end))
    else:
        sql.execute_prepared(_END_ON_SERVER, [*released, *closed, *_total_values(end)])


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _total_values(end: EndedAttempt) -> list[Any]:
    load = end.report.load
    wait = _waited(end) if end.number > 1 else timedelta()
    counts = {
        **_outcome(end),
        "retries": end.number > 1,
        "retry_wait_seconds": max(0.0, wait.total_seconds()),
        **{name: load.get(name, 0) for name in _LOAD},
        "snmp_seconds": load.get("seconds", 0.0),
    }
    # A delay counts once, whatever the number of attempts.
    ended = int(end.state in _ENDED)
    return [*(_number(counts[name]) for name in _GIVEN), ended, ended, end.execution_id]


def _outcome(end: EndedAttempt) -> dict[str, Any]:
    ended = end.state in _ENDED
    return {
        "succeeded": end.state is State.SUCCESS,
        "failed": end.state is State.FAILED,
        "seconds": end.seconds if ended else 0.0,
        **{f"within_{most}s": ended and end.seconds <= most for most in WITHIN},
    }


def _number(value: Any) -> Any:
    """Return a number for a bool: PostgreSQL does not add those."""
    return int(value) if isinstance(value, bool) else value


def _waited(end: EndedAttempt) -> timedelta:
    rows = sql.fetch_prepared(_GAP, [end.execution_id, end.number])
    return sql.parse_time(rows[0][0]) - sql.parse_time(rows[0][1]) if rows else timedelta()


_GAP: Final = (
    "SELECT a.started_at, before.ended_at FROM execution_attempts a"
    " JOIN execution_attempts before ON before.execution_id = a.execution_id AND before.number = a.number - 1"
    " WHERE a.execution_id = %s AND a.number = %s AND before.ended_at IS NOT NULL"
)
_GIVEN: Final = (
    "succeeded", "failed", "seconds", *(f"within_{most}s" for most in WITHIN),
    "retries", "retry_wait_seconds", *_LOAD, "snmp_seconds",
)  # fmt: skip
_COLUMNS: Final = (*_GIVEN, "delayed", "delay_seconds")
_LOADS: Final = (*_LOAD, "snmp_seconds")
_ADD: Final = (
    f"INSERT INTO execution_totals (olt_id, kind, {', '.join(_COLUMNS)})"  # noqa: S608
    f" SELECT e.olt_id, CASE WHEN e.onu_id IS NULL THEN COALESCE(j.kind, '') ELSE '{ONE_ONU}' END,"
    f" {', '.join(['%s'] * len(_GIVEN))},"
    " CASE WHEN e.why_late <> '' THEN %s ELSE 0 END, COALESCE(e.delay_ms, 0) / 1000.0 * %s"
    " FROM snmp_executions e"
    " LEFT JOIN snmp_job_hosts n ON n.id = e.node_id LEFT JOIN snmp_jobs j ON j.id = n.job_id"
    " WHERE e.id = %s ON CONFLICT (olt_id, kind) DO UPDATE SET "
    + ", ".join(f"{name} = execution_totals.{name} + excluded.{name}" for name in _COLUMNS)
)
_RELEASE: Final = (
    "UPDATE snmp_executions SET state = %s, error = %s, lease_token = '', lease_expires_at = NULL,"
    " parts = COALESCE(%s, parts), counts = COALESCE(%s, counts), load = COALESCE(%s, load),"
    " result = COALESCE(%s, result), ended_at = COALESCE(%s, ended_at),"
    " not_before = COALESCE(%s, not_before), trigger = COALESCE(%s, trigger) WHERE id = %s"
)
_END_ON_SERVER: Final = f"WITH released AS ({_RELEASE}), closed AS ({_CLOSE_ATTEMPT}) {_ADD}"


def totals_by_olt() -> list[dict[str, Any]]:
    """Return the totals of each OLT that still exists, all kinds together, with its name as `olt__name`.

    A reading of one ONU counts as load, but not as a collection of its OLT.
    """
    columns = [name for name in _COLUMNS if not name.startswith("within_")]
    collections = ~Q(kind=ONE_ONU)
    rows = ExecutionTotals.objects.filter(olt__isnull=False).order_by("olt__name")
    sums = rows.values("olt__name").annotate(
        **{
            f"all_{name}": Sum(name, default=0, filter=None if name in _LOADS else collections)
            for name in columns
        }
    )
    return [dict(row) for row in sums]


def totals_by_kind() -> list[dict[str, Any]]:
    """Return the totals of each kind, of all OLTs there ever were."""
    columns = ("succeeded", "failed", "seconds", *(f"within_{most}s" for most in WITHIN))
    rows = ExecutionTotals.objects.order_by("kind")
    sums = rows.values("kind").annotate(**{f"all_{name}": Sum(name) for name in columns})
    return [dict(row) for row in sums]
