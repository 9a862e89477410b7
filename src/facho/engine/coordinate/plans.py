"""Keeps a plan of the running hour for each OLT: made when the hour begins, and when its tasks change.

While the tasks are the same it is the same plan, kept current as reality departs from it. When the hour is
over it is compared with what became of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from django.db.models import Exists, OuterRef

from facho.apps.db import sql
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

_MOST_NAMED: Final = 5

# What does not fit, as it is kept: the minutes, what gets too little, and the change that would help.
Problem: TypeAlias = Mapping[str, Any]


def update_plans(olt_ids: Sequence[int] | None, now: datetime, config: Config) -> None:
    """Of all OLTs, if none are named. Of very many at once the coordinator's next steps do the rest."""
    hour = running_hour(now, config.time_zone)
    _abort_disabled(olt_ids, now)
    active = ExecutionPlan.objects.filter(status=PlanStatus.ACTIVE, period_start=hour.start)
    if olt_ids is None or len(olt_ids) > config.plans_at_once:
        if olt_ids is not None:
            active = active.filter(olt__in=olt_ids)
        active.update(stale=True)
        return
    _make(olt_ids, hour, now, config)


def _abort_disabled(olt_ids: Sequence[int] | None, now: datetime) -> None:
    disabled = Olt.objects.filter(enabled=False)
    if olt_ids is not None:
        disabled = disabled.filter(id__in=olt_ids)
    if off := list(disabled.order_by().values_list("id", flat=True)):
        plans = ExecutionPlan.objects.filter(status=PlanStatus.ACTIVE, period_end__gt=now, olt__in=off)
        plans.update(status=PlanStatus.ABORTED, updated_at=now)


def make_missing_plans(now: datetime, config: Config) -> int:
    """Those that the hour has none for yet, and those that were left for later. How many were made."""
    hour = running_hour(now, config.time_zone)
    current = ExecutionPlan.objects.filter(
        olt=OuterRef("id"), status=PlanStatus.ACTIVE, period_start=hour.start, stale=False
    )
    has_nodes = SnmpJobHost.objects.filter(olt=OuterRef("id"), next_run_at__isnull=False)
    wanted = Olt.objects.filter(Exists(has_nodes), ~Exists(current), enabled=True)
    olt_ids = list(wanted.order_by("id").values_list("id", flat=True)[: config.plans_at_once])
    if olt_ids:
        _make(olt_ids, hour, now, config)
    return len(olt_ids)


class _Known(NamedTuple):
    """The plan that an OLT has."""

    plan_id: int
    signature: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Made:
    olt_id: int
    signature: str
    hours: StoredPlan
    data: Mapping[str, Any]
    load: Load
    infeasible: Problem | None
    # The plan that goes on; None for a new one.
    goes_on: int | None


def _make(olt_ids: Sequence[int], hour: Hour, now: datetime, config: Config) -> None:
    """Thinks first and writes then, so that nobody waits for the thinking."""
    known = _known(olt_ids, hour)
    works = [work for work in load_workloads(olt_ids, now, hour.end, config).values() if work.tasks]
    too_much = [work for work in works if not fits(_well_known(work), now)]
    reported = _reported([work.olt_id for work in too_much])
    problems = {work.olt_id: _problem(work, reported, now) for work in too_much}
    made = [
        _plan(work, known.get(work.olt_id), problems.get(work.olt_id), hour, now, config) for work in works
    ]
    with sql.write_transaction():
        _write(made, known, hour, now)
        for each in made:
            if each.infeasible is not None and (each.olt_id, each.signature) not in reported:
                _report(each.olt_id, each.infeasible, now)


def _known(olt_ids: Collection[int], hour: Hour) -> dict[int, _Known]:
    rows = ExecutionPlan.objects.filter(
        olt__in=olt_ids, status=PlanStatus.ACTIVE, period_start=hour.start
    ).values_list("olt_id", "id", "signature", "plan_data")
    return {olt_id: _Known(*rest) for olt_id, *rest in rows}


