"""Plans for people: an hour with its actual starts, the accuracy of past plans, and shifts that save time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Min, QuerySet
from django.db.models.functions import Coalesce

from facho.apps.execution_coordinator.models import ExecutionPlan, PlanStatus
from facho.apps.executions.models import Execution, Trigger
from facho.config import Config
from facho.core.feasibility import Shift, best_shift
from facho.core.interval import format_interval
from facho.core.plan_data import Key, Planned, StoredPlan, decode_plan, key_of
from facho.core.quota import running_hour
from facho.engine.coordinate.workloads import load_workloads

# Plans have first attempts only, not those that follow a failure.
_FIRST_START: Final = Coalesce(Min("attempts__started_at"), "started_at")


@dataclass(frozen=True, slots=True)
class PlanLine:
    planned: Planned
    # None for a run that has not begun.
    began: datetime | None


def running_plan(olt_id: int, now: datetime, config: Config) -> ExecutionPlan | None:
    hour = running_hour(now, config.time_zone)
    plans = ExecutionPlan.objects.filter(olt=olt_id, period_start=hour.start, status=PlanStatus.ACTIVE)
    return plans.first()


def plan_hours(plan: ExecutionPlan) -> StoredPlan:
    return decode_plan(plan.period_start, plan.plan_data)


def plan_lines(plan: ExecutionPlan) -> list[PlanLine]:
    executions = Execution.objects.filter(
        olt=plan.olt_id, slot__gt=plan.period_start, slot__lte=plan.period_end
    ).exclude(trigger=Trigger.RUN_NOW)
    starts = first_starts(executions).get(plan.olt_id, {})
    return [PlanLine(each, starts.get(each.key)) for each in plan_hours(plan).entries]


def first_starts(executions: QuerySet[Execution]) -> dict[int, dict[Key, datetime]]:
    """Return when each of these executions began for the first time, by OLT and by node and slot."""
    starts: dict[int, dict[Key, datetime]] = defaultdict(dict)
    rows = executions.filter(started_at__isnull=False, node__isnull=False).order_by()
    for olt_id, node_id, slot, start in rows.values_list("olt_id", "node_id", "slot", _FIRST_START):
        assert node_id is not None
        starts[olt_id][key_of(node_id, slot)] = start
    return starts


@dataclass(frozen=True, slots=True)
class PlanAccuracy:
    """The number of runs of past plans, and of those that began when predicted."""

    plans: int
    runs: int
    near: int
    # The largest median error of a plan; None if no run that began had been planned.
    median_s: float | None

    @property
    def near_pct(self) -> float | None:
        return round(100 * self.near / self.runs, 1) if self.runs else None

    @classmethod
    def combine(cls, several: Collection[PlanAccuracy]) -> PlanAccuracy:
        medians = [each.median_s for each in several if each.median_s is not None]
        return cls(
            sum(each.plans for each in several),
            sum(each.runs for each in several),
            sum(each.near for each in several),
            max(medians, default=None),
        )


def plan_accuracy(since: datetime) -> dict[str, PlanAccuracy]:
    """Return the accuracy of the plans of hours that ended since then, by the name of the OLT."""
    rows = ExecutionPlan.objects.filter(status=PlanStatus.COMPLETED, period_end__gt=since, compared__gt=0)
    columns = ("olt__name", "compared", "near_pct", "median_error_s")
    by_olt: dict[str, list[PlanAccuracy]] = defaultdict(list)
    for olt, runs, percent, median in rows.order_by("olt__name").values_list(*columns):
        by_olt[olt].append(PlanAccuracy(1, runs, round(runs * (percent or 0.0) / 100), median))
    return {olt: PlanAccuracy.combine(plans) for olt, plans in by_olt.items()}


def suggest_shift(olt_id: int, now: datetime, config: Config) -> Shift | None:
    """Return the shift of a grid that saves most waiting. The search is slow, so it is made on demand."""
    work = load_workloads([olt_id], now, now, config).get(olt_id)
    return None if work is None else best_shift([task for task in work.tasks if task.sure], now)


def plan_json(plan: ExecutionPlan, shift: Shift | None) -> dict[str, Any]:
    """Return everything about a plan, for scripts."""
    hours = plan_hours(plan)
    return {
        "period_start": plan.period_start,
        "period_end": plan.period_end,
        "status": plan.status,
        "minutes_p50": plan.load_p50_min,
        "minutes_p95": plan.load_p95_min,
        "runs": [_line_json(each) for each in plan_lines(plan)],
        "lost": [{"job": each.job, "slot": each.slot, "why": str(each.why)} for each in hours.lost],
        "quotas": [
            {"task_type": each.task_type, "required": each.required, "completed": each.completed}
            for each in hours.promises
        ],
        "infeasible": plan.infeasible,
        "shift": shift
        and {
            "job": shift.job,
            "node": shift.node_id,
            "by": format_interval(shift.by),
            "saves_min_a_day": round(shift.saves.total_seconds() / 60, 1),
        },
    }


def _line_json(line: PlanLine) -> dict[str, Any]:
    planned = line.planned
    return {
        "job": planned.job,
        "task_types": list(planned.task_types),
        "slot": planned.slot,
        "start": planned.start,
        "end": planned.end,
        "wait_s": round(planned.wait.total_seconds(), 1),
        "waits_for": planned.waits_for or None,
        "first_predicted": planned.first,
        "began": line.began,
    }
