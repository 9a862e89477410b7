"""The page of a PON port."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext

from facho.apps.chassis.models import PonPort
from facho.apps.chassis.selectors import onus_by_port
from facho.apps.db.database import database_now
from facho.apps.discovery.onu_events import POWERS
from facho.apps.discovery.selectors import parts_collected_at
from facho.apps.hosts.health import health_of
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import maintained_until
from facho.apps.snmp_jobs.selectors import Intervals, collection_intervals
from facho.config import current
from facho.core.optics import Limits
from facho.web.access.error_pages import NotFoundError
from facho.web.components.csv_answer import csv_answer, wants_csv
from facho.web.components.page import page_for, render_page
from facho.web.ports.data import DAYS, parse_port_query, port_facts, port_onus, read_port_page

VIEW = ("view", "chassis.ponport")


@page_for(*VIEW)
def port(request: HttpRequest, olt_id: int, port_id: int) -> HttpResponseBase:
    rows = PonPort.objects.select_related("olt").defer("olt__credentials")
    return _page(request, get_object_or_404(rows, id=port_id, olt=olt_id))


@page_for(*VIEW)
def port_at(request: HttpRequest, olt_id: int, place: str) -> HttpResponseBase:
    """Show a port by its place: some ports are known from their ONUs only."""
    olt = get_object_or_404(Olt.objects.defer("credentials"), id=olt_id)
    row = PonPort.objects.filter(olt=olt_id, place=place).values_list("id", flat=True).first()
    if row is not None:
        return redirect("port", olt_id, row)
    there = onus_by_port([olt_id]).get(olt_id, {}).get(place)
    if there is None:
        raise NotFoundError(gettext("No such port."))
    frame, slot, number = there.numbers[:3]
    return _page(request, PonPort(olt=olt, place=place, frame=frame, slot=slot, port=number))


def _page(request: HttpRequest, found: PonPort) -> HttpResponseBase:
    query = parse_port_query(request.GET)
    if wants_csv(request):
        return csv_answer(request, port_onus(found, query.sort))
    now, olt_id = database_now(), found.olt_id
    page = read_port_page(found, query, now, current())
    maintained = {olt_id} if maintained_until(olt_id, now) else set[int]()
    collected, every = page.collected, collection_intervals([olt_id]).get(olt_id, Intervals())
    title = gettext("Port %(port)s of %(olt)s") % {"olt": found.olt.name, "port": found.place}
    context = {
        "page": page,
        "query": query,
        "days": DAYS,
        "weak": current().optical_weak,
        "limits": Limits(weak_dbm=current().optical_weak),
        "banner_olt": olt_id,
        "health": health_of(found.olt, maintained),
        "states_at": collected.get("state"),
        "states_every": every.of("state"),
        # The latest of both ends.
        "powers_at": max((at for power in POWERS if (at := collected.get(power))), default=None),
        "powers_every": min((length for power in POWERS if (length := every.get(power))), default=None),
        "port_at": parts_collected_at(collected).get("port"),
        "port_every": every.of("port.state"),
        "facts": port_facts(found, collected, every),
    }
    return render_page(request, "ports/page.html", title, **context)
