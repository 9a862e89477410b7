"""Export a list of the admin as CSV: what is selected, or the whole list as it is filtered."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext_lazy as _

from facho.web.components.csv_answer import csv_answer


@admin.action(description=_("Export as CSV"), permissions=["view"])
def export_csv(_admin: Any, request: HttpRequest, rows: QuerySet[Any]) -> StreamingHttpResponse:
    return csv_answer(request, rows)
