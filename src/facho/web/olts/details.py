"""The slow part of the page of an OLT: ports, health, load, plan, quotas and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Q
from django.db.models.functions import Coalesce

from facho.apps.chassis.models import PonPort
from facho.apps.chassis.selectors import Health, PortRow, health_of, ports_of
from facho.apps.discovery.models import Onu, PortOutage, Presence, UnreadableRows
from facho.apps.discovery.selectors import WEAK, collected_at, parts_collected_at, unreadable_rows
from facho.apps.execution_coordinator.models import ExecutionPlan, TaskForecast
from facho.apps.hosts.health import health_of as olt_health
from facho.apps.hosts.models import Oid, Olt
from facho.apps.maintenance.selectors import maintained_until, windows_between
from facho.apps.snmp_jobs.selectors import Intervals, collection_intervals
from facho.config import Config
from facho.core.maintenance import now_and_next
from facho.core.plan_data import Planned
from facho.core.request_rules import columns_to_leave_out
from facho.engine.coordinate.plan_reports import plan_hours, running_plan
from facho.vendors import Key
from facho.web.components.quotas import QuotaRow, ViolationRow, olt_quotas, olt_violations
from facho.web.components.recent_events import RecentEvent, recent_events
from facho.web.olts.load import OltLoad, read_olt_load

_EVENTS_SHOWN: Final = 20
_VIOLATIONS_SHOWN: Final = 10
_OUTAGES_SHOWN: Final = 10
_PLANNED_SHOWN: Final = 12
_WINDOWS_AHEAD: Final = timedelta(days=14)
_WINDOWS_SHOWN: Final = 5
# The power at the ONU; where it is unknown, the power at the OLT.
POWER: Final = Coalesce("onu_rx_dbm", "olt_rx_dbm")


@dataclass(frozen=True, slots=True)
class PortSummary:
    row: PortRow
    # None for a port that is known from its ONUs only.
    port_id: int | None
    # ONUs with known power, and those of them that are weak.
    measured: int
    weak: int

    @property
    def weak_percent(self) -> float:
        return 100 * self.weak / self.measured if self.measured else 0


@dataclass(frozen=True, slots=True)
class PlanSummary:
    row: ExecutionPlan
    # The next runs, and how many are left in all.
    next: Sequence[Planned]
    to_come: int


@dataclass(frozen=True, slots=True)
class UpcomingWindow:
    window_id: int
    name: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class OltDetails:
    now: datetime
    olt_id: int
    health: Health
    # When each kind of its parts was last collected, as `port` and `board`, and how often that is done.
    collected: Mapping[str, datetime]
    intervals: Intervals
    # The health of the OLT itself, by which one knows whether its values arrive.
    condition: str
    ports: Sequence[PortSummary]
    load: OltLoad
    learned: Mapping[str, Any]
    # Names of the missing columns.
    missing_columns: Sequence[str]
    unreadable: Sequence[UnreadableRows]
    plan: PlanSummary | None
    forecasts: Sequence[TaskForecast]
    quotas: Sequence[QuotaRow]
    violations: Sequence[ViolationRow]
    outages: Sequence[PortOutage]
    events: Sequence[RecentEvent]
    windows: Sequence[UpcomingWindow]

    @property
    def health_at(self) -> datetime | None:
        """Return when something of the health of the OLT was last collected."""
        found = [at for kind in ("olt", "board", "fan") if (at := self.collected.get(kind)) is not None]
        return max(found, default=None)


def read_olt_details(olt: Olt, now: datetime, config: Config) -> OltDetails:
    return OltDetails(
        now=now,
        olt_id=olt.id,
        health=health_of(olt.id),
        collected=parts_collected_at(collected_at(olt.id)),
        intervals=collection_intervals([olt.id]).get(olt.id, Intervals()),
        condition=olt_health(olt, {olt.id} if maintained_until(olt.id, now) else ()),
        ports=list(_port_summaries(olt.id)),
        load=read_olt_load(olt.id, now),
        learned=olt.learned,
        missing_columns=_missing_columns(olt, now),
        unreadable=unreadable_rows(olt.id),
        plan=_plan_summary(olt.id, now, config),
        forecasts=list(TaskForecast.objects.filter(olt=olt.id).defer("state").order_by("task_type")),
        quotas=olt_quotas(olt.id, now, config),
        violations=list(olt_violations(olt.id, now, _VIOLATIONS_SHOWN)),
        outages=recent_outages(olt.id),
        events=recent_events(_EVENTS_SHOWN, olt.id),
        windows=_upcoming_windows(olt, now, config),
    )


def recent_outages(olt_id: int, place: str | None = None) -> list[PortOutage]:
    rows = PortOutage.objects.filter(olt=olt_id).defer("onus")
    return list((rows if place is None else rows.filter(place=place))[:_OUTAGES_SHOWN])


def _port_summaries(olt_id: int) -> Iterator[PortSummary]:
    numbers = dict(PonPort.objects.filter(olt=olt_id).order_by().values_list("place", "id"))
    light = _count_powers(olt_id)
    for row in ports_of(olt_id):
        yield PortSummary(row, numbers.get(row.port), *light.get(row.port, (0, 0)))


def _count_powers(olt_id: int) -> dict[str, tuple[int, int]]:
    """Return by port the number of ONUs whose power is or was known, and how many of them are weak."""
    onus = Onu.objects.filter(olt=olt_id, presence=Presence.PRESENT, port__isnull=False)
    rows = onus.annotate(power=POWER).order_by().values_list("frame", "slot", "port")
    counted = rows.annotate(
        measured=Count("id", filter=Q(power__isnull=False) | WEAK), weak=Count("id", filter=WEAK)
    )
    return {str(Key(*place)): (measured, below) for *place, measured, below in counted}


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
    return PlanSummary(plan, ahead[:_PLANNED_SHOWN], len(ahead))


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
