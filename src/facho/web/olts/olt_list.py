"""The data of the list of OLTs: those that need a person first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Q, QuerySet, Value, When

from facho.apps.discovery.models import Onu, PortOutage, Presence
from facho.apps.discovery.selectors import states_collected_at
from facho.apps.hosts.health import TROUBLE, Health, status_reason, with_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.snmp_jobs.selectors import Intervals, collection_intervals
from facho.core.reasons import Reason
from facho.web.components.list_query import OltQuery

ROWS: Final = 25


@dataclass(frozen=True, slots=True)
class OltRow:
    olt_id: int
    name: str
    address: str
    site: str
    brand: str
    model: str
    health: str
    # Why it has its health; empty where that says it all.
    trouble: Reason
    since: datetime | None
    cpu_pct: float | None
    cpu_read_at: datetime | None
    cpu_every: timedelta | None
    # When the states of its ONUs were collected.
    states_at: datetime | None
    states_every: timedelta | None
    onus: int
    onus_online: int
    # Open port outages.
    outages: int


@dataclass(frozen=True, slots=True)
class OltList:
    rows: Sequence[OltRow]
    page: Page[Any]
    sites: Sequence[str]


def read_olt_list(query: OltQuery, now: datetime) -> OltList:
    """Read a page of the list in a fixed number of queries; ONUs are counted for its OLTs only."""
    rows = query.filter(with_health(olts_under_maintenance(now)), text_in=("name", "address", "site"))
    page = Paginator(_sort_worst_first(rows), ROWS).get_page(query.page)
    olts = list(page.object_list)
    ids = [olt.id for olt in olts]
    onus, outages = _count_onus(ids), _count_outages(ids)
    sites = Olt.objects.exclude(site="").order_by("site").values_list("site", flat=True).distinct()
    states, intervals = states_collected_at(ids), collection_intervals(ids)
    listed = [
        _olt_row(
            olt,
            *onus.get(olt.id, (0, 0)),
            outages.get(olt.id, 0),
            states.get(olt.id),
            intervals.get(olt.id, Intervals()),
        )
        for olt in olts
    ]
    return OltList(listed, page, list(sites))


def _sort_worst_first(rows: QuerySet[Any]) -> QuerySet[Any]:
    worst = Case(*(When(Q(condition=health), then=Value(place)) for place, health in enumerate(Health)))
    return rows.select_related("brand", "model").defer("credentials").order_by(worst, "name")


def _count_onus(ids: Sequence[int]) -> Mapping[int, tuple[int, int]]:
    """Return by OLT the numbers of present ONUs and of those that are online."""
    rows = Onu.objects.filter(olt__in=ids, presence=Presence.PRESENT).order_by().values_list("olt_id")
    counted = rows.annotate(known=Count("id"), online=Count("id", filter=Q(state="online")))
    return {olt_id: (known, online) for olt_id, known, online in counted}


def _count_outages(ids: Sequence[int]) -> Mapping[int, int]:
    rows = PortOutage.objects.filter(olt__in=ids, ended_at__isnull=True).order_by().values_list("olt_id")
    return dict(rows.annotate(count=Count("id")))


def _olt_row(
    olt: Any, onus: int, online: int, outages: int, states_at: datetime | None, every: Intervals
) -> OltRow:
    return OltRow(
        olt_id=olt.id,
        name=olt.name,
        address=olt.address,
        site=olt.site,
        brand=str(olt.brand),
        model=olt.model.name if olt.model else "",
        health=olt.condition,
        trouble=status_reason(olt, Health(olt.condition)),
        since=olt.down_since if olt.condition in TROUBLE else None,
        cpu_pct=olt.cpu_pct,
        cpu_read_at=olt.cpu_read_at,
        cpu_every=every.of("olt.cpu_pct"),
        states_at=states_at,
        states_every=every.of("state"),
        onus=onus,
        onus_online=online,
        outages=outages,
    )
