"""Follows the plans: updates those from which reality departs, and closes and compares those of past hours.

A limited number of OLTs in each step of the coordinator; the others follow in the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db.models import Count, Q

from facho.apps.db import sql
from facho.apps.db.sql import update_rows
from facho.apps.execution_coordinator.models import CoordinatorState, ExecutionPlan, PlanStatus
from facho.apps.executions.models import OPEN, Execution, State, Trigger
from facho.config import Config
from facho.core.plan_data import Comparison, Key, compare_with_runs, decode_plan, planned_times
from facho.core.quota import Hour, must_close, running_hour
from facho.engine.coordinate.plan_reports import first_starts
from facho.engine.coordinate.plans import make_missing_plans, update_plans

PLANS: Final = "plans"
_FIRST_PERIOD: Final = timedelta(minutes=1)
# Ended runs that one step compares with their plans: more than 200 a second do not fall behind.
_MAX_RUNS: Final = 2000


@dataclass(frozen=True, slots=True)
class PlanCounts:
    closed: int
    made: int
    followed: int


def step_plans(now: datetime, config: Config) -> PlanCounts:
    return PlanCounts(close_plans(now, config), make_missing_plans(now, config), revise_plans(now, config))


class _Run(NamedTuple):
    olt_id: int
    node_id: int | None
    slot: datetime
    state: str
    started_at: datetime | None
    ended_at: datetime | None


_RUN: Final = ("olt_id", "node_id", "slot", "state", "started_at", "ended_at")


def revise_plans(now: datetime, config: Config) -> int:
    """Count what ended since the last step, and make plans again from which it departs; return how many.

    A plan with guessed durations is made again when they have been learned (`forecast_learning`).
    """
    hour = running_hour(now, config.time_zone)
    ended = _load_ended(_load_progress(now), now)
    late = _load_open(now - config.plan_departs_after, config)
    _store_progress(ended[-1].ended_at or now if len(ended) == _MAX_RUNS else now)
    plans = _load_active_plans({each.olt_id for each in (*ended, *late)}, hour)
    departed = {
        run.olt_id
        for run in (*ended, *late)
        if run.olt_id in plans and _departs(run, plans[run.olt_id], hour, now, config.plan_departs_after)
    }
    _store_counts(_some_of({each.olt_id for each in ended} & set(plans), now, config), hour)
    if departed:
        update_plans(sorted(departed)[: config.plans_at_once], now, config)
    return len(departed)


def _load_progress(now: datetime) -> datetime:
    state = CoordinatorState.objects.filter(name=PLANS).first()
    return now - _FIRST_PERIOD if state is None else state.updated_at


def _store_progress(until: datetime) -> None:
    with sql.write_transaction():
        CoordinatorState.objects.update_or_create(name=PLANS, defaults={"updated_at": until})


def _some_of(olt_ids: Collection[int], now: datetime, config: Config) -> list[int]:
    """Return as many OLTs as a step works on, others at another time: counts of a plan may be a little old.

    Those of a closed plan are exact.
    """
    every, most = sorted(olt_ids), config.plans_at_once
    if len(every) <= most:
        return every
    first = int(now.timestamp()) * most % len(every)
    return [*every[first:], *every[:first]][:most]


def _load_ended(since: datetime, now: datetime) -> list[_Run]:
    rows = Execution.objects.filter(ended_at__gt=since, ended_at__lte=now).exclude(trigger=Trigger.RUN_NOW)
    return [_Run(*row) for row in rows.order_by("ended_at").values_list(*_RUN)[:_MAX_RUNS]]


def _load_open(before: datetime, config: Config) -> list[_Run]:
    rows = Execution.objects.filter(state__in=OPEN, not_before__lt=before).exclude(trigger=Trigger.RUN_NOW)
    return [_Run(*row) for row in rows.order_by("not_before").values_list(*_RUN)[: config.plans_at_once]]


def _load_active_plans(olt_ids: Iterable[int], hour: Hour) -> dict[int, Mapping[str, Any]]:
    rows = ExecutionPlan.objects.filter(
        olt__in=set(olt_ids), status=PlanStatus.ACTIVE, period_start=hour.start, stale=False
    )
    return dict(rows.values_list("olt_id", "plan_data"))


def _departs(run: _Run, plan: Mapping[str, Any], hour: Hour, now: datetime, by: timedelta) -> bool:
    """Return True if the run began or ended at another time than planned, or should have by now."""
    if run.node_id is None or run.slot not in hour:
        return False
    planned = planned_times(hour.start, plan, run.node_id, run.slot)
    if planned is None:
        return run.state in OPEN
    started = run.started_at if run.state != State.WAITING else None
    return _differs(started, planned[0], now, by) or _differs(run.ended_at, planned[1], now, by)


def _differs(actual: datetime | None, planned: datetime, now: datetime, by: timedelta) -> bool:
    return abs(actual - planned) > by if actual is not None else now - planned > by


def _store_counts(olt_ids: Iterable[int], hour: Hour) -> None:
    """Store how many runs of each plan ended. They are counted from the executions, so twice is the same."""
    counts = _count_ended(sorted(olt_ids), hour)
    if not counts:
        return
    plans = ExecutionPlan.objects.filter(
        olt__in=list(counts), period_start=hour.start, status=PlanStatus.ACTIVE
    )
    stored = plans.order_by("id").values_list("id", "olt_id", "completed_tasks", "failed_tasks")
    rows = [(plan, *counts[olt]) for plan, olt, *before in stored if counts[olt] != tuple(before)]
    if rows:
        with sql.write_transaction():
            update_rows(ExecutionPlan, ["completed_tasks", "failed_tasks"], rows, is_adapted=True)


def _count_ended(olt_ids: Sequence[int], hour: Hour) -> dict[int, tuple[int, int]]:
    rows = (
        _ended_of_hour(olt_ids, hour)
        .order_by()
        .values_list("olt_id")
        .annotate(
            done=Count("id", filter=Q(state=State.SUCCESS)), failed=Count("id", filter=Q(state=State.FAILED))
        )
    )
    return {olt_id: (done, failed) for olt_id, done, failed in rows}


def _ended_of_hour(olt_ids: Sequence[int], hour: Hour) -> Any:
    """Return the executions of the hour's slots that have ended. None of them ended before it began."""
    return Execution.objects.filter(
        olt__in=olt_ids, ended_at__gt=hour.start, slot__gt=hour.start, slot__lte=hour.end
    ).exclude(trigger=Trigger.RUN_NOW)


