"""The coordinator's turn at the plans: closes those of hours that are over, makes those that are missing,
and looks again at those from which reality departs. Of so many OLTs at a time; the others are next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db.models import Count, Q

from facho.apps.db import sql
from facho.apps.db.bulk import update_rows
from facho.apps.execution_coordinator.models import CoordinatorState, ExecutionPlan, PlanStatus
from facho.apps.executions.models import OPEN, Execution, State, Trigger
from facho.config import Config
from facho.core.plan_data import Comparison, Key, StoredPlan, compare_with_runs, decode_plan, key_of
from facho.core.quota import Hour, must_close, running_hour
from facho.engine.coordinate.plan_reports import FIRST_BEGAN
from facho.engine.coordinate.plans import make_missing_plans, update_plans

PLANS: Final = "plans"
_FIRST_LOOK: Final = timedelta(minutes=1)


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
    """Counts what ended since the last look, and has plans made again from which it departs."""
    hour = running_hour(now, config.time_zone)
    ended = _ended_since(_seen(now), now, config)
    late = _open_before(now - config.plan_departs_after, config)
    _note_seen(ended[-1].ended_at or now if len(ended) == config.plans_at_once else now)
    plans = _plans({each.olt_id for each in (*ended, *late)}, hour)
    departed = {
        run.olt_id
        for run in (*ended, *late)
        if run.olt_id in plans and _departs(run, plans[run.olt_id], hour, now, config.plan_departs_after)
    }
    counted = {each.olt_id for each in ended} & set(plans)
    # Each run that ended says how long such a run takes.
    departed |= {olt_id for olt_id in counted if not plans[olt_id].sure}
    _count(counted, hour)
    if departed:
        update_plans(sorted(departed)[: config.plans_at_once], now, config)
    return len(departed)


def _seen(now: datetime) -> datetime:
    state = CoordinatorState.objects.filter(name=PLANS).first()
    return now - _FIRST_LOOK if state is None else state.updated_at


def _note_seen(until: datetime) -> None:
    with sql.write_transaction():
        CoordinatorState.objects.update_or_create(name=PLANS, defaults={"updated_at": until})


def _ended_since(since: datetime, now: datetime, config: Config) -> list[_Run]:
    rows = Execution.objects.filter(ended_at__gt=since, ended_at__lte=now).exclude(trigger=Trigger.RUN_NOW)
    return [_Run(*row) for row in rows.order_by("ended_at").values_list(*_RUN)[: config.plans_at_once]]


def _open_before(since: datetime, config: Config) -> list[_Run]:
    rows = Execution.objects.filter(state__in=OPEN, not_before__lt=since).exclude(trigger=Trigger.RUN_NOW)
    return [_Run(*row) for row in rows.order_by("not_before").values_list(*_RUN)[: config.plans_at_once]]


def _plans(olt_ids: Iterable[int], hour: Hour) -> dict[int, StoredPlan]:
    rows = ExecutionPlan.objects.filter(
        olt__in=set(olt_ids), status=PlanStatus.ACTIVE, period_start=hour.start, stale=False
    )
    return {olt_id: decode_plan(hour.start, data) for olt_id, data in rows.values_list("olt_id", "plan_data")}


def _departs(run: _Run, plan: StoredPlan, hour: Hour, now: datetime, by: timedelta) -> bool:
    """It began or ended at another time than was planned, or should have by now."""
    if run.node_id is None or run.slot not in hour:
        return False
    key = key_of(run.node_id, run.slot)
    planned = next((each for each in plan.entries if each.key == key), None)
    if planned is None:
        return run.state in OPEN
    started = run.started_at if run.state != State.WAITING else None
    return _off(started, planned.start, now, by) or _off(run.ended_at, planned.end, now, by)


def _off(really: datetime | None, planned: datetime, now: datetime, by: timedelta) -> bool:
    return abs(really - planned) > by if really is not None else now - planned > by


def _count(olt_ids: Iterable[int], hour: Hour) -> None:
    """How far each plan has come, from the executions: whoever counts twice comes to the same."""
    counts = _counted(sorted(olt_ids), hour)
    if not counts:
        return
    with sql.write_transaction():
        for olt_id, (done, failed) in sorted(counts.items()):
            ExecutionPlan.objects.filter(
                olt=olt_id, period_start=hour.start, status=PlanStatus.ACTIVE
            ).update(completed_tasks=done, failed_tasks=failed)


def _counted(olt_ids: Sequence[int], hour: Hour) -> dict[int, tuple[int, int]]:
    rows = (
        _of_hour(olt_ids, hour)
        .order_by()
        .values_list("olt_id")
        .annotate(
            done=Count("id", filter=Q(state=State.SUCCESS)), failed=Count("id", filter=Q(state=State.FAILED))
        )
    )
    return {olt_id: (done, failed) for olt_id, done, failed in rows}


def _of_hour(olt_ids: Sequence[int], hour: Hour) -> Any:
    """What ended of the hour's slots. Nothing of them ended before it began."""
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
    """Those of hours that are over, when nothing of the hour is open any more or it is closed anyway."""
    rows = ExecutionPlan.objects.filter(status=PlanStatus.ACTIVE, period_end__lt=now).order_by("period_end")
    by_hour: dict[Hour, list[_Plan]] = defaultdict(list)
    for start, end, *plan in rows.values_list(*_PLAN)[: config.plans_at_once]:
        by_hour[Hour(start, end)].append(_Plan(*plan))
    return sum(_close(hour, plans, now, config) for hour, plans in by_hour.items())


