"""Makes the plan of the running hour for each OLT: when the hour begins, and when its tasks change.

While the tasks are the same it stays the same plan, updated when reality departs from it (`plan_progress`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from django.db.models import Exists, OuterRef

from facho.apps.db import sql
from facho.apps.db.sql import update_rows
from facho.apps.execution_coordinator.models import ExecutionPlan, PlanStatus
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.feasibility import Infeasible, fits, infeasible
from facho.core.plan import Load, Task, hourly_load, predicted_quotas
from facho.core.plan_data import StoredPlan, continue_plan, decode_plan, encode_plan, signature
from facho.core.quota import Hour, running_hour
from facho.engine.coordinate.workloads import Workload, load_workloads
from facho.engine.events.stream import publish
from facho.engine.events.types import PlanInfeasible

_MAX_TASKS_NAMED: Final = 5

# Why a plan is infeasible, as it is stored: minutes of work, tasks at risk, and the change that would help.
Problem: TypeAlias = Mapping[str, Any]


def update_plans(olt_ids: Sequence[int] | None, now: datetime, config: Config) -> None:
    """Make the plans of these OLTs again, or of all for None.

    Many at once are marked as stale, and made by the coordinator's next steps.
    """
    _abort_plans_of_disabled(olt_ids, now)
    if olt_ids is None or len(olt_ids) > config.plans_at_once:
        mark_stale(olt_ids, now, config)
        return
    _make_plans(olt_ids, running_hour(now, config.time_zone), now, config)


def mark_stale(olt_ids: Collection[int] | None, now: datetime, config: Config) -> None:
    """Have the coordinator's next steps make the plans of these OLTs again, or of all for None."""
    hour = running_hour(now, config.time_zone)
    active = ExecutionPlan.objects.filter(status=PlanStatus.ACTIVE, period_start=hour.start)
    if olt_ids is not None:
        active = active.filter(olt__in=olt_ids)
    active.update(stale=True)


def _abort_plans_of_disabled(olt_ids: Sequence[int] | None, now: datetime) -> None:
    disabled = Olt.objects.filter(enabled=False)
    if olt_ids is not None:
        disabled = disabled.filter(id__in=olt_ids)
    if ids := list(disabled.order_by().values_list("id", flat=True)):
        plans = ExecutionPlan.objects.filter(status=PlanStatus.ACTIVE, period_end__gt=now, olt__in=ids)
        plans.update(status=PlanStatus.ABORTED, updated_at=now)


def make_missing_plans(now: datetime, config: Config) -> int:
    """Make plans for OLTs without one and for those that are stale; return how many."""
    hour = running_hour(now, config.time_zone)
    current = ExecutionPlan.objects.filter(
        olt=OuterRef("id"), status=PlanStatus.ACTIVE, period_start=hour.start, stale=False
    )
    has_nodes = SnmpJobHost.objects.filter(olt=OuterRef("id"), next_run_at__isnull=False)
    wanted = Olt.objects.filter(Exists(has_nodes), ~Exists(current), enabled=True)
    olt_ids = list(wanted.order_by("id").values_list("id", flat=True)[: config.plans_at_once])
    if olt_ids:
        _make_plans(olt_ids, hour, now, config)
    return len(olt_ids)


class _ActivePlan(NamedTuple):
    """The active plan of an OLT."""

    plan_id: int
    signature: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _MadePlan:
    olt_id: int
    signature: str
    hours: StoredPlan
    data: Mapping[str, Any]
    load: Load
    infeasible: Problem | None
    # The active plan that this one updates; None for a new one.
    updates: int | None
    # Runs that start late because they wait for another.
    waiting: int


def _make_plans(olt_ids: Sequence[int], hour: Hour, now: datetime, config: Config) -> None:
    """Compute the plans before the transaction, so that nobody waits for that."""
    active = _load_active_plans(olt_ids, hour)
    works = [work for work in load_workloads(olt_ids, now, hour.end, config).values() if work.tasks]
    overloaded = [work for work in works if not fits(_measured_tasks(work), now)]
    reported = _load_reported_problems([work.olt_id for work in overloaded])
    problems = {work.olt_id: _find_problem(work, reported, now) for work in overloaded}
    made = [
        _make_plan(work, active.get(work.olt_id), problems.get(work.olt_id), hour, now, config)
        for work in works
    ]
    with sql.write_transaction():
        _store_plans(made, active, hour, now)
        for each in made:
            if each.infeasible is not None and (each.olt_id, each.signature) not in reported:
                _publish_problem(each.olt_id, each.infeasible, now)


def _load_active_plans(olt_ids: Collection[int], hour: Hour) -> dict[int, _ActivePlan]:
    rows = ExecutionPlan.objects.filter(
        olt__in=olt_ids, status=PlanStatus.ACTIVE, period_start=hour.start
    ).values_list("olt_id", "id", "signature", "plan_data")
    return {olt_id: _ActivePlan(*rest) for olt_id, *rest in rows}


def _measured_tasks(work: Workload) -> list[Task]:
    """Return the tasks whose duration was measured: a guess must not raise an alarm."""
    return [task for task in work.tasks if task.sure and not task.suspended]


