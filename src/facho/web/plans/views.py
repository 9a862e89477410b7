"""The page of the next 60 minutes, and its rows, which refresh."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext

from facho.apps.db.database import database_now
from facho.config import current
from facho.web.components.csv_answer import csv_answer, wants_csv
from facho.web.components.list_query import PlanQuery, parse_plan_query
from facho.web.components.page import page_for, part_for, render_page
from facho.web.components.shared_part import SharedPart, answer_part, rendered_part
from facho.web.plans.data import listed_plans, read_next_hour

_PLANS: Final = "execution_coordinator.executionplan"


@page_for("view", _PLANS)
def plans(request: HttpRequest) -> HttpResponseBase:
    query = parse_plan_query(request.GET)
    if wants_csv(request):
        return csv_answer(request, listed_plans(query, database_now(), current()))
    rows = rendered_part(request, _part(query))
    return render_page(request, "plans/page.html", gettext("Next 60 minutes"), query=query, rows=rows)


@part_for("view", _PLANS)
def plan_rows(request: HttpRequest) -> HttpResponse:
    return answer_part(request, _part(parse_plan_query(request.GET)))


def _part(query: PlanQuery) -> SharedPart:
    def read() -> dict[str, Any]:
        found = read_next_hour(query, database_now(), current())
        return {"found": found, "query": query, "ticks": found.window.ticks(get_current_timezone())}

    return SharedPart("plans/rows.html", read, about=repr(query), max_age=timedelta(seconds=5))
