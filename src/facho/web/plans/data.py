"""The next 60 minutes of all OLTs: a page of them, those with conflicts first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, F, FilteredRelation, Q, QuerySet, When

from facho.apps.execution_coordinator.models import ExecutionPlan, PlanStatus
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import closed_times
from facho.config import Config
from facho.core.quota import running_hour
from facho.web.components.list_query import PlanQuery
from facho.web.components.timeline import (
    Block,
    DrawnRun,
    TimelineRange,
    TimelineRun,
    closed_blocks,
    draw_runs,
)
from facho.web.dashboard.lanes import upcoming_runs
from facho.web.words.plans import describe_slower_job

ROWS: Final = 25
AHEAD: Final = timedelta(hours=1)
_NO_ROOM: Final = Q(plan__infeasible__isnull=False)
_LOSES: Final = Q(plan__lost_slots__gt=0)
_WAITS: Final = Q(plan__waiting_runs__gt=0)
_COLUMNS: Final = (
    "id", "name", "site", "plan__id", "plan__load_p50_min", "plan__lost_slots", "plan__infeasible",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OltAhead:
    """The planned runs of an OLT on the time axis, and what is wrong with its plan of this hour."""

    olt_id: int
    olt: str
    site: str
    # None before the first plan of this hour; then the load is not known either.
    plan_id: int | None
    minutes: float | None
    lost_slots: int
    is_overfull: bool
    # What would help, in words; empty if all work fits.
    proposal: str
    runs: Sequence[DrawnRun]
    # The runs that will start late because they wait for another, the longest wait first.
    waiting: Sequence[TimelineRun]
    closed: Sequence[Block]


@dataclass(frozen=True, slots=True)
class PlanTotals:
    olts: int
    overfull: int
    losing: int
    waiting: int


@dataclass(frozen=True, slots=True)
class NextHour:
    window: TimelineRange
    totals: PlanTotals
    page: Page[Any]
    rows: Sequence[OltAhead]


def read_next_hour(query: PlanQuery, now: datetime, config: Config) -> NextHour:
    window = TimelineRange(now, now, now + AHEAD)
    olts = _olts_with_plans(now, config)
    page = Paginator(_narrow(olts, query).order_by(*_worst_first("plan__", "")).values_list(*_COLUMNS), ROWS)
    shown = page.get_page(query.page)
    ids = [row[0] for row in shown]
    runs: dict[int, list[TimelineRun]] = defaultdict(list)
    for olt_id, run in upcoming_runs(ids, window, config):
        runs[olt_id].append(run)
    closed = closed_times(ids, window.start, window.end, config.time_zone)
    rows = [
        OltAhead(
            olt_id=olt_id,
            olt=name,
            site=site,
            plan_id=plan_id,
            minutes=minutes,
            lost_slots=lost or 0,
            is_overfull=infeasible is not None,
            proposal=describe_slower_job(infeasible),
            runs=draw_runs(runs[olt_id], window),
            waiting=_waiting_runs(runs[olt_id], config.delayed_after),
            closed=closed_blocks(closed.get(olt_id, ()), window),
        )
        for olt_id, name, site, plan_id, minutes, lost, infeasible in shown
    ]
    return NextHour(window, _totals(olts), shown, rows)


def _waiting_runs(runs: Sequence[TimelineRun], longer_than: timedelta) -> list[TimelineRun]:
    found = [run for run in runs if run.waited_for and run.delay > longer_than]
    return sorted(found, key=lambda run: run.delay, reverse=True)


def _olts_with_plans(now: datetime, config: Config) -> QuerySet[Any]:
    """Return the enabled OLTs, each with its plan of the running hour if there is one."""
    hour = running_hour(now, config.time_zone)
    of_this_hour = Q(plans__status=PlanStatus.ACTIVE, plans__period_start=hour.start)
    return Olt.objects.filter(enabled=True).annotate(plan=FilteredRelation("plans", condition=of_this_hour))


def listed_plans(query: PlanQuery, now: datetime, config: Config) -> QuerySet[ExecutionPlan]:
    """Return the plans of the OLTs of the list, in its order."""
    olts = _narrow(_olts_with_plans(now, config), query)
    return ExecutionPlan.objects.filter(id__in=olts.values("plan__id")).order_by(*_worst_first("", "olt__"))


def _worst_first(plan: str, olt: str) -> list[Any]:
    """Return the order of the list, given what leads to the columns of a plan and of its OLT."""
    return [
        Case(When(**{f"{plan}infeasible__isnull": False}, then=0), default=1),
        F(f"{plan}lost_slots").desc(nulls_last=True),
        F(f"{plan}waiting_runs").desc(nulls_last=True),
        F(f"{plan}load_p50_min").desc(nulls_last=True),
        F(f"{olt}name").asc(),
    ]


def _narrow(olts: QuerySet[Any], query: PlanQuery) -> QuerySet[Any]:
    if query.text:
        olts = olts.filter(Q(name__icontains=query.text) | Q(site__icontains=query.text))
    return olts.filter(_NO_ROOM | _LOSES | _WAITS) if query.conflicts else olts


def _totals(olts: QuerySet[Any]) -> PlanTotals:
    counts = olts.aggregate(
        olts=Count("id"),
        overfull=Count("id", filter=_NO_ROOM),
        losing=Count("id", filter=_LOSES),
        waiting=Count("id", filter=_WAITS),
    )
    return PlanTotals(**counts)