def _load_reported_problems(olt_ids: Collection[int]) -> dict[tuple[int, str], Problem]:
    """Return the problems that were reported before, by OLT and signature of its tasks."""
    if not olt_ids:
        return {}
    rows = ExecutionPlan.objects.filter(olt__in=olt_ids, infeasible__isnull=False).order_by("id")
    columns = ("olt_id", "signature", "infeasible")
    return {
        (olt, tasks): problem for olt, tasks, problem in rows.values_list(*columns) if problem is not None
    }


def _find_problem(
    work: Workload, reported: Mapping[tuple[int, str], Problem], now: datetime
) -> Problem | None:
    """Return why the work does not fit. A slow search, whose result stands while the tasks are the same."""
    before = reported.get((work.olt_id, signature(work.tasks)))
    if before is not None:
        return before
    found = infeasible(_measured_tasks(work), now)
    return None if found is None else _problem_json(found)


def _make_plan(
    work: Workload,
    active: _ActivePlan | None,
    problem: Problem | None,
    hour: Hour,
    now: datetime,
    config: Config,
) -> _MadePlan:
    tasks, sign = work.tasks, signature(work.tasks)
    same = active if active is not None and active.signature == sign else None
    before = decode_plan(hour.start, same.data) if same else StoredPlan()
    hours = continue_plan(before, tasks, work.plan(now, hour.end, config), now)
    quotas = predicted_quotas(tasks, hours.slots(), hour.start, hour.end, config.quota_close_within)
    hours = replace(hours, promises=tuple(quotas))
    data = encode_plan(hour.start, tasks, hours)
    waiting = sum(bool(each.waits_for) and each.wait > config.delayed_after for each in hours.entries)
    updates = same.plan_id if same else None
    return _MadePlan(work.olt_id, sign, hours, data, hourly_load(tasks), problem, updates, waiting)


def _problem_json(found: Infeasible) -> dict[str, Any]:
    change = found.change
    return {
        "minutes": found.p50_min,
        "at_risk": [[each.task_type, each.required, each.completed] for each in found.at_risk],
        "change": change
        and {
            "node": change.node_id,
            "job": change.job,
            "before_s": round(change.before.total_seconds()),
            "after_s": round(change.after.total_seconds()),
        },
    }


def _store_plans(
    made: Sequence[_MadePlan], active: Mapping[int, _ActivePlan], hour: Hour, now: datetime
) -> None:
    updated = {each.updates for each in made if each.updates is not None}
    superseded = sorted({each.plan_id for each in active.values()} - updated)
    if superseded:
        ExecutionPlan.objects.filter(id__in=superseded, status=PlanStatus.ACTIVE).update(
            status=PlanStatus.SUPERSEDED, stale=False, updated_at=now
        )
    changed = sorted((each for each in made if each.updates), key=lambda each: each.updates or 0)
    update_rows(
        ExecutionPlan, _CHANGED, [(each.updates, *_adapt(each, now)) for each in changed], is_adapted=True
    )
    rows = [
        ExecutionPlan(
            olt_id=each.olt_id,
            period_start=hour.start,
            period_end=hour.end,
            signature=each.signature,
            created_at=now,
            **_columns(each, now),
        )
        for each in made
        if each.updates is None
    ]
    if rows:
        # Another process that was faster has made the same plan.
        ExecutionPlan.objects.bulk_create(rows, ignore_conflicts=True)


_CHANGED: Final = (
    "plan_data", "total_tasks", "lost_slots", "waiting_runs", "load_p50_min", "load_p95_min", "infeasible",
    "stale", "updated_at",
)  # fmt: skip


def _adapt(made: _MadePlan, now: datetime) -> Iterator[Any]:
    """Yield the columns _CHANGED as the database takes them."""
    values = _columns(made, now)
    for name in _CHANGED:
        value = values[name]
        if name in ("plan_data", "infeasible"):
            yield None if value is None else json.dumps(value)
        else:
            yield sql.db_time(value) if isinstance(value, datetime) else value


def _columns(made: _MadePlan, now: datetime) -> dict[str, Any]:
    return {
        "plan_data": made.data,
        "total_tasks": len(made.hours.entries),
        "lost_slots": len(made.hours.lost),
        "waiting_runs": made.waiting,
        "load_p50_min": made.load.p50_min,
        "load_p95_min": made.load.p95_min,
        "infeasible": made.infeasible,
        "stale": False,
        "updated_at": now,
    }


def _publish_problem(olt_id: int, problem: Problem, now: datetime) -> None:
    at_risk = _list_tasks(problem["at_risk"])
    publish(
        PlanInfeasible(olt_id=olt_id, minutes=problem["minutes"], at_risk=at_risk, change=problem["change"]),
        now,
    )


def _list_tasks(at_risk: Iterable[Sequence[Any]]) -> str:
    """Return the first of them as `optics 7/12, ...`."""
    return ", ".join(f"{name} {done}/{required}" for name, required, done in [*at_risk][:_MAX_TASKS_NAMED])
