"""What trackers and reports of violations keep, as values: what each task got, and why slots were lost.

It is kept as JSON without any words of a language, so that every reader can have it in their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class WhyLost(StrEnum):
    """Why a slot was lost, beside what makes runs late (`core.delay.Why`)."""

    FAILED = "failed"
    ABORTED = "aborted"
    # It ended when the hour had been closed.
    LATE = "late"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Lost:
    # A value of `Why` or of `WhyLost`.
    why: str
    # The job that kept the OLT busy, or an error. May be empty.
    what: str
    count: int
    # For how long there was no data because of it.
    lost_s: int


@dataclass(frozen=True, slots=True)
class TaskReport:
    task_type: str
    required: int
    completed: int
    failed: int
    skipped: int
    percent: float
    # None when enough of it was done.
    severity: str | None
    reasons: tuple[Lost, ...]


def lost_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Lost, ...]:
    """The reasons of a tracker or a report, those that cost the most slots first."""
    found = (Lost(row["why"], row["what"], row["count"], row["lost_s"]) for row in rows)
    return tuple(sorted(found, key=lambda each: (-each.count, -each.lost_s)))


def tasks_of(report: Mapping[str, Any]) -> tuple[TaskReport, ...]:
    """The tasks of a violation's report, the worst first."""
    return tuple(sorted(map(_task, report.get("tasks", ())), key=lambda task: task.percent))


def _task(row: Mapping[str, Any]) -> TaskReport:
    return TaskReport(
        task_type=row["task_type"],
        required=row["required"],
        completed=row["completed"],
        failed=row["failed"],
        skipped=row["skipped"],
        percent=row["percent"],
        severity=row.get("severity"),
        reasons=lost_of(row.get("reasons", ())),
    )
