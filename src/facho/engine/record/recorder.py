"""Stores what came of an execution, in one transaction that begins by checking that the OLT is still ours."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.db.rows import update_rows
from facho.apps.discovery.store import Stored, note_collected, store_findings
from facho.apps.discovery.unreadable_rows import store_unreadable
from facho.apps.executions import totals
from facho.apps.executions.locks import lock_node, lock_running
from facho.apps.executions.models import Attempt, Execution, State
from facho.apps.executions.store import close_attempt
from facho.apps.history.models import Subject
from facho.apps.history.store import append_frame
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.delay import Why
from facho.core.lost_slots import FAILED
from facho.core.quota import Outcome
from facho.engine.collect.collector import TOO_BUSY
from facho.engine.collect.onu_read import finding_of_one, of_another, result_of, told_of_one
from facho.engine.collect.targets import written
from facho.engine.collect.work import Collection, PartOutcome, PartState
from facho.engine.collect.work_builder import Planned
from facho.engine.coordinate.quotas import Came, Slot, count_aborted, count_failed, count_parts, slot_of
from facho.engine.coordinate.replanning import OltBefore, update_reachability
from facho.engine.events.execution_logs import note_ended
from facho.engine.events.stream import publish
from facho.engine.events.types import UnreadableRowsFound
from facho.engine.process.leases import LeaseLost, StartedExecution
from facho.engine.record.chassis import store_chassis
from facho.engine.record.failures import FailedAttempt, count_failure, may_queue, may_read, next_attempt
from facho.engine.record.findings import data_collected, findings_of, tables_read
from facho.engine.record.missing_columns import confirm_missing, load_inventory
from facho.engine.record.olt_changes import told_of_olt
from facho.engine.record.optics import limits_of, tell_optics
from facho.engine.record.outages import update_outages
from facho.engine.record.suspension import resume_node, resume_olt
from facho.masking import masked
from facho.snmp.peer import Load

log = logging.getLogger(__name__)

# Of ONUs without an answer so many are named in the execution; all of them are counted.
_MOST_NAMED: Final = 200


def record(
    started: StartedExecution, planned: Planned, collection: Collection, now: datetime, config: Config
) -> State:
    """Raises LeaseLost, and has then written nothing."""
    with sql.write_transaction():
        ours = _check_lease(started, now)
        stored = _store(planned, collection, now, config)
        _note_unreadable(ours, planned, collection, now)
        if planned.reading is not None and stored.other:
            collection = of_another(collection)
        update_outages(started.olt_id, stored.turns, ours.unsure_since, now, config)
        tell_optics(started.olt_id, stored.optics, now)
        outcome = _outcome(started, collection, now)
        _end(
            started,
            now,
            parts=[_written(part) for part in (*collection.parts, *planned.left_out)],
            counts=_counts(collection.parts, stored),
            load=_load(part.load for part in collection.parts),
            result=_result(planned, collection, stored),
            error="" if collection.succeeded else collection.error,
            **outcome,
        )
        _note_olt(started, planned, collection, now)
        state = State(outcome["state"])
        _after(started, state, collection, now, config)
        _count(ours, state, collection, planned, now, config)
        update_reachability(ours.olt, state, collection, now, config, counts=not ours.of_one)
    log.info(
        "execution ended",
        extra={
            "action": "execution_ended",
            "olt_id": started.olt_id,
            "execution_id": started.execution_id,
            "state": state,
        },
    )
    return state


def record_failure(started: StartedExecution, error: str, now: datetime, config: Config) -> State:
    """It could not even be asked: a job without columns, or a bug of ours. Raises LeaseLost."""
    with sql.write_transaction():
        ours = _check_lease(started, now)
        error = masked(error)
        failed = _failed(started, error)
        outcome = next_attempt(failed, now)
        _end(started, now, error=error, **outcome)
        state = State(outcome["state"])
        count_failure(failed, state, now, config)
        if state is State.FAILED:
            count_failed(ours.slot, error, now, config)
            update_reachability(ours.olt, state, None, now, config, counts=not ours.of_one)
    return state


def record_by_hand(started: StartedExecution, part: PartOutcome, now: datetime) -> None:
    """What a person asked for, and kept: only that it was asked is stored. Raises LeaseLost."""
    with sql.write_transaction():
        _check_lease(started, now)
        _end(
            started,
            now,
            state=State.SUCCESS if part.state is PartState.SUCCESS else State.FAILED,
            error=part.error,
            ended_at=now,
            parts=[_written(part)],
            counts={"rows": part.rows},
            load=_load([part.load]),
        )


def hand_back(started: StartedExecution, now: datetime, config: Config) -> None:
    """The process stops: the attempt does not count, and somebody else takes it up at once."""
    with sql.write_transaction():
        running = lock_running(started.execution_id, lease_token=started.token)
        if running is None:
            return
        if started.node_id is not None:
            lock_node(started.node_id)
        again = may_queue(started.node_id) if running.onu_id is None else may_read(running.onu_id)
        Execution.objects.filter(id=started.execution_id).update(
            state=State.WAITING if again else State.ABORTED,
            lease_token="",
            lease_expires_at=None,
            attempt=started.attempt - 1,
            ended_at=None if again else now,
            error="handed back: the process stopped",
        )
        if again:
            _forget_attempt(started)
        else:
            close_attempt(started.execution_id, started.attempt, now, "the process stopped")
            slot = slot_of(running.olt_id, running.slot, running.owes)
            count_aborted([slot], "the process stopped", now, config)
            note_ended([started.execution_id])


def _forget_attempt(started: StartedExecution) -> None:
    Attempt.objects.filter(execution=started.execution_id, number=started.attempt).delete()


@dataclass(frozen=True, slots=True)
class _Ours:
    """What the execution counts for, and what its OLT was like before it."""

    slot: Slot
    olt: OltBefore
    # Since when what was told of its ONUs' states came from collections that broke off.
    unsure_since: datetime | None
    # It is about one ONU, and no collection of the OLT.
    of_one: bool
    # Some table had rows that could not be read.
    had_unreadable: bool


def _check_lease(started: StartedExecution, now: datetime) -> _Ours:
    """Locks the row, so that nobody aborts or takes it back before this transaction ends.

    Everything else that the transaction locks comes after it, in the order of `locks`.
    """
    lock = " FOR NO KEY UPDATE OF e" if connection.features.has_select_for_update else ""
    rows = sql.fetch_rows(_OURS + lock, [started.execution_id, started.token, sql.db_time(now)])
    if not rows:
        raise LeaseLost(f"execution {started.execution_id} was aborted or taken back; nothing was stored")
    slot, owes, away_since, failed_in_a_row, unsure_since, onu_id, had_unreadable = rows[0]
    return _Ours(
        slot_of(started.olt_id, sql.parse_time(slot), json.loads(owes)),
        OltBefore(started.olt_id, _moment(away_since), failed_in_a_row),
        _moment(unsure_since),
        onu_id is not None,
        bool(had_unreadable),
    )


def _moment(found: Any) -> datetime | None:
    return None if found is None else sql.parse_time(found)


_OURS: Final = (
    "SELECT e.slot, e.owes, o.unreachable_since, o.failed_in_a_row, o.states_unsure_since, e.onu_id,"
    " EXISTS (SELECT 1 FROM olt_unreadable_rows u WHERE u.olt_id = o.id)"
    " FROM snmp_executions e JOIN olts o ON o.id = e.olt_id"
    " WHERE e.id = %s AND e.lease_token = %s AND e.state = 'RUNNING' AND e.lease_expires_at > %s"
)


def _count(
    ours: _Ours, state: State, collection: Collection, planned: Planned, now: datetime, config: Config
) -> None:
    """The slot has its outcome, unless it is tried again."""
    if state is State.WAITING:
        return
    parts = {part.part.node_id: _came(part) for part in collection.parts if part.part.node_id is not None}
    # What the family does not have is not owed: it is done as far as it can be.
    nothing = {part.part.node_id: Came(Outcome.COMPLETED) for part in planned.left_out if part.part.node_id}
    count_parts(ours.slot, {**nothing, **parts}, Came(Outcome.SKIPPED, why=Why.SUSPENDED), now, config)


_OUTCOMES: Final = {
    PartState.SUCCESS: Outcome.COMPLETED,
    PartState.FAILED: Outcome.FAILED,
    PartState.SKIPPED: Outcome.SKIPPED,
}


def _came(part: PartOutcome) -> Came:
    if part.error == TOO_BUSY:
        return Came(Outcome.SKIPPED, why=Why.CPU_HIGH)
    return Came(_OUTCOMES[part.state], part.seconds, FAILED, part.error)


def _end(started: StartedExecution, now: datetime, *, state: State, error: str, **columns: Any) -> None:
    sql.update_row(
        Execution,
        started.execution_id,
        {"state": state, "error": error, "lease_token": "", "lease_expires_at": None, **columns},
    )
    close_attempt(started.execution_id, started.attempt, now, error)
    seconds = max(0.0, (now - started.started_at).total_seconds())
    load = columns.get("load", {})
    totals.add(totals.AttemptEnd(started.execution_id, state, started.attempt, seconds, load))
    if state is not State.WAITING:
        note_ended([started.execution_id])


def _store(planned: Planned, collection: Collection, now: datetime, config: Config) -> Stored:
    work = planned.work
    findings = list(findings_of(collection.parts, work.profile))
    if planned.reading is not None:
        findings = [finding_of_one(each) for each in findings]
    stored = store_findings(
        work.olt_id, findings, now, absent_after=config.absent_after, limits=limits_of(config)
    )
    if planned.reading is not None:
        own = told_of_one(stored.told, planned.reading.onu_id)
        append_frame(work.olt_id, now, Subject.ONU, own.ids, own.columns)
        return stored
    ports = store_chassis(work.olt_id, work.profile, collection.parts, now)
    append_frame(work.olt_id, now, Subject.ONU, stored.told.ids, stored.told.columns)
    append_frame(work.olt_id, now, Subject.PORT, ports.ids, ports.columns)
    data = {datum for part in collection.parts for datum in data_collected(part, work.profile)}
    note_collected(work.olt_id, data, now)
    return stored


def _note_unreadable(ours: _Ours, planned: Planned, collection: Collection, now: datetime) -> None:
    found = {
        table: rows
        for part in collection.parts
        if part.decoded is not None
        for table, rows in part.decoded.unreadable.items()
    }
    if found or (ours.had_unreadable and planned.reading is None):
        profile = planned.work.profile
        read = {table for part in collection.parts for table in tables_read(part, profile)}
        unread = {table.name for table in profile.tables} - read
        new = store_unreadable(planned.work.olt_id, found, unread, now)
        for table, rows in new.items():
            event = UnreadableRowsFound(
                olt_id=planned.work.olt_id, table=table, rows=rows.rows, example=rows.example
            )
            publish(event, now)


def _result(planned: Planned, collection: Collection, stored: Stored) -> dict[str, Any]:
    """What is no fact that has a place of its own; of one ONU, whatever came."""
    if planned.reading is not None:
        return result_of(planned.reading, collection, another=stored.other > 0)
    return {name: rows for part in collection.parts for name, rows in part.raw.items()}


def _outcome(started: StartedExecution, collection: Collection, now: datetime) -> dict[str, Any]:
    if collection.succeeded:
        return {"state": State.SUCCESS, "ended_at": now}
    if collection.parts[0].state is PartState.SKIPPED:
        return {"state": State.ABORTED, "ended_at": now}
    return next_attempt(_failed(started, collection.error, silent=collection.silent), now)


def _failed(started: StartedExecution, error: str, *, silent: bool = False) -> FailedAttempt:
    return FailedAttempt(
        started.execution_id,
        started.olt_id,
        started.node_id,
        started.attempt,
        started.started_at,
        error,
        silent,
    )


def _after(
    started: StartedExecution, state: State, collection: Collection, now: datetime, config: Config
) -> None:
    if state is State.SUCCESS:
        _after_success(started, collection, now)
    elif state is not State.ABORTED:
        failed = _failed(started, collection.error, silent=collection.silent)
        count_failure(failed, state, now, config)


def _after_success(started: StartedExecution, collection: Collection, now: datetime) -> None:
    """Date the run of the node and of every chained one that was asked for; resume what was suspended."""
    if started.node_id is not None:
        ran = {"last_run_at": started.started_at, "failures_in_a_row": 0}
        sql.update_row(SnmpJobHost, started.node_id, ran)
    chained = [
        (each.part.node_id, started.started_at)
        for each in collection.parts[1:]
        if each.part.node_id is not None and each.asked
    ]
    update_rows(SnmpJobHost, ["last_run_at"], chained)
    if collection.was_asked and sql.fetch_rows(_WAS_AWAY, [started.node_id, started.olt_id]):
        resume_olt(started.olt_id, now, proven=True)
        if started.node_id is not None:
            resume_node(started.node_id, now, proven=True)


_WAS_AWAY: Final = (
    "SELECT 1 FROM olts o LEFT JOIN snmp_job_hosts n ON n.id = %s WHERE o.id = %s"
    " AND (o.suspended_reason <> '' OR o.failed_probes > 0"
    " OR n.suspended_reason <> '' OR n.failed_probes > 0)"
)


def _note_olt(started: StartedExecution, planned: Planned, collection: Collection, now: datetime) -> None:
    if collection.silent:
        olt = Olt.objects.filter(id=started.olt_id, unreachable_since__isnull=True)
        olt.update(reachable=False, unreachable_since=now)
        return
    if not collection.was_asked:
        # That says nothing about it.
        return
    changes: dict[str, Any] = {"reachable": True, "unreachable_since": None}
    if collection.learned is not None:
        changes["learned"] = written(collection.learned)
    if collection.cpu_pct is not None:
        changes |= {"cpu_pct": collection.cpu_pct, "cpu_read_at": now}
    missing = set[str]()
    # That one ONU has no such row says nothing of the OLT.
    if planned.reading is None:
        missing = confirm_missing(collection, planned.work.profile, partial(load_inventory, started.olt_id))
    changes |= told_of_olt(planned.before, collection, missing, now)
    sql.update_row(Olt, started.olt_id, changes)


def _written(outcome: PartOutcome) -> dict[str, Any]:
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
        found["error"] = outcome.error
    if outcome.onus_asked:
        found["onus_asked"] = outcome.onus_asked
    if outcome.unanswered:
        found["onus_unanswered"] = len(outcome.unanswered)
        found["unanswered"] = dict(list(outcome.unanswered.items())[:_MOST_NAMED])
    if outcome.decoded is not None and len(outcome.decoded.problems):
        problems = outcome.decoded.problems
        found["problems"] = {"count": len(problems), "first": [str(each) for each in problems.first[:10]]}
    if outcome.decoded is not None and outcome.decoded.unreadable:
        rows = outcome.decoded.unreadable.items()
        found["unreadable"] = {table: {"rows": each.rows, "example": each.example} for table, each in rows}
    return found


def _counts(parts: Sequence[PartOutcome], stored: Stored) -> dict[str, int]:
    return {
        "rows": sum(part.rows for part in parts),
        "unanswered": sum(len(part.unanswered) for part in parts),
        **stored.counts(),
    }


def _load(loads: Iterable[Load]) -> dict[str, float]:
    total = {field.name: 0.0 for field in fields(Load)}
    for load in loads:
        for name in total:
            total[name] += getattr(load, name)
    return {name: round(value, 3) if name == "seconds" else int(value) for name, value in total.items()}
