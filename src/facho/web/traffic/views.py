"""The page of the traffic of all OLTs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext

from facho.apps.db.database import database_now
from facho.apps.hosts.models import Olt
from facho.apps.traffic.models import OltTraffic
from facho.core.traffic import MOST_NAMED
from facho.web.components.csv_answer import csv_of_lines, wants_csv
from facho.web.components.page import page_for, part_for, render_page
from facho.web.components.shared_part import SharedPart, answer_part, rendered_part
from facho.web.traffic.data import TrafficQuery, parse_traffic_query, read_traffic_page, traffic_csv

VIEW = ("view", "discovery.onu")


@page_for(*VIEW)
def traffic(request: HttpRequest) -> HttpResponseBase:
    query = parse_traffic_query(request.GET)
    if wants_csv(request):
        lines = traffic_csv(read_traffic_page(query, database_now(), MOST_NAMED))
        return csv_of_lines(request, "traffic", OltTraffic, lines)
    olts = list(Olt.objects.order_by("site", "name").values_list("id", "name", "site"))
    return render_page(
        request,
        "traffic/page.html",
        gettext("Traffic"),
        query=query,
        tops=rendered_part(request, _part(query)),
        olts=olts,
        sites=sorted({site for _id, _name, site in olts if site}),
    )


@part_for(*VIEW)
def traffic_tops(request: HttpRequest) -> HttpResponse:
    """Return the tables, which refresh by themselves."""
    return answer_part(request, _part(parse_traffic_query(request.GET)))


def _part(query: TrafficQuery) -> SharedPart:
    def read() -> dict[str, Any]:
        return {"page": read_traffic_page(query, database_now())}

    return SharedPart("traffic/tops.html", read, about=repr(query), max_age=timedelta(seconds=15))
