"""The search page, `/search/?q=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.chassis.models import PonPort, Unprovisioned
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.core.roles import Role
from facho.web.access.pages import for_role
from facho.web.components.csv_answer import csv_answer, rows_in_order, wants_csv
from facho.web.components.page import render_page
from facho.web.search.data import SearchResults, search_all


@require_safe
@never_cache
@for_role(Role.VIEWER)
def search(request: HttpRequest) -> HttpResponseBase:
    found = search_all(request.GET.get("q", ""))
    if wants_csv(request):
        return csv_answer(request, _found_rows(found, request.GET.get("of", "")))
    if found.exact is not None:
        return redirect("onu", found.exact.id)
    now = database_now()
    maintained = olts_under_maintenance(now) if found.onus else {}
    return render_page(
        request,
        "search/page.html",
        _("Search"),
        found=found,
        now=now,
        maintained=maintained,
        export_query=urlencode({"q": found.text, "of": ""}),
    )


def _found_rows(found: SearchResults, of: str) -> QuerySet[Any]:
    """Return the rows of one of the lists that the page shows."""
    lists: dict[str, tuple[type[Model], Sequence[Model]]] = {
        "olts": (Olt, found.olts),
        "ports": (PonPort, found.ports),
        "unprovisioned": (Unprovisioned, found.unprovisioned),
    }
    model, rows = lists.get(of, (Onu, found.onus))
    return rows_in_order(model, [row.pk for row in rows])
