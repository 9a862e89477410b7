"""The report of a violation as values. It is kept as JSON without words: each reader has it in their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from facho.core.lost_slots import LostSlots, merge_lost_slots


@dataclass(frozen=True, slots=True)
class TaskReport:
    task_type: str
    required: int
    completed: int
    failed: int
    skipped: int
    percent: float
    # None when the quota was met.
    severity: str | None
    reasons: Sequence[LostSlots]


def reasons_of(written: Mapping[str, Any]) -> Sequence[LostSlots]:
    """Return the reasons of a task or of a whole report, the largest first."""
    found = merge_lost_slots(LostSlots.from_json(each) for each in written.get("reasons", ()))
    return [each if each.times else _longest_of_tasks(each, written) for each in found]


def _longest_of_tasks(lost: LostSlots, report: Mapping[str, Any]) -> LostSlots:
    """Return a reason with the time of its longest task.

    Reports of earlier versions have the sum over all tasks, which is no time that passed on any clock.
    """
    tasks = (each for task in report.get("tasks", ()) for each in reasons_of(task))
    longest = max(
        (each.lost_s for each in tasks if each.why == lost.why and each.what == lost.what), default=0
    )
    return replace(lost, lost_s=longest) if longest else lost


def tasks_of(report: Mapping[str, Any]) -> Sequence[TaskReport]:
    """The worst first. A report without tasks has none: it is still there to be read."""
    return sorted(map(_decode_task, report.get("tasks", ())), key=lambda task: task.percent)


def _decode_task(written: Mapping[str, Any]) -> TaskReport:
    return TaskReport(
        task_type=written["task_type"],
        required=written["required"],
        completed=written["completed"],
        failed=written.get("failed", 0),
        skipped=written.get("skipped", 0),
        percent=written.get("percent", 0.0),
        severity=written.get("severity"),
        reasons=reasons_of(written),
    )
