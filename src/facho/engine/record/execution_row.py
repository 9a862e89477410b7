"""Stores the end of an attempt in the row of its execution, and counts its slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from itertools import islice
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.executions import totals
from facho.apps.executions.models import Execution, State, Trigger
from facho.apps.executions.store import close_attempt
from facho.core.execution_end import AttemptEnd, EndState
from facho.core.reasons import NO_REASON, Reason, to_json
from facho.engine.collect.onu_read import onu_read_json
from facho.engine.collect.work import PartResult
from facho.engine.coordinate.quotas import count_part_outcomes
from facho.engine.events.execution_logs import log_ended_executions
from facho.engine.process.leases import StartedExecution
from facho.engine.record.recording import Recording
from facho.snmp.peer import Load

# So many ONUs without an answer are named in the execution; all of them are counted.
_MAX_NAMED: Final = 200
_MAX_PROBLEMS: Final = 10


def write_execution(recording: Recording) -> None:
    collection, planned = recording.collection, recording.planned
    started = recording.started
    end_attempt(
        started.execution_id,
        started.attempt,
        started.started_at,
        recording.end.attempt,
        NO_REASON if collection.succeeded else collection.error,
        recording.now,
        is_run_now=recording.before.is_run_now,
        columns={
            "parts": [_part_json(part) for part in (*collection.parts, *planned.unsupported)],
            "counts": _counts(recording),
            "load": _sum_loads(part.load for part in collection.parts),
            "result": _result(recording),
        },
    )


def write_quotas(recording: Recording) -> None:
    """Count the outcome of the slot, unless it is tried again."""
    if (outcomes := recording.end.outcomes) is not None:
        otherwise = recording.end.otherwise
        count_part_outcomes(recording.before.slot, outcomes, otherwise, recording.now, recording.config)


def write_manual_execution(
    started: StartedExecution, part: PartResult, end: AttemptEnd, now: datetime
) -> None:
    """Store that a person asked by hand, without the answers."""
    columns = {"parts": [_part_json(part)], "counts": {"rows": part.rows}, "load": _sum_loads([part.load])}
    end_attempt(
        started.execution_id, started.attempt, started.started_at, end, part.error, now, columns=columns
    )


def end_attempt(
    execution_id: int,
    attempt: int,
    started_at: datetime,
    end: AttemptEnd,
    error: Reason,
    now: datetime,
    *,
    is_run_now: bool = False,
    columns: Mapping[str, Any] | None = None,
) -> None:
    """Release the execution, which waits again if another attempt follows, and count its attempt."""
    more = dict(columns or {})
    changes = {"error": error, "lease_token": "", "lease_expires_at": None, **more}
    if end.state is EndState.WAITING:
        trigger = Trigger.RUN_NOW if is_run_now else Trigger.RETRY
        changes |= {"not_before": end.retry_at, "trigger": trigger}
    else:
        changes["ended_at"] = now
    state = State(end.state.value)
    sql.update_row(Execution, execution_id, {"state": state, **changes})
    close_attempt(execution_id, attempt, now, error)
    seconds = max(0.0, (now - started_at).total_seconds())
    load = more.get("load", {})
    totals.add_attempt(totals.AttemptEnd(execution_id, state, attempt, seconds, load))
    if state is not State.WAITING:
        log_ended_executions([execution_id])


def _part_json(outcome: PartResult) -> dict[str, Any]:
    part = outcome.part
    found: dict[str, Any] = {
        "node": part.node_id,
        "job": part.job,
        "kind": part.kind,
        "task_type": part.task_type,
        "state": outcome.state.value,
        "seconds": round(outcome.seconds, 3),
        "rows": outcome.rows,
    }
    if outcome.error:
        found["error"] = to_json(outcome.error)
    if outcome.onus_asked:
        found["onus_asked"] = outcome.onus_asked
    if outcome.unanswered:
        found["onus_unanswered"] = len(outcome.unanswered)
        named = islice(outcome.unanswered.items(), _MAX_NAMED)
        found["unanswered"] = {onu: to_json(reason) for onu, reason in named}
    if outcome.decoded is not None and len(outcome.decoded.problems):
        problems = outcome.decoded.problems
        first = [str(each) for each in problems.first[:_MAX_PROBLEMS]]
        found["problems"] = {"count": len(problems), "first": first}
    if outcome.decoded is not None and outcome.decoded.unreadable:
        rows = outcome.decoded.unreadable.items()
        found["unreadable"] = {table: {"rows": each.rows, "example": each.example} for table, each in rows}
    return found


def _counts(recording: Recording) -> dict[str, int]:
    parts = recording.collection.parts
    return {
        "rows": sum(part.rows for part in parts),
        "unanswered": sum(len(part.unanswered) for part in parts),
        **recording.stored.counts(),
    }


def _result(recording: Recording) -> dict[str, Any]:
    """Return what has no column of its own; of a reading of one ONU, all that was read."""
    collection, reading = recording.collection, recording.planned.reading
    if reading is not None:
        return onu_read_json(reading, collection, another=recording.stored.other > 0)
    return {name: rows for part in collection.parts for name, rows in part.raw.items()}


def _sum_loads(loads: Iterable[Load]) -> dict[str, float]:
    total = {field.name: 0.0 for field in fields(Load)}
    for load in loads:
        for name in total:
            total[name] += getattr(load, name)
    return {name: round(value, 3) if name == "seconds" else int(value) for name, value in total.items()}
