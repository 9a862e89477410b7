"""The nodes of an OLT and its last executions, which refresh every two seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import OuterRef, QuerySet, Subquery

from facho.apps.executions.models import ACTIVE, Execution, State
from facho.apps.executions.selectors import BLOCKER_NAME_OF_FEW, SUBJECT_NAME
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import masters_of_chained
from facho.core.reason_texts import TABLE_NOT_PRESENT
from facho.core.reasons import NO_REASON, Reason, from_json, missing_tables, without_code
from facho.engine.collect.part_results import PartState
from facho.web.olts.head import OltHead

_EXECUTIONS_SHOWN: Final = 10
_PART_STATES: Final = {
    PartState.SUCCESS: State.SUCCESS,
    PartState.FAILED: State.FAILED,
    PartState.SKIPPED: State.ABORTED,
}


@dataclass(frozen=True, slots=True)
class PartRow:
    """One job's share of an execution of a composite node."""

    node_id: int
    job: str
    state: str
    length: timedelta
    rows: int
    error: Reason


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """An execution in any state. `job` is empty for a collection by hand."""

    execution_id: int
    node_id: int | None
    job: str
    state: str
    run_now: bool
    slot: datetime
    started_at: datetime | None
    ended_at: datetime | None
    delay: timedelta | None
    why_late: str
    # The job that held the OLT meanwhile.
    blocked_by: str
    attempt: int
    parts: Sequence[PartRow]
    requests: int | None
    error: Reason

    @property
    def problem(self) -> Reason:
        """Return the error without what is no error: the page names missing tables once."""
        return without_code(self.error, TABLE_NOT_PRESENT)

    @property
    def duration(self) -> timedelta | None:
        if self.started_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.started_at

    def part_result(self, node_id: int) -> tuple[str, Reason]:
        """Return the state and the error of one part."""
        found = next((part for part in self.parts if part.node_id == node_id), None)
        return (self.state, self.error) if found is None else (found.state, found.error or self.error)


@dataclass(frozen=True, slots=True)
class NodeRow:
    node_id: int
    job_id: int
    job: str
    interval: timedelta
    # Its own switch; a node of a disabled job or OLT does not run either.
    enabled: bool
    job_enabled: bool
    # The job of its master; empty for a node that is not chained.
    after: str
    next_run_at: datetime | None
    suspended: Reason
    next_probe_at: datetime | None
    failures: int
    last: ExecutionRow | None

    @property
    def runs(self) -> bool:
        """Return whether people have it and its job enabled."""
        return self.enabled and self.job_enabled

    @property
    def last_state(self) -> str:
        return "" if self.last is None else self.last.part_result(self.node_id)[0]

    @property
    def last_error(self) -> Reason:
        error = NO_REASON if self.last is None else self.last.part_result(self.node_id)[1]
        return without_code(error, TABLE_NOT_PRESENT)


@dataclass(frozen=True, slots=True)
class OltNodes:
    head: OltHead
    nodes: Sequence[NodeRow]
    executions: Sequence[ExecutionRow]

    @property
    def missing_tables(self) -> list[str]:
        """Return the tables that its last executions did not find, each once."""
        ended = [*self.executions, *(node.last for node in self.nodes if node.last is not None)]
        errors = [error for run in ended for error in (run.error, *(part.error for part in run.parts))]
        return sorted({table for error in errors for table in missing_tables(error)})


def read_olt_nodes(head: OltHead) -> OltNodes:
    return OltNodes(head, read_nodes(head.olt.id), _last_executions(head.olt.id))


def _last_executions(olt_id: int) -> list[ExecutionRow]:
    """Return the last executions, first the one that runs: there may be many that wait."""
    of_olt = Execution.objects.filter(olt=olt_id)
    active = _execution_rows(of_olt.filter(state__in=ACTIVE))
    others = of_olt.exclude(state__in=ACTIVE).order_by("-id")
    return [*active, *_execution_rows(others[: _EXECUTIONS_SHOWN - len(active)])]


def read_nodes(olt_id: int) -> list[NodeRow]:
    """Return the nodes by name, chained nodes below their masters."""
    ended = Execution.objects.filter(node=OuterRef("pk"), ended_at__isnull=False).order_by("-id")
    nodes = (
        SnmpJobHost.objects.filter(olt=olt_id)
        .select_related("job")
        .annotate(last_execution=Subquery(ended.values("id")[:1]))
    )
    rows: list[Any] = list(nodes.order_by("job__name"))
    executions = Execution.objects.filter(id__in=[row.last_execution for row in rows if row.last_execution])
    last = {each.execution_id: each for each in _execution_rows(executions)}
    masters = masters_of_chained(rows)
    found = [_node_row(row, masters.get(row.id), last) for row in rows]
    return sorted(found, key=lambda each: (each.after or each.job, bool(each.after), each.job))


def _node_row(row: Any, master: Any | None, last: Mapping[int, ExecutionRow]) -> NodeRow:
    """Build the row of a node. The result of a chained node is a part of its master's execution."""
    runs = row if master is None else master
    return NodeRow(
        node_id=row.id,
        job_id=row.job_id,
        job=row.job.name,
        interval=timedelta(seconds=runs.interval_s or runs.job.interval_s),
        enabled=row.enabled,
        job_enabled=row.job.enabled,
        after="" if master is None else master.job.name,
        next_run_at=row.next_run_at,
        suspended=row.suspended_reason,
        next_probe_at=row.next_probe_at,
        failures=row.failures_in_a_row,
        last=last.get(runs.last_execution),
    )


def _execution_rows(rows: QuerySet[Execution]) -> list[ExecutionRow]:
    columns = (
        "id", "node_id", "state", "run_now", "slot", "started_at", "ended_at", "delay_ms", "why_late",
        "attempt", "parts", "load", "error",
    )  # fmt: skip
    return [
        _execution_row(row) for row in rows.values(*columns, what=SUBJECT_NAME, blocker=BLOCKER_NAME_OF_FEW)
    ]


def _execution_row(row: Mapping[str, Any]) -> ExecutionRow:
    same = ("node_id", "state", "run_now", "slot", "started_at", "ended_at", "why_late", "attempt", "error")
    return ExecutionRow(
        execution_id=row["id"],
        job=row["what"] or "",
        delay=None if row["delay_ms"] is None else timedelta(milliseconds=row["delay_ms"]),
        blocked_by=row["blocker"] or "",
        parts=[_part_row(each) for each in row["parts"]],
        requests=row["load"].get("requests"),
        **{name: row[name] for name in same},
    )


def _part_row(written: Mapping[str, Any]) -> PartRow:
    return PartRow(
        node_id=written.get("node") or 0,
        job=written.get("job", ""),
        state=_PART_STATES.get(written.get("state", ""), State.ABORTED),
        length=timedelta(seconds=written.get("seconds", 0)),
        rows=written.get("rows", 0),
        error=from_json(written.get("error", "")),
    )
