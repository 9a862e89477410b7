"""The data of the timeline: a page of OLTs with their runs, plans and maintenance windows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import Case, Q, QuerySet, When

from facho.apps.execution_coordinator.models import ExecutionPlan, PlanStatus
from facho.apps.executions.models import Execution, State
from facho.apps.executions.selectors import BLOCKER_NAME, SUBJECT_NAME
from facho.apps.hosts.health import TROUBLE, Health, with_health
from facho.apps.maintenance.selectors import closed_times, olts_under_maintenance
from facho.config import Config
from facho.core.plan import Entry, Task
from facho.core.plan_data import Planned, decode_plan
from facho.core.quota import running_hour
from facho.core.schedule import advance
from facho.engine.coordinate.workloads import load_workloads
from facho.web.components.list_query import OltQuery
from facho.web.components.timeline import Lane, TimelineRange, TimelineRun, closed_blocks, draw_runs

ROWS: Final = 8
ROWS_OF_A_WALL: Final = 10
# What is to come takes at most a fifth of the width, and at most an hour.
MOST_AHEAD: Final = timedelta(hours=1)
PAST_TO_AHEAD: Final = 4
# More than an OLT has in twelve hours, unless something is wrong with its intervals.
_MOST: Final = 20_000
PLANNED: Final = "PLANNED"
DISCOVERY: Final = "discovery"


@dataclass(frozen=True, slots=True)
class Timeline:
    window: TimelineRange
    rows: Sequence[Lane]
    page: Page[Any]
    wall: bool = False

    @property
    def page_after(self) -> int:
        """Return the page to show at the next refresh."""
        if not self.wall:
            return self.page.number
        return self.page.next_page_number() if self.page.has_next() else 1


def read_timeline(query: OltQuery, now: datetime, config: Config) -> Timeline:
    back = timedelta(hours=query.hours)
    window = TimelineRange.around(now, back, min(MOST_AHEAD, back / PAST_TO_AHEAD))
    page = Paginator(_olts(query, now), ROWS_OF_A_WALL if query.wall else ROWS).get_page(query.page)
    olts = [(olt_id, name, site, health) for olt_id, name, site, health in page]
    ids = [olt_id for olt_id, *_ in olts]
    runs, closed = _runs(ids, window, config), closed_times(ids, window.start, window.end, config.time_zone)
    rows = [
        Lane(*olt, runs=draw_runs(runs[olt[0]], window), closed=closed_blocks(closed.get(olt[0], ()), window))
        for olt in olts
    ]
    return Timeline(window, rows, page, bool(query.wall))


def _olts(query: OltQuery, now: datetime) -> QuerySet[Any]:
    """Order OLTs by site, within it those with problems first; disabled ones are shown on request only."""
    rows = query.filter(with_health(olts_under_maintenance(now)), text_in=("name", "site"))
    if query.health not in ("trouble", *Health.values):
        rows = rows.exclude(condition=Health.DISABLED)
    trouble_first = Case(When(condition__in=TROUBLE, then=0), default=1)
    return rows.order_by("site", trouble_first, "name").values_list("id", "name", "site", "condition")


def _runs(ids: Collection[int], window: TimelineRange, config: Config) -> Mapping[int, list[TimelineRun]]:
    found: dict[int, list[TimelineRun]] = defaultdict(list)
    for olt_id, run in (*_executed_runs(ids, window, config), *upcoming_runs(ids, window, config)):
        found[olt_id].append(run)
    return found


def upcoming_runs(
    ids: Collection[int], window: TimelineRange, config: Config
) -> Iterator[tuple[int, TimelineRun]]:
    """Return the runs to come: those of plans, and where the next hour has none yet, those expected."""
    begins = running_hour(window.now, config.time_zone).end
    planned = list(_planned_runs(ids, window))
    without = set(ids) - {olt_id for olt_id, run in planned if run.slot > begins}
    yield from planned
    yield from _expected_runs(without, begins, window, config)


_COLUMNS: Final = (
    "olt_id", SUBJECT_NAME, "node__job__kind", "state", "slot", "started_at", "ended_at", "id", "delay_ms",
    "why_late", BLOCKER_NAME,
)  # fmt: skip


def _executed_runs(
    ids: Collection[int], window: TimelineRange, config: Config
) -> Iterator[tuple[int, TimelineRun]]:
    ended = Q(ended_at__gte=window.start)
    rows = Execution.objects.filter(ended | Q(state=State.RUNNING), olt__in=ids, started_at__isnull=False)
    late_ms = config.delayed_after.total_seconds() * 1000
    for row in rows.order_by().values_list(*_COLUMNS)[:_MOST]:
        olt_id, job, kind, state, slot, start, end, execution_id, delay_ms, why, waited_for = row
        run = TimelineRun(job or "", kind or "", state, slot, start, end, execution_id)
        late = (delay_ms or 0) > late_ms
        yield olt_id, replace(run, late=late, why=why, waited_for=waited_for or "")


def _planned_runs(ids: Collection[int], window: TimelineRange) -> Iterator[tuple[int, TimelineRun]]:
    """Return the planned runs that are still to come: mostly those of the running hour."""
    plans = ExecutionPlan.objects.filter(
        olt__in=ids, status=PlanStatus.ACTIVE, period_end__gt=window.now, period_start__lt=window.end
    )
    for olt_id, start, data in plans.values_list("olt_id", "period_start", "plan_data"):
        for each in decode_plan(start, data).entries:
            if each.start > window.now:
                yield olt_id, _planned_run(each.job, each.task_types, each)


def _planned_run(job: str, task_types: Collection[str], run: Planned | Entry) -> TimelineRun:
    kind = DISCOVERY if DISCOVERY in task_types else ""
    late = bool(run.waits_for)
    return TimelineRun(job, kind, PLANNED, run.slot, run.start, run.end, late=late, waited_for=run.waits_for)


def _expected_runs(
    ids: Collection[int], begins: datetime, window: TimelineRange, config: Config
) -> Iterator[tuple[int, TimelineRun]]:
    """Plan the next hour for OLTs that have no plan of it yet."""
    for olt_id, work in load_workloads(list(ids), window.now, window.end, config).items():
        tasks = {task.node_id: _skip_missed_slots(task, window.now) for task in work.tasks}
        for each in replace(work, tasks=tuple(tasks.values())).plan(window.now, window.end, config).entries:
            if each.slot > begins and each.node_id in tasks:
                task = tasks[each.node_id]
                yield olt_id, _planned_run(task.job, task.task_types, each)


def _skip_missed_slots(task: Task, now: datetime) -> Task:
    """Count all missed slots as one run: an engine that stopped long ago missed very many."""
    if task.next_slot > now:
        return task
    return replace(task, next_slot=advance(task.next_slot, task.interval, now).slot)
