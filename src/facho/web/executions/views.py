from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext

from facho.apps.db.database import database_now
from facho.apps.executions.models import OPEN
from facho.web.components.page import page_for, render_page
from facho.web.executions.data import executions_with_names, read_execution_page


@page_for("view", "executions.execution")
def execution(request: HttpRequest, execution_id: int) -> HttpResponse:
    found = get_object_or_404(executions_with_names(), id=execution_id)
    title = gettext("Execution %(id)d") % {"id": found.pk}
    page = read_execution_page(found, database_now())
    is_open = found.state in OPEN
    return render_page(request, "executions/page.html", title, page=page, execution=found, is_open=is_open)
