"""The pages of one part of an OLT and of one uplink."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from facho.apps.chassis.models import OltHealth, Uplink
from facho.apps.db.database import database_now
from facho.apps.hosts.health import health_of
from facho.apps.maintenance.selectors import maintained_until
from facho.web.components.list_query import parse_choice
from facho.web.components.page import page_for, render_page
from facho.web.hardware.data import HOURS, HardwarePage, read_part_page, read_uplink_page


@page_for("view", "chassis.olthealth")
def part(request: HttpRequest, olt_id: int, part_id: int) -> HttpResponse:
    rows = OltHealth.objects.select_related("olt").defer("olt__credentials")
    found = get_object_or_404(rows, id=part_id, olt=olt_id)
    return _page(request, read_part_page(found, parse_hours(request), database_now()))


@page_for("view", "chassis.uplink")
def uplink(request: HttpRequest, olt_id: int, uplink_id: int) -> HttpResponse:
    rows = Uplink.objects.select_related("olt").defer("olt__credentials")
    found = get_object_or_404(rows, id=uplink_id, olt=olt_id)
    return _page(request, read_uplink_page(found, parse_hours(request), database_now()))


def parse_hours(request: HttpRequest) -> int:
    return parse_choice(request.GET, "hours", HOURS, HOURS[0])


def _page(request: HttpRequest, page: HardwarePage) -> HttpResponse:
    olt = page.olt
    maintained = {olt.id} if maintained_until(olt.id, page.now) else set[int]()
    context = {
        "page": page,
        "hours": page.hours,
        "periods": HOURS,
        "health": health_of(olt, maintained),
        "banner_olt": olt.id,
    }
    return render_page(request, "hardware/page.html", f"{page.name} · {olt.name}", **context)
