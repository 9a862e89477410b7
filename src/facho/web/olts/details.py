"""What changes slowly on the page of an OLT: ports, health, load, plan, quotas, and what happened there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Q
from django.db.models.functions import Coalesce

from facho.apps.chassis.models import PonPort
from facho.apps.chassis.selectors import Health, PortRow, health_of, ports_of
from facho.apps.discovery.models import Onu, PortOutage, Presence, UnreadableRows
from facho.apps.discovery.selectors import unreadable_rows
from facho.apps.execution_coordinator.models import ExecutionPlan, TaskForecast
from facho.apps.hosts.models import Oid, Olt
from facho.config import Config
from facho.core.plan_data import Planned
from facho.core.request_rules import columns_to_leave_out
from facho.engine.coordinate.plan_reports import plan_hours, running_plan
from facho.vendors import Key
from facho.web.components.quotas import Quota, Violated, quotas_of_olt, violations_of_olt
from facho.web.components.recent_events import Happening, last_happenings
from facho.web.olts.load import OltLoad, olt_load
from facho.web.olts.windows import Upcoming, upcoming_windows

_HAPPENINGS_SHOWN: Final = 20
_VIOLATIONS_SHOWN: Final = 10
_OUTAGES_SHOWN: Final = 10
_PLANNED_SHOWN: Final = 12
# What an ONU says of its light; where it says nothing, what the OLT gets from it.
POWER: Final = Coalesce("onu_rx_dbm", "olt_rx_dbm")


@dataclass(frozen=True, slots=True)
class Port:
    row: PortRow
    # Of a port that only ONUs name there is none.
    port_id: int | None
    # ONUs whose power is known, and those of them that get too little.
    measured: int
    weak: int

    @property
    def weak_percent(self) -> float:
        return 100 * self.weak / self.measured if self.measured else 0


@dataclass(frozen=True, slots=True)
class Plan:
    row: ExecutionPlan
    # The first that are yet to come, and how many there are in all.
    next: Sequence[Planned]
    to_come: int


@dataclass(frozen=True, slots=True)
class OltFacts:
    now: datetime
    olt_id: int
    health: Health
    ports: Sequence[Port]
    load: OltLoad
    learned: Mapping[str, Any]
    # Columns of its profile that it does not have, by name.
    lacks: Sequence[str]
    unreadable: Sequence[UnreadableRows]
    plan: Plan | None
    forecasts: Sequence[TaskForecast]
    quotas: Sequence[Quota]
    violations: Sequence[Violated]
    outages: Sequence[PortOutage]
    happenings: Sequence[Happening]
    windows: Sequence[Upcoming]


def olt_facts(olt: Olt, now: datetime, config: Config) -> OltFacts:
    return OltFacts(
        now=now,
        olt_id=olt.id,
        health=health_of(olt.id),
        ports=list(_ports(olt.id, config)),
        load=olt_load(olt.id, now),
        learned=olt.learned,
        lacks=_lacks(olt, now),
        unreadable=unreadable_rows(olt.id),
        plan=_plan(olt.id, now, config),
        forecasts=list(TaskForecast.objects.filter(olt=olt.id).defer("state").order_by("task_type")),
        quotas=quotas_of_olt(olt.id, now, config),
        violations=list(violations_of_olt(olt.id, now, _VIOLATIONS_SHOWN)),
        outages=last_outages(olt.id),
        happenings=last_happenings(_HAPPENINGS_SHOWN, olt.id),
        windows=upcoming_windows(olt, now, config),
    )


def last_outages(olt_id: int, place: str | None = None) -> list[PortOutage]:
    rows = PortOutage.objects.filter(olt=olt_id).defer("onus")
    return list((rows if place is None else rows.filter(place=place))[:_OUTAGES_SHOWN])


def _ports(olt_id: int, config: Config) -> Iterator[Port]:
    numbers = dict(PonPort.objects.filter(olt=olt_id).order_by().values_list("place", "id"))
    light = _light(olt_id, config.optical_weak)
    for row in ports_of(olt_id):
        yield Port(row, numbers.get(row.port), *light.get(row.port, (0, 0)))


def _light(olt_id: int, weak: float) -> dict[str, tuple[int, int]]:
    """By port: how many ONUs say how much light they get, and how many of them get too little."""
    onus = Onu.objects.filter(olt=olt_id, presence=Presence.PRESENT, port__isnull=False)
    rows = onus.annotate(power=POWER).order_by().values_list("frame", "slot", "port")
    counted = rows.annotate(measured=Count("power"), weak=Count("id", filter=Q(power__lt=weak)))
    return {str(Key(*place)): (measured, below) for *place, measured, below in counted}


def _lacks(olt: Olt, now: datetime) -> list[str]:
    oids = columns_to_leave_out(olt.lacks, now)
    if not oids:
        return []
    names = dict(Oid.objects.filter(brand=olt.brand_id, oid__in=oids).order_by().values_list("oid", "name"))
    return sorted(names.get(oid, oid) for oid in oids)


def _plan(olt_id: int, now: datetime, config: Config) -> Plan | None:
    plan = running_plan(olt_id, now, config)
    if plan is None:
        return None
    ahead = [each for each in plan_hours(plan).entries if each.start > now]
    return Plan(plan, ahead[:_PLANNED_SHOWN], len(ahead))
