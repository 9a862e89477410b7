"""The data of the page of an execution, in a fixed number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from facho.apps.execution_coordinator.selectors import plan_of_slot
from facho.apps.executions.models import Attempt, Execution
from facho.web.words.fact_choices import describe_fact


@dataclass(frozen=True, slots=True)
class AttemptRow:
    number: int
    started_at: datetime
    duration: timedelta | None
    error: Any
    worker: str


@dataclass(frozen=True, slots=True)
class ExecutionPage:
    now: datetime
    execution: Execution
    # Names in words of what the job asks for.
    facts: tuple[str, ...]
    attempts: tuple[AttemptRow, ...]
    # The plan of the hour of its slot.
    plan_id: int | None

    @property
    def delay(self) -> timedelta | None:
        late = self.execution.delay_ms
        return None if late is None else timedelta(milliseconds=late)

    @property
    def duration(self) -> timedelta | None:
        return _length(self.execution.started_at, self.execution.ended_at)

    @property
    def stored(self) -> dict[str, Any]:
        return dict(self.execution.counts)

    @property
    def load(self) -> dict[str, Any]:
        return dict(self.execution.load)


def executions_with_names() -> QuerySet[Execution]:
    """Return executions with all that their page names, and without credentials."""
    named = Execution.objects.select_related("olt", "onu", "node__job", "blocked_by__node__job")
    return named.defer("olt__credentials", "result", "owes")


def read_execution_page(execution: Execution, now: datetime) -> ExecutionPage:
    attempts = Attempt.objects.filter(execution=execution).order_by("number")
    return ExecutionPage(
        now=now,
        execution=execution,
        facts=_facts(execution),
        attempts=tuple(_attempt(each) for each in attempts),
        plan_id=plan_of_slot(execution.olt_id, execution.slot),
    )


def _facts(execution: Execution) -> tuple[str, ...]:
    facts = execution.node.job.facts if execution.node else ()
    return tuple(describe_fact(each) for each in facts)


def _attempt(row: Attempt) -> AttemptRow:
    length = _length(row.started_at, row.ended_at)
    return AttemptRow(row.number, row.started_at, length, row.error, row.worker)


def _length(start: datetime | None, end: datetime | None) -> timedelta | None:
    return None if start is None or end is None else end - start