class _Plan(NamedTuple):
    plan_id: int
    olt_id: int
    made: datetime
    data: Mapping[str, Any]


_PLAN: Final = ("period_start", "period_end", "id", "olt_id", "created_at", "plan_data")


def close_plans(now: datetime, config: Config) -> int:
    """Close plans of past hours of which nothing is open, or that must be closed; return how many."""
    rows = ExecutionPlan.objects.filter(status=PlanStatus.ACTIVE, period_end__lt=now).order_by("period_end")
    by_hour: dict[Hour, list[_Plan]] = defaultdict(list)
    for start, end, *plan in rows.values_list(*_PLAN)[: config.plans_at_once]:
        by_hour[Hour(start, end)].append(_Plan(*plan))
    return sum(_close_plans_of_hour(hour, plans, now, config) for hour, plans in by_hour.items())


def _close_plans_of_hour(hour: Hour, plans: Sequence[_Plan], now: datetime, config: Config) -> int:
    olt_ids = [plan.olt_id for plan in plans]
    overdue = must_close(hour.end, now, within=config.quota_close_within)
    still_open = set() if overdue else _olts_with_open(olt_ids, hour)
    ready = [plan for plan in plans if plan.olt_id not in still_open]
    counts = _count_ended([plan.olt_id for plan in ready], hour)
    starts = first_starts(_ended_of_hour([plan.olt_id for plan in ready], hour))
    rows = [
        _completed_row(
            plan.plan_id,
            counts.get(plan.olt_id, (0, 0)),
            _compare(hour, plan, starts.get(plan.olt_id, {}), config),
            now,
        )
        for plan in ready
    ]
    with sql.write_transaction():
        update_rows(ExecutionPlan, _COMPLETED, sorted(rows))
    return len(ready)


def _compare(hour: Hour, plan: _Plan, starts: Mapping[Key, datetime], config: Config) -> Comparison:
    return compare_with_runs(
        decode_plan(hour.start, plan.data), starts, made=plan.made, near=config.plan_departs_after
    )


_COMPLETED: Final = (
    "status", "completed_tasks", "failed_tasks", "compared", "median_error_s", "near_pct", "updated_at",
)  # fmt: skip


def _completed_row(
    plan_id: int, counts: tuple[int, int], comparison: Comparison, now: datetime
) -> tuple[Any, ...]:
    """Return the columns _COMPLETED of a plan. Nobody else writes the plan of a past hour."""
    status = PlanStatus.COMPLETED.value
    return plan_id, status, *counts, comparison.count, comparison.median_s, comparison.near_pct, now


def _olts_with_open(olt_ids: Sequence[int], hour: Hour) -> set[int]:
    rows = Execution.objects.filter(
        olt__in=olt_ids, state__in=OPEN, slot__gt=hour.start, slot__lte=hour.end
    ).exclude(trigger=Trigger.RUN_NOW)
    return set(rows.values_list("olt_id", flat=True))
