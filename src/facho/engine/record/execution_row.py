"""Stores the end of an attempt: the row of its execution, its slot, and the state of its node.

`Recording` is what every writer gets: the collection that is being stored, and the execution and OLT as they
were before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.db.database import is_embedded, row_lock
from facho.apps.db.sql import update_rows
from facho.apps.discovery.store import StoredOnus, note_all_collected
from facho.apps.execution_coordinator.store import CountedSlots, count_outcomes
from facho.apps.executions.locks import lock_olt_and_node
from facho.apps.executions.models import QUEUED, Execution, State, Trigger
from facho.apps.executions.store import AttemptReport, EndedAttempt, write_attempt_ends
from facho.apps.history.store import FrameRow, insert_frames
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import enabled_nodes
from facho.apps.traffic.store import TrafficRow, upsert_traffic
from facho.config import Config
from facho.core.delay import Why
from facho.core.execution_end import (
    AttemptEnd,
    CollectionEnd,
    CollectionSummary,
    EndState,
    NodeBefore,
    OltReachability,
    Suspension,
)
from facho.core.quota import FAILED, Outcome, SlotOutcome
from facho.core.reason_texts import CPU_TOO_HIGH
from facho.core.reasons import NO_REASON, Reason, to_json
from facho.engine.collect.onu_read import onu_read_json
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.work_builder import Planned
from facho.engine.coordinate.quotas import Slot, part_outcomes, slot_from_row
from facho.engine.events.coordinator_log import (
    LOG_SUBJECT_COLUMNS,
    LOG_SUBJECT_JOINS,
    LogSubject,
    log_ended_attempts,
    log_ended_executions,
)
from facho.engine.process.leases import LeaseLost, StartedExecution
from facho.engine.record.suspension import resume_after_success, suspend_node, suspend_olt
from facho.snmp.peer import Load


@dataclass(frozen=True, slots=True)
class ExecutionBefore:
    """An execution that this process holds, and its OLT, before its attempt ends."""

    slot: Slot
    olt: OltReachability
    # Since when the stored states of its ONUs come from collections that broke off.
    unsure_since: datetime | None
    # It reads one ONU, and is no collection of the OLT.
    is_onu_read: bool
    # A person asked for it.
    is_run_now: bool
    # Some table had rows that could not be read.
    had_unreadable: bool
    # It, its OLT or its node is suspended or failed probes.
    was_suspended: bool
    # The OLT's row says that it answers.
    was_reachable: bool
    # When the lease was checked.
    now: datetime
    # For its line in the log.
    log_subject: LogSubject


@dataclass(frozen=True, slots=True)
class LockedNode:
    """The node of a failed attempt, locked with its OLT until the transaction ends."""

    row: SnmpJobHost
    before: NodeBefore


@dataclass(frozen=True, slots=True)
class Recording:
    """A collection that is being stored: what every writer gets."""

    started: StartedExecution
    planned: Planned
    collection: Collection
    before: ExecutionBefore
    # What became of the ONUs, whose rows are written first: what follows depends on them.
    stored: StoredOnus
    end: CollectionEnd
    # Of an execution that failed and has a node.
    node: LockedNode | None
    now: datetime
    config: Config
    # What is written for all recordings of the transaction together.
    writes: SharedWrites

    @property
    def olt_id(self) -> int:
        return self.started.olt_id


@dataclass(slots=True)
class SharedWrites:
    """Rows of the tables that every recording writes: one statement writes those of a whole transaction."""

    frames: list[FrameRow] = field(default_factory=list)
    traffic: list[TrafficRow] = field(default_factory=list)
    # OLT, data and time of each collection.
    collected: list[tuple[int, Iterable[str], datetime]] = field(default_factory=list)
    ends: list[EndedAttempt] = field(default_factory=list)
    # Nodes that succeeded, and when they were started.
    runs: list[tuple[int, datetime]] = field(default_factory=list)
    outcomes: list[CountedSlots] = field(default_factory=list)
    # What the log says of executions, when the transaction commits.
    lines: list[tuple[LogSubject, EndedAttempt]] = field(default_factory=list)

    def write(self, now: datetime) -> None:
        """Write the rows; the trackers of quotas come last, as everywhere."""
        insert_frames(self.frames)
        upsert_traffic(self.traffic)
        note_all_collected(self.collected)
        write_attempt_ends(self.ends)
        _write_runs(self.runs)
        if self.outcomes:
            count_outcomes(self.outcomes, now)
        log_ended_attempts(
            [(subject, end.state, end.at, end.seconds, end.error) for subject, end in self.lines]
        )


def _write_runs(runs: Sequence[tuple[int, datetime]]) -> None:
    if runs:
        rows = [{"id": node_id, "ran": started_at} for node_id, started_at in sorted(runs)]
        sql.execute_prepared(_runs_statement(), [sql.db_rows(rows)])


@cache
def _runs_statement() -> str:
    rows = sql.given_rows(id="bigint", ran="timestamptz")
    return (
        "UPDATE snmp_job_hosts AS n SET last_run_at = given.ran, failures_in_a_row = 0"  # noqa: S608
        f" FROM {rows} AS given WHERE n.id = given.id"
    )


def check_lease(started: StartedExecution, now: datetime | None) -> ExecutionBefore:
    """Lock the execution's row, so that nobody aborts it or takes it back before this transaction ends.

    Everything else that the transaction locks comes after it, in the order of `executions.locks`. For no
    time, the server's is taken, by the statement itself. Raises LeaseLost.
    """
    held = check_leases([started], now)
    if not held:
        raise lease_lost(started)
    return held[started.execution_id]


def lease_lost(started: StartedExecution) -> LeaseLost:
    return LeaseLost(f"execution {started.execution_id} was aborted or taken back; nothing was stored")


def check_leases(several: Sequence[StartedExecution], now: datetime | None) -> dict[int, ExecutionBefore]:
    """Lock the rows of the executions that this process still holds, as `check_lease` does, by their ids."""
    tokens = sql.db_rows([{"id": each.execution_id, "token": each.token} for each in several])
    rows = sql.fetch_prepared(_held_statement(), [sql.db_time(now), tokens])
    return {row[0]: _execution_before(*row) for row in rows}


def _execution_before(
    execution_id: int,
    olt_id: int,
    now: Any,
    slot: Any,
    owes: str,
    trigger: str,
    onu_id: int | None,
    away_since: Any,
    failed_in_a_row: int,
    unsure_since: Any,
    had_unreadable: bool,
    was_suspended: bool,
    was_reachable: bool,
    *log_subject: Any,
) -> ExecutionBefore:
    return ExecutionBefore(
        slot_from_row(olt_id, sql.parse_time(slot), json.loads(owes)),
        OltReachability(None if away_since is None else sql.parse_time(away_since), failed_in_a_row),
        None if unsure_since is None else sql.parse_time(unsure_since),
        is_onu_read=onu_id is not None,
        is_run_now=trigger == Trigger.RUN_NOW,
        had_unreadable=bool(had_unreadable),
        was_suspended=bool(was_suspended),
        was_reachable=bool(was_reachable) and away_since is None,
        now=sql.parse_time(now),
        log_subject=LogSubject(execution_id, *log_subject),
    )


@cache
def _held_statement() -> str:
    time = "%s" if is_embedded() else "COALESCE(%s::timestamptz, clock_timestamp())"
    held = sql.given_rows(id="bigint", token="text")  # noqa: S106  a type
    statement = _HELD.format(time=time, held=held, subject=LOG_SUBJECT_COLUMNS, joins=LOG_SUBJECT_JOINS)
    return statement + row_lock("e")


# In the order of the ids: two transactions that lock several rows do not wait for each other.
_HELD: Final = (
    "SELECT e.id, e.olt_id, given.now, e.slot, e.owes, e.trigger, e.onu_id, o.unreachable_since,"
    " o.failed_in_a_row, o.states_unsure_since,"
    " EXISTS (SELECT 1 FROM olt_unreadable_rows r WHERE r.olt_id = o.id),"
    " o.suspended_reason <> '' OR o.failed_probes > 0"
    " OR COALESCE(n.suspended_reason, '') <> '' OR COALESCE(n.failed_probes, 0) > 0, o.reachable,"
    " {subject}"
    " FROM (SELECT {time} AS now) given CROSS JOIN {held} held"
    " JOIN snmp_executions e ON e.id = held.id AND e.lease_token = held.token"
    " JOIN olts o ON o.id = e.olt_id{joins}"
    " WHERE e.state = 'RUNNING' AND e.lease_expires_at > given.now ORDER BY e.id"
)


_OUTCOMES: Final = {
    PartState.SUCCESS: Outcome.COMPLETED,
    PartState.FAILED: Outcome.FAILED,
    PartState.SKIPPED: Outcome.SKIPPED,
}


def summarise(planned: Planned, collection: Collection) -> CollectionSummary:
    """Return what the decision on how the execution ends needs to know."""
    return CollectionSummary(
        [(part.part.node_id, _slot_outcome(part)) for part in collection.parts],
        [part.part.node_id for part in planned.unsupported if part.part.node_id],
        collection.was_asked,
        collection.silent,
    )


def _slot_outcome(part: PartResult) -> SlotOutcome:
    if part.error.code == CPU_TOO_HIGH:
        return SlotOutcome(Outcome.SKIPPED, why=Why.CPU_HIGH)
    return SlotOutcome(_OUTCOMES[part.state], part.seconds, FAILED, part.error)


# So many ONUs without an answer are named in the execution; all of them are counted.
_MAX_NAMED: Final = 200
_MAX_PROBLEMS: Final = 10


def write_execution(recording: Recording) -> None:
    collection, planned = recording.collection, recording.planned
    started, now = recording.started, recording.now
    end = attempt_end(
        started.execution_id,
        started.attempt,
        started.started_at,
        recording.end.attempt,
        NO_REASON if collection.succeeded else collection.error,
        now,
        is_run_now=recording.before.is_run_now,
        report=AttemptReport(
            parts=[_part_json(part) for part in (*collection.parts, *planned.unsupported)],
            counts=_counts(recording),
            load=_sum_loads(part.load for part in collection.parts),
            result=_result(recording),
        ),
    )
    if end.state is State.SUCCESS:
        recording.writes.ends.append(end)
    else:
        # Suspending its OLT or node looks at what waits.
        write_attempt_ends([end])
    if end.state is not State.WAITING:
        recording.writes.lines.append((recording.before.log_subject, end))


def write_quotas(recording: Recording) -> None:
    """Count the outcome of the slot, unless it is tried again."""
    if (outcomes := recording.end.outcomes) is not None:
        slot, otherwise = recording.before.slot, recording.end.otherwise
        recording.writes.outcomes += part_outcomes(slot, outcomes, otherwise, recording.now, recording.config)


def write_manual_execution(
    started: StartedExecution, part: PartResult, end: AttemptEnd, now: datetime
) -> None:
    """Store that a person asked by hand, without the answers."""
    report = AttemptReport([_part_json(part)], {"rows": part.rows}, _sum_loads([part.load]))
    end_attempt(
        started.execution_id, started.attempt, started.started_at, end, part.error, now, report=report
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
    report: AttemptReport | None = None,
) -> None:
    """Release the execution, which waits again if another attempt follows, and count its attempt."""
    ended = attempt_end(
        execution_id, attempt, started_at, end, error, now, is_run_now=is_run_now, report=report
    )
    write_attempt_ends([ended])
    if ended.state is not State.WAITING:
        log_ended_executions([execution_id])


def attempt_end(
    execution_id: int,
    attempt: int,
    started_at: datetime,
    end: AttemptEnd,
    error: Reason,
    now: datetime,
    *,
    is_run_now: bool = False,
    report: AttemptReport | None = None,
) -> EndedAttempt:
    waits = end.state is EndState.WAITING
    return EndedAttempt(
        execution_id,
        attempt,
        State(end.state.value),
        error,
        now,
        max(0.0, (now - started_at).total_seconds()),
        report or AttemptReport(),
        retry_at=end.retry_at if waits else None,
        trigger=(Trigger.RUN_NOW if is_run_now else Trigger.RETRY).value if waits else None,
    )


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


def lock_failed_node(
    olt_id: int, node_id: int | None, attempt: int, *, retry_delay: timedelta | None = None
) -> LockedNode | None:
    """Lock the node of a failed attempt and its OLT, either of which may be suspended now.

    `retry_delay` is that of its job, if none is given.
    """
    if node_id is None:
        return None
    lock_olt_and_node(olt_id, node_id)
    node = SnmpJobHost.objects.select_related("job", "olt").get(id=node_id)
    job = node.job
    may_retry = attempt < job.max_attempts and not node.is_suspended and not node.olt.is_suspended
    before = NodeBefore(
        max_attempts=job.max_attempts,
        retry_delay=timedelta(seconds=job.retry_delay_s) if retry_delay is None else retry_delay,
        failures_in_a_row=node.failures_in_a_row,
        may_queue=may_retry and may_queue(node.id),
        is_suspended=node.is_suspended,
        is_olt_suspended=node.olt.is_suspended,
        failed_probes=node.failed_probes,
        failed_olt_probes=node.olt.failed_probes,
    )
    return LockedNode(node, before)


def may_queue(node_id: int | None) -> bool:
    """Tell whether an execution of the node may wait: it is switched on, and no other one waits."""
    if node_id is None or not enabled_nodes().filter(id=node_id).exists():
        return False
    return not Execution.objects.filter(node=node_id, state__in=QUEUED).exists()


def write_failed_node(
    node: LockedNode | None,
    end: AttemptEnd,
    started_at: datetime,
    error: Reason,
    now: datetime,
    config: Config,
) -> None:
    """Count the failed attempt, and suspend what the decision names."""
    if node is None:
        return
    failures = node.before.failures_in_a_row + 1
    sql.update_row(SnmpJobHost, node.row.id, {"failures_in_a_row": failures, "last_run_at": started_at})
    if end.suspension is None:
        return
    assert end.probe_in is not None
    if end.suspension is Suspension.OLT:
        suspend_olt(node.row.olt, error, now, end.probe_in, config)
    else:
        suspend_node(node.row, error, now, end.probe_in)


def write_node_state(recording: Recording) -> None:
    attempt = recording.end.attempt
    if attempt.state is EndState.SUCCESS:
        _write_success(recording)
    elif attempt.state is not EndState.ABORTED:
        error, started_at = recording.collection.error, recording.started.started_at
        write_failed_node(recording.node, attempt, started_at, error, recording.now, recording.config)


def _write_success(recording: Recording) -> None:
    """Date the run of the node and of every chained one that was asked for; resume what was suspended."""
    started, collection, now = recording.started, recording.collection, recording.now
    if started.node_id is not None:
        recording.writes.runs.append((started.node_id, started.started_at))
    chained = [
        (each.part.node_id, started.started_at)
        for each in collection.parts[1:]
        if each.part.node_id is not None and each.asked
    ]
    update_rows(SnmpJobHost, ["last_run_at"], chained)
    if collection.was_asked and recording.before.was_suspended:
        resume_after_success(started.olt_id, started.node_id, now)