def _close(hour: Hour, plans: Sequence[_Plan], now: datetime, config: Config) -> int:
    olt_ids = [plan.olt_id for plan in plans]
    overdue = must_close(hour.end, now, within=config.quota_close_within)
    unfinished = set() if overdue else _unfinished(olt_ids, hour)
    ready = [plan for plan in plans if plan.olt_id not in unfinished]
    counts = _counted([plan.olt_id for plan in ready], hour)
    began = _began([plan.olt_id for plan in ready], hour)
    rows = [
        _completed(
            plan.plan_id,
            counts.get(plan.olt_id, (0, 0)),
            _compared(hour, plan, began[plan.olt_id], config),
            now,
        )
        for plan in ready
    ]
    with sql.write_transaction():
        update_rows(ExecutionPlan, _COMPLETED, sorted(rows))
    return len(ready)


def _compared(hour: Hour, plan: _Plan, began: Mapping[Key, datetime], config: Config) -> Comparison:
    return compare_with_runs(
        decode_plan(hour.start, plan.data), began, made=plan.made, near=config.plan_departs_after
    )


_COMPLETED: Final = (
    "status", "completed_tasks", "failed_tasks", "compared", "median_error_s", "near_pct", "updated_at",
)  # fmt: skip


def _completed(plan_id: int, counts: tuple[int, int], near: Comparison, now: datetime) -> tuple[Any, ...]:
    """A row of what is _COMPLETED. Nobody else touches the plan of an hour that is over."""
    status = PlanStatus.COMPLETED.value
    return plan_id, status, *counts, near.count, near.median_s, near.near_pct, now


def _unfinished(olt_ids: Sequence[int], hour: Hour) -> set[int]:
    rows = Execution.objects.filter(
        olt__in=olt_ids, state__in=OPEN, slot__gt=hour.start, slot__lte=hour.end
    ).exclude(trigger=Trigger.RUN_NOW)
    return set(rows.values_list("olt_id", flat=True))


def _began(olt_ids: Sequence[int], hour: Hour) -> dict[int, dict[Key, datetime]]:
    found: dict[int, dict[Key, datetime]] = defaultdict(dict)
    rows = _of_hour(olt_ids, hour).filter(started_at__isnull=False, node__isnull=False).order_by()
    for olt_id, node_id, slot, started in rows.values_list("olt_id", "node_id", "slot", FIRST_BEGAN):
        found[olt_id][key_of(node_id, slot)] = started
    return found
