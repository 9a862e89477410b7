"""The list of OLTs, and the page of each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext

from facho.apps.db.database import database_now
from facho.apps.hosts.health import Health
from facho.apps.hosts.models import Olt
from facho.config import current
from facho.engine.coordinate.plan_reports import running_plan, suggest_shift
from facho.web.access.error_pages import NotFoundError
from facho.web.components.csv_answer import csv_answer, wants_csv
from facho.web.components.list_query import OltQuery, parse_olt_query
from facho.web.components.page import page_for, part_for, render_page
from facho.web.components.shared_part import SharedPart, answer_part
from facho.web.olts.actions import UNDO
from facho.web.olts.details import read_olt_details
from facho.web.olts.live import read_olt_live
from facho.web.olts.olt_list import listed_olts, read_olt_list

VIEW = ("view", "hosts.olt")


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


@page_for(*VIEW)
def olt(request: HttpRequest, olt_id: int) -> HttpResponse:
    context = {**_now(request, olt_id), "undo": request.session.pop(UNDO, None)}
    return render_page(request, "olts/page.html", f"OLT {context['board'].olt.name}", **context)


@part_for(*VIEW)
def olt_live(request: HttpRequest, olt_id: int) -> HttpResponse:
    """Return the part that refreshes every few seconds."""
    return render(request, "olts/live.html", {**_now(request, olt_id), "again": True})


@part_for(*VIEW)
def olt_rest(request: HttpRequest, olt_id: int) -> HttpResponse:
    """Return the slow part, which the page loads after the live one."""
    rows = Olt.objects.select_related("brand", "model").defer("credentials")
    device = get_object_or_404(rows, id=olt_id)
    details = read_olt_details(device, database_now(), current())
    return render(request, "olts/details.html", {"details": details})


@part_for(*VIEW)
def olt_proposals(request: HttpRequest, olt_id: int) -> HttpResponse:
    """Return the proposals, which load separately: they take longer than all the rest."""
    get_object_or_404(Olt.objects.only("id"), id=olt_id)
    now = database_now()
    plan = running_plan(olt_id, now, current())
    context = {
        "olt_id": olt_id,
        "infeasible": None if plan is None else plan.infeasible,
        "shift": suggest_shift(olt_id, now, current()),
        "may_shift": request.user.has_perm("snmp_jobs.change_snmpjobhost"),
    }
    return render(request, "olts/proposals.html", context)


def _now(request: HttpRequest, olt_id: int) -> dict[str, Any]:
    board = read_olt_live(olt_id, database_now())
    if board is None:
        raise NotFoundError(gettext("No such OLT."))
    may = request.user.has_perm
    return {
        "board": board,
        "banner_olt": olt_id,
        "may_run": may("snmp_jobs.run_snmpjobhost"),
        "may_enable_nodes": may("snmp_jobs.enable_snmpjobhost"),
        "may_enable": may("hosts.enable_olt"),
        "may_test": may("hosts.test_olt"),
        "may_change": may("hosts.change_olt"),
    }
