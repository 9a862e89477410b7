"""The page that counts ONUs and OLTs by model, firmware and hardware."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from facho.apps.discovery.versions import version_counts
from facho.web.components.csv_answer import csv_answer, wants_csv
from facho.web.components.page import page_for, render_page
from facho.web.versions.data import parse_versions_query, read_versions_page


@page_for("view", "discovery.onu")
def versions(request: HttpRequest) -> HttpResponseBase:
    of = parse_versions_query(request.GET)
    if wants_csv(request):
        return csv_answer(request, version_counts(of))
    return render_page(request, "versions/page.html", _("Versions"), page=read_versions_page(of))
