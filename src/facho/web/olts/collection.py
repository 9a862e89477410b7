"""What the collection from an OLT has to do and has learned: quotas, plan, maintenance, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q

from facho.apps.discovery.models import UnreadableRows
from facho.apps.discovery.selectors import unreadable_rows
from facho.apps.execution_coordinator.models import ExecutionPlan, TaskForecast
from facho.apps.hosts.models import Oid, Olt
from facho.apps.maintenance.selectors import windows_between
from facho.config import Config
from facho.core.maintenance import now_and_next
from facho.core.plan_data import Planned
from facho.core.request_rules import columns_to_leave_out
from facho.engine.coordinate.plan_reports import plan_hours, running_plan
from facho.web.components.quotas import QuotaRow, ViolationRow, olt_quotas, olt_violations

_VIOLATIONS_SHOWN: Final = 10
_PLANNED_SHOWN: Final = 8
_WINDOWS_AHEAD: Final = timedelta(days=14)
_WINDOWS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class PlanSummary:
    row: ExecutionPlan
    # The next runs, and how many follow them in this hour.
    next: Sequence[Planned]
    more: int


@dataclass(frozen=True, slots=True)
class UpcomingWindow:
    window_id: int
    name: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class CollectionDetails:
    now: datetime
    olt_id: int
    learned: Mapping[str, Any]
    # Names of the missing columns.
    missing_columns: Sequence[str]
    unreadable: Sequence[UnreadableRows]
    plan: PlanSummary | None
    forecasts: Sequence[TaskForecast]
    quotas: Sequence[QuotaRow]
    violations: Sequence[ViolationRow]
    windows: Sequence[UpcomingWindow]


def read_collection_details(olt: Olt, now: datetime, config: Config) -> CollectionDetails:
    return CollectionDetails(
        now=now,
        olt_id=olt.id,
        learned=olt.learned,
        missing_columns=_missing_columns(olt, now),
        unreadable=unreadable_rows(olt.id),
        plan=_plan_summary(olt.id, now, config),
        forecasts=list(TaskForecast.objects.filter(olt=olt.id).defer("state").order_by("task_type")),
        quotas=olt_quotas(olt.id, now, config),
        violations=list(olt_violations(olt.id, now, _VIOLATIONS_SHOWN)),
        windows=_upcoming_windows(olt, now, config),
    )


def _missing_columns(olt: Olt, now: datetime) -> list[str]:
    oids = columns_to_leave_out(olt.lacks, now)
    if not oids:
        return []
    names = dict(Oid.objects.filter(brand=olt.brand_id, oid__in=oids).order_by().values_list("oid", "name"))
    return sorted(names.get(oid, oid) for oid in oids)


def _plan_summary(olt_id: int, now: datetime, config: Config) -> PlanSummary | None:
    plan = running_plan(olt_id, now, config)
    if plan is None:
        return None
    ahead = [each for each in plan_hours(plan).entries if each.start > now]
    return PlanSummary(plan, ahead[:_PLANNED_SHOWN], len(ahead[_PLANNED_SHOWN:]))


def _upcoming_windows(olt: Olt, now: datetime, config: Config) -> list[UpcomingWindow]:
    """Return the current and the next span of each window of the OLT or its site, earliest first."""
    of_olt = Q(olt=olt.id) | (Q(site=olt.site) & ~Q(site=""))
    found = [
        UpcomingWindow(window.pk, window.name, *span)
        for window in windows_between(now, now + _WINDOWS_AHEAD).filter(of_olt)
        for span in now_and_next(window.plan, now, config.time_zone)
        if span is not None and span[0] < now + _WINDOWS_AHEAD
    ]
    return sorted(found, key=lambda each: each.start)[:_WINDOWS_SHOWN]
