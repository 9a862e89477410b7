"""The list of OLTs, and the page of each, in tabs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string

from facho.apps.db.database import database_now
from facho.apps.hosts.health import Health
from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import family_problem
from facho.config import current
from facho.engine.coordinate.plan_reports import running_plan, suggest_shift
from facho.web.components.csv_answer import csv_answer, wants_csv
from facho.web.components.list_query import OltQuery, parse_choice, parse_olt_query
from facho.web.components.page import page_for, part_for, render_page
from facho.web.components.recent_events import recent_events
from facho.web.components.shared_part import SharedPart, answer_part, rendered_part
from facho.web.hardware import data as hardware
from facho.web.olts.actions import pop_undo
from facho.web.olts.collection import read_collection_details
from facho.web.olts.head import read_olt_head
from facho.web.olts.load import read_olt_load
from facho.web.olts.nodes import read_olt_nodes
from facho.web.olts.olt_list import listed_olts, read_olt_list
from facho.web.olts.onus_and_ports import read_onus_and_ports
from facho.web.olts.overview import read_olt_overview
from facho.web.olts.tabs import Tab, tab_url
from facho.web.olts.traffic import read_olt_traffic
from facho.web.onus import data as onus
from facho.web.words.families import profile_note

VIEW = ("view", "hosts.olt")
_EVENTS_SHOWN: Final = 50


@page_for(*VIEW)
def olts(request: HttpRequest) -> HttpResponseBase:
    query, now = parse_olt_query(request.GET), database_now()
    if wants_csv(request):
        return csv_answer(request, listed_olts(query, now))
    context = _list_context(query, now, may_add=request.user.has_perm("hosts.add_olt"))
    if request.htmx and not request.htmx.boosted:  # type: ignore[attr-defined]  # of its middleware
        return render(request, "olts/list_rows.html", context)
    return render_page(request, "olts/list.html", "OLTs", healths=Health.choices, **context)


@part_for(*VIEW)
def olt_rows(request: HttpRequest) -> HttpResponse:
    """Return the rows of the list, which refresh every few seconds."""
    query, may_add = parse_olt_query(request.GET), request.user.has_perm("hosts.add_olt")

    def read() -> dict[str, Any]:
        return _list_context(query, database_now(), may_add=may_add)

    return answer_part(request, SharedPart("olts/list_rows.html", read, about=repr(query)))


def _list_context(query: OltQuery, now: datetime, *, may_add: bool) -> dict[str, Any]:
    return {"found": read_olt_list(query, now), "query": query, "now": now, "may_add": may_add}


class SharedTab(NamedTuple):
    """A tab without buttons: what it shows is shared by those who see the same."""

    template: str
    read: Callable[[int, datetime], Mapping[str, Any]]
    every: timedelta


def _overview(olt_id: int, now: datetime) -> Mapping[str, Any]:
    return {"overview": read_olt_overview(read_olt_head(olt_id, now), current()), "now": now}


def _onus_and_ports(olt_id: int, now: datetime) -> Mapping[str, Any]:
    return {"found": read_onus_and_ports(read_olt_head(olt_id, now))}


def _load(olt_id: int, now: datetime) -> Mapping[str, Any]:
    return {"load": read_olt_load(olt_id, now)}


def _events(olt_id: int, now: datetime) -> Mapping[str, Any]:
    return {"events": recent_events(_EVENTS_SHOWN, olt_id), "now": now, "olt_id": olt_id}


_SHARED_TABS: Final[Mapping[Tab, SharedTab]] = {
    Tab.OVERVIEW: SharedTab("olts/overview.html", _overview, timedelta(seconds=5)),
    Tab.PORTS: SharedTab("olts/onus_and_ports.html", _onus_and_ports, timedelta(seconds=10)),
    Tab.LOAD: SharedTab("olts/load.html", _load, timedelta(seconds=30)),
    Tab.EVENTS: SharedTab("olts/events.html", _events, timedelta(seconds=5)),
}


class PeriodTab(NamedTuple):
    """A tab with charts of a period that the reader chooses, one of `hours`."""

    template: str
    read: Callable[[int, int, datetime], Any]
    hours: Sequence[int]
    usual: int

    def parse_hours(self, request: HttpRequest) -> int:
        return parse_choice(request.GET, "hours", self.hours, self.usual)


def _hardware(olt_id: int, hours: int, now: datetime) -> hardware.Hardware:
    return hardware.read_hardware(olt_id, read_olt_head(olt_id, now).olt.condition, hours, now)


_PERIOD_TABS: Final[Mapping[Tab, PeriodTab]] = {
    Tab.TRAFFIC: PeriodTab("olts/traffic.html", read_olt_traffic, onus.HOURS, onus.DEFAULT_HOURS),
    Tab.HARDWARE: PeriodTab("hardware/tab.html", _hardware, hardware.HOURS, hardware.HOURS[0]),
}
_PERIOD_EVERY: Final = timedelta(seconds=30)
# That of the collection has buttons, which have a token of their person.
_COLLECTION_EVERY: Final = timedelta(seconds=2)


@page_for(*VIEW)
def olt(request: HttpRequest, olt_id: int, tab: Tab | None = None) -> HttpResponse:
    if tab is Tab.OVERVIEW:
        return redirect("olt", olt_id)
    shown, now = tab or Tab.OVERVIEW, database_now()
    head = read_olt_head(olt_id, now)
    context = {
        "head": head,
        "head_part": rendered_part(request, _head_part(olt_id)),
        "tab": shown,
        "part_query": "",
        "tabs": [(each, tab_url(olt_id, each)) for each in Tab],
        "address": tab_url(olt_id, shown),
        "back": "" if shown is Tab.OVERVIEW else f"?tab={shown}",
        "banner_olt": olt_id,
        "undo": pop_undo(request, olt_id),
        "may_enable": request.user.has_perm("hosts.enable_olt"),
        "may_test": request.user.has_perm("hosts.test_olt"),
        "may_change": request.user.has_perm("hosts.change_olt"),
    }
    if shown is Tab.COLLECTION:
        content = render_to_string("olts/collection.html", _collection_context(request, olt_id), request)
        context |= {"content": content, "every": _COLLECTION_EVERY}
        context["details"] = read_collection_details(head.olt, now, current())
    elif shown in _PERIOD_TABS:
        hours = _PERIOD_TABS[shown].parse_hours(request)
        part = rendered_part(request, _period_part(olt_id, shown, hours))
        context |= {"content": part.html, "etag": part.etag, "every": _PERIOD_EVERY}
        context["part_query"] = f"?hours={hours}"
    else:
        part = rendered_part(request, _tab_part(olt_id, shown))
        context |= {"content": part.html, "etag": part.etag, "every": _SHARED_TABS[shown].every}
    title = f"OLT {head.olt.name}" if shown is Tab.OVERVIEW else f"OLT {head.olt.name} · {shown.label}"
    return render_page(request, "olts/page.html", title, **context)


@part_for(*VIEW)
def olt_live(request: HttpRequest, olt_id: int) -> HttpResponse:
    """Return the head of all tabs, which refreshes every two seconds."""
    _require_olt(olt_id)
    return answer_part(request, _head_part(olt_id))


@part_for(*VIEW)
def olt_part(request: HttpRequest, olt_id: int, tab: Tab) -> HttpResponse:
    """Return what a tab shows, which refreshes by itself."""
    _require_olt(olt_id)
    if tab is Tab.COLLECTION:
        return render(request, "olts/collection.html", _collection_context(request, olt_id))
    if tab in _PERIOD_TABS:
        return answer_part(request, _period_part(olt_id, tab, _PERIOD_TABS[tab].parse_hours(request)))
    return answer_part(request, _tab_part(olt_id, tab))


@part_for(*VIEW)
def olt_facts(request: HttpRequest, olt_id: int) -> HttpResponse:
    """Return the part of the tab of the collection that refreshes less often."""
    rows = Olt.objects.select_related("brand", "model").defer("credentials")
    device = get_object_or_404(rows, id=olt_id)
    details = read_collection_details(device, database_now(), current())
    return render(request, "olts/details.html", {"details": details})


@part_for(*VIEW)
def olt_proposals(request: HttpRequest, olt_id: int) -> HttpResponse:
    """Return the proposals, which load separately: they take longer than all the rest."""
    _require_olt(olt_id)
    now = database_now()
    plan = running_plan(olt_id, now, current())
    context = {
        "olt_id": olt_id,
        "infeasible": None if plan is None else plan.infeasible,
        "shift": suggest_shift(olt_id, now, current()),
        "may_shift": request.user.has_perm("snmp_jobs.change_snmpjobhost"),
    }
    return render(request, "olts/proposals.html", context)


def _require_olt(olt_id: int) -> None:
    get_object_or_404(Olt.objects.only("id"), id=olt_id)


def _head_part(olt_id: int) -> SharedPart:
    def read() -> dict[str, Any]:
        head = read_olt_head(olt_id, database_now())
        brand = head.olt.brand
        return {"head": head, "note": profile_note(brand.name), "problem": family_problem(brand)}

    return SharedPart("olts/head.html", read, about=str(olt_id))


def _period_part(olt_id: int, tab: Tab, hours: int) -> SharedPart:
    shown = _PERIOD_TABS[tab]
    return SharedPart(
        shown.template,
        lambda: {"found": shown.read(olt_id, hours, database_now()), "periods": shown.hours},
        about=f"{olt_id} {hours}",
        max_age=_PERIOD_EVERY / 2,
    )


def _tab_part(olt_id: int, tab: Tab) -> SharedPart:
    shared = _SHARED_TABS[tab]
    return SharedPart(
        shared.template,
        lambda: shared.read(olt_id, database_now()),
        about=str(olt_id),
        max_age=shared.every / 2,
    )


def _collection_context(request: HttpRequest, olt_id: int) -> dict[str, Any]:
    return {
        "board": read_olt_nodes(read_olt_head(olt_id, database_now())),
        "may_run": request.user.has_perm("snmp_jobs.run_snmpjobhost"),
        "may_enable_nodes": request.user.has_perm("snmp_jobs.enable_snmpjobhost"),
    }