def _well_known(work: Workload) -> list[Task]:
    """Guesses are no reason to alarm anybody: only tasks count whose duration was measured."""
    return [task for task in work.tasks if task.sure and not task.suspended]


def _reported(olt_ids: Collection[int]) -> dict[tuple[int, str], Problem]:
    """What did not fit before, by the same tasks: it has been said."""
    if not olt_ids:
        return {}
    rows = ExecutionPlan.objects.filter(olt__in=olt_ids, infeasible__isnull=False).order_by("id")
    columns = ("olt_id", "signature", "infeasible")
    return {(olt, tasks): said for olt, tasks, said in rows.values_list(*columns) if said is not None}


def _problem(work: Workload, reported: Mapping[tuple[int, str], Problem], now: datetime) -> Problem | None:
    """To look for a way out takes long: what was found stands while the tasks are the same."""
    before = reported.get((work.olt_id, signature(work.tasks)))
    if before is not None:
        return before
    found = infeasible(_well_known(work), now)
    return None if found is None else _as_json(found)


def _plan(
    work: Workload, known: _Known | None, problem: Problem | None, hour: Hour, now: datetime, config: Config
) -> _Made:
    tasks, sign = work.tasks, signature(work.tasks)
    same = known if known is not None and known.signature == sign else None
    before = decode_plan(hour.start, same.data) if same else StoredPlan()
    hours = continue_plan(before, tasks, work.plan(now, hour.end, config), now)
    quotas = predicted_quotas(tasks, hours.slots(), hour.start, hour.end, config.quota_close_within)
    hours = replace(hours, promises=tuple(quotas))
    data = encode_plan(hour.start, tasks, hours)
    return _Made(work.olt_id, sign, hours, data, hourly_load(tasks), problem, same.plan_id if same else None)


def _as_json(found: Infeasible) -> dict[str, Any]:
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


def _write(made: Sequence[_Made], known: Mapping[int, _Known], hour: Hour, now: datetime) -> None:
    kept = {each.goes_on for each in made if each.goes_on is not None}
    over = sorted({each.plan_id for each in known.values()} - kept)
    ExecutionPlan.objects.filter(id__in=over, status=PlanStatus.ACTIVE).update(
        status=PlanStatus.SUPERSEDED, stale=False, updated_at=now
    )
    for each in sorted((each for each in made if each.goes_on), key=lambda each: each.goes_on or 0):
        ExecutionPlan.objects.filter(id=each.goes_on or 0).update(**_values(each, now))
    rows = [
        ExecutionPlan(
            olt_id=each.olt_id,
            period_start=hour.start,
            period_end=hour.end,
            signature=each.signature,
            created_at=now,
            **_values(each, now),
        )
        for each in made
        if each.goes_on is None
    ]
    # Who was quicker has made it from the same rows.
    ExecutionPlan.objects.bulk_create(rows, ignore_conflicts=True)


def _values(made: _Made, now: datetime) -> dict[str, Any]:
    return {
        "plan_data": made.data,
        "total_tasks": len(made.hours.entries),
        "lost_slots": len(made.hours.lost),
        "load_p50_min": made.load.p50_min,
        "load_p95_min": made.load.p95_min,
        "infeasible": made.infeasible,
        "stale": False,
        "updated_at": now,
    }


def _report(olt_id: int, problem: Problem, now: datetime) -> None:
    at_risk = in_words(problem["at_risk"])
    publish(
        PlanInfeasible(olt_id=olt_id, minutes=problem["minutes"], at_risk=at_risk, change=problem["change"]),
        now,
    )


def in_words(at_risk: Iterable[Sequence[Any]]) -> str:
    """`optics 7/12`, the first of them."""
    return ", ".join(f"{name} {done}/{required}" for name, required, done in [*at_risk][:_MOST_NAMED])
