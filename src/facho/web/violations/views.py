"""The page of a quota violation, where a person acknowledges it."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import QuotaViolation
from facho.apps.execution_coordinator.selectors import plan_of_slot
from facho.apps.execution_coordinator.texts import hour_in_words
from facho.core.violation_report import reasons_of, tasks_of
from facho.engine.commands.acknowledgements import acknowledge_violation
from facho.engine.commands.errors import CommandError
from facho.web.components.page import action_for, page_for, render_page
from facho.web.components.quotas import tasks_with_bars


@page_for("view", "execution_coordinator.quotaviolation")
def violation(request: HttpRequest, violation_id: int) -> HttpResponse:
    found = get_object_or_404(_violations(), id=violation_id)
    hour = hour_in_words(found.period_start, found.period_end)
    title = gettext("Quota violation, %(olt)s, %(hour)s") % {"olt": found.olt.name, "hour": hour}
    return render_page(
        request,
        "violations/page.html",
        title,
        violation=found,
        hour=hour,
        missed=[task for task in tasks_of(found.report) if task.severity],
        tasks=tasks_with_bars(found.report),
        reasons=reasons_of(found.report),
        plan_id=plan_of_slot(found.olt_id, found.period_end),
        quotas_of_hour=_rows_of(found, period_start__exact=found.period_start),
        # A slot on the stroke belongs to the hour that it ends.
        executions_of_hour=_rows_of(found, slot__gt=found.period_start, slot__lte=found.period_end),
        now=database_now(),
    )


@action_for("acknowledge", "execution_coordinator.quotaviolation")
def acknowledge(request: HttpRequest, violation_id: int) -> HttpResponse:
    found = get_object_or_404(_violations(), id=violation_id)
    try:
        by, why = request.user.get_username(), request.POST.get("note", "")
        acknowledge_violation(found.pk, by, database_now(), why)
    except CommandError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, gettext("The violation is acknowledged."))
    return redirect("violation", found.pk)


def _rows_of(violation: QuotaViolation, **times: datetime) -> str:
    """Return the query that narrows a list of the admin to the OLT of a violation, and to these times."""
    narrowed = {column: at.isoformat() for column, at in times.items()}
    return urlencode({"olt__id__exact": violation.olt_id, **narrowed})


def _violations() -> QuerySet[QuotaViolation]:
    return QuotaViolation.objects.select_related("olt").defer("olt__credentials")
