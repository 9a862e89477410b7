"""Writes of executions and their attempts that several parts of the engine share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
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
    # Of an execution that waits again.
    retry_at: datetime | None = None
    trigger: str | None = None


def write_attempt_ends(ends: Sequence[EndedAttempt]) -> None:
    """Release the executions, close their attempts and add them to the totals.

    No two of them are of one OLT. A server does it all in one statement: none of the rows belongs to anybody
    else while those of the executions are locked.
    """
    if not ends:
        return
    given = sql.db_rows([_values(end) for end in ends])
    for statement in _end_statements():
        sql.execute_prepared(statement, [given])


def _values(end: EndedAttempt) -> dict[str, Any]:
    report = end.report
    return {
        "id": end.execution_id,
        "number": end.number,
        "state": end.state.value,
        "error": encode(end.error),
        "parts": report.parts,
        "counts": report.counts,
        "load": report.load or None,
        "result": report.result,
        "at": end.at,
        "ended_at": None if end.state is State.WAITING else end.at,
        "not_before": end.retry_at,
        "trigger": end.trigger,
        **_totals(end),
    }


@cache
def _end_statements() -> list[str]:
    rows = sql.given_rows(**_ROW)
    statements = (_RELEASE, _CLOSE_ATTEMPTS, _ADD)
    if is_embedded():
        return [each.format(given=f"{rows} AS given") for each in statements]
    released, closed, added = (each.format(given="given") for each in statements)
    return [f"WITH given AS {rows}, released AS ({released}), closed AS ({closed}) {added}"]


def _totals(end: EndedAttempt) -> dict[str, Any]:
    """Return what is added to the totals, by the names of _COUNTED."""
    load = end.report.load
    wait = _waited(end) if end.number > 1 else timedelta()
    return {
        **_outcome(end),
        "retries": int(end.number > 1),
        "retry_wait_seconds": max(0.0, wait.total_seconds()),
        **{name: load.get(name, 0) for name in _LOAD},
        "snmp_seconds": load.get("seconds", 0.0),
    }


def _outcome(end: EndedAttempt) -> dict[str, Any]:
    ended = int(end.state in _ENDED)
    return {
        "ended": ended,
        "succeeded": int(end.state is State.SUCCESS),
        "failed": int(end.state is State.FAILED),
        "seconds": end.seconds if ended else 0.0,
        **{f"within_{most}s": int(ended and end.seconds <= most) for most in WITHIN},
    }


def _waited(end: EndedAttempt) -> timedelta:
    rows = sql.fetch_prepared(_GAP, [end.execution_id, end.number])
    return sql.parse_time(rows[0][0]) - sql.parse_time(rows[0][1]) if rows else timedelta()


_GAP: Final = (
    "SELECT a.started_at, before.ended_at FROM execution_attempts a"
    " JOIN execution_attempts before ON before.execution_id = a.execution_id AND before.number = a.number - 1"
    " WHERE a.execution_id = %s AND a.number = %s AND before.ended_at IS NOT NULL"
)
_COUNTED: Final = (
    "succeeded", "failed", "seconds", *(f"within_{most}s" for most in WITHIN),
    "retries", "retry_wait_seconds", *_LOAD, "snmp_seconds",
)  # fmt: skip
_COLUMNS: Final = (*_COUNTED, "delayed", "delay_seconds")
_LOADS: Final = (*_LOAD, "snmp_seconds")
_ROW: Final = {
    **dict.fromkeys(("id", "number", "ended"), "bigint"),
    **dict.fromkeys(("state", "error", "trigger"), "text"),
    **dict.fromkeys(("parts", "counts", "load", "result"), "jsonb"),
    **dict.fromkeys(("at", "ended_at", "not_before"), "timestamptz"),
    **{name: "double precision" if name.endswith("seconds") else "bigint" for name in _COUNTED},
}
_RELEASE: Final = (
    "UPDATE snmp_executions AS e SET state = given.state, error = given.error, lease_token = '',"
    " lease_expires_at = NULL, parts = COALESCE(given.parts, e.parts),"
    " counts = COALESCE(given.counts, e.counts), load = COALESCE(given.load, e.load),"
    " result = COALESCE(given.result, e.result), ended_at = COALESCE(given.ended_at, e.ended_at),"
    " not_before = COALESCE(given.not_before, e.not_before), trigger = COALESCE(given.trigger, e.trigger)"
    " FROM {given} WHERE e.id = given.id"
)
_CLOSE_ATTEMPTS: Final = (
    "UPDATE execution_attempts AS a SET ended_at = given.at, error = given.error"
    " FROM {given} WHERE a.execution_id = given.id AND a.number = given.number"
)
# A delay counts once, whatever the number of attempts.
_ADD: Final = (
    f"INSERT INTO execution_totals (olt_id, kind, {', '.join(_COLUMNS)})"  # noqa: S608
    f" SELECT e.olt_id, CASE WHEN e.onu_id IS NULL THEN COALESCE(j.kind, '') ELSE '{ONE_ONU}' END,"
    f" {', '.join(f'given.{name}' for name in _COUNTED)},"
    " CASE WHEN e.why_late <> '' THEN given.ended ELSE 0 END,"
    " COALESCE(e.delay_ms, 0) / 1000.0 * given.ended"
    " FROM {given} JOIN snmp_executions e ON e.id = given.id"
    " LEFT JOIN snmp_job_hosts n ON n.id = e.node_id LEFT JOIN snmp_jobs j ON j.id = n.job_id"
    " WHERE true ON CONFLICT (olt_id, kind) DO UPDATE SET "
    + ", ".join(f"{name} = execution_totals.{name} + excluded.{name}" for name in _COLUMNS)
)


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


def ended_totals() -> dict[int, tuple[int, int, int, int]]:
    """Return by OLT all requests, timeouts, succeeded and failed executions there ever were.

    Readings of one ONU are left out: an ONU that is off does not make its OLT a bad one.
    """
    names = ("requests", "timeouts", "succeeded", "failed")
    rows = ExecutionTotals.objects.filter(olt__isnull=False).exclude(kind=ONE_ONU).order_by()
    sums = rows.values_list("olt_id").annotate(*(Sum(name, default=0) for name in names))
    return {olt_id: (requests, timeouts, good, bad) for olt_id, requests, timeouts, good, bad in sums}


def totals_by_kind() -> list[dict[str, Any]]:
    """Return the totals of each kind, of all OLTs there ever were."""
    columns = ("succeeded", "failed", "seconds", *(f"within_{most}s" for most in WITHIN))
    rows = ExecutionTotals.objects.order_by("kind")
    sums = rows.values("kind").annotate(**{f"all_{name}": Sum(name) for name in columns})
    return [dict(row) for row in sums]
