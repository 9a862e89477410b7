"""The list of all OLTs: those that need a person first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Q, QuerySet, Value, When

from facho.apps.discovery.models import Onu, PortOutage, Presence
from facho.apps.hosts.health import TROUBLE, Health, with_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.core.reasons import NO_REASON, Reason
from facho.web.dashboard.lanes import Wanted

ROWS: Final = 25


@dataclass(frozen=True, slots=True)
class ListedOlt:
    olt_id: int
    name: str
    address: str
    site: str
    brand: str
    model: str
    health: str
    # In the words of the engine; empty where nothing is wrong, or nobody knows what.
    trouble: Reason
    since: datetime | None
    cpu_pct: float | None
    onus: int
    onus_online: int
    # Ports of which many ONUs went at once, and are not back.
    outages: int


@dataclass(frozen=True, slots=True)
class OltList:
    rows: Sequence[ListedOlt]
    page: Page[Any]
    sites: Sequence[str]


def olt_list(wanted: Wanted, now: datetime) -> OltList:
    """A fixed number of queries; ONUs are counted for the OLTs of the page alone."""
    rows = _ordered(_like(wanted, with_health(olts_under_maintenance(now))))
    page = Paginator(rows, ROWS).get_page(wanted.page)
    olts = list(page.object_list)
    ids = [olt.id for olt in olts]
    onus, outages = _onus(ids), _outages(ids)
    sites = Olt.objects.exclude(site="").order_by("site").values_list("site", flat=True).distinct()
    listed = [_listed(olt, *onus.get(olt.id, (0, 0)), outages.get(olt.id, 0)) for olt in olts]
    return OltList(listed, page, list(sites))


def _like(wanted: Wanted, rows: QuerySet[Any]) -> QuerySet[Any]:
    text = wanted.text
    if text:
        rows = rows.filter(Q(name__icontains=text) | Q(address__icontains=text) | Q(site__icontains=text))
    if wanted.site:
        rows = rows.filter(site=wanted.site)
    if wanted.health == "trouble":
        return rows.filter(condition__in=TROUBLE)
    return rows.filter(condition=wanted.health) if wanted.health in Health.values else rows


def _ordered(rows: QuerySet[Any]) -> QuerySet[Any]:
    worst = Case(*(When(Q(condition=health), then=Value(place)) for place, health in enumerate(Health)))
    return rows.select_related("brand", "model").defer("credentials").order_by(worst, "name")


def _onus(ids: Sequence[int]) -> Mapping[int, tuple[int, int]]:
    """Of each OLT: those that are there, and those of them that are online."""
    rows = Onu.objects.filter(olt__in=ids, presence=Presence.PRESENT).order_by().values_list("olt_id")
    counted = rows.annotate(known=Count("id"), online=Count("id", filter=Q(state="online")))
    return {olt_id: (known, online) for olt_id, known, online in counted}


def _outages(ids: Sequence[int]) -> Mapping[int, int]:
    rows = PortOutage.objects.filter(olt__in=ids, ended_at__isnull=True).order_by().values_list("olt_id")
    return dict(rows.annotate(count=Count("id")))


def _listed(olt: Any, onus: int, online: int, outages: int) -> ListedOlt:
    return ListedOlt(
        olt_id=olt.id,
        name=olt.name,
        address=olt.address,
        site=olt.site,
        brand=str(olt.brand),
        model=olt.model.name if olt.model else "",
        health=olt.condition,
        trouble=olt.suspended_reason if olt.condition == Health.SUSPENDED else NO_REASON,
        since=olt.suspended_at or olt.unreachable_since if olt.condition in TROUBLE else None,
        cpu_pct=olt.cpu_pct,
        onus=onus,
        onus_online=online,
        outages=outages,
    )
