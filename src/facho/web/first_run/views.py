"""The first run: add an OLT, choose its usual jobs, and watch the first results."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeAlias

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from facho.apps.access.selectors import role_of
from facho.apps.db.database import database_now
from facho.apps.hosts.models import Olt
from facho.config import current
from facho.engine.collect.identify import Identified
from facho.engine.commands.connection_test import Silence, check_new_connection
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import add_olt
from facho.engine.commands.usual_jobs import start_usual_jobs, usual_jobs_for
from facho.engine.commands.what_if import Change, WhatIf
from facho.web.components.page import render_page
from facho.web.first_run.data import read_first_onus
from facho.web.first_run.forms import FirstOltForm, UsualJobsForm, offered_data
from facho.web.server.refusals import Refused
from facho.web.what_if_limits import ask_what_if

View: TypeAlias = Callable[..., HttpResponse]
_RIGHTS: Final = ("hosts.add_olt", "snmp_jobs.add_snmpjob")


def for_administrators(view: View) -> View:
    """Allow a view to administrators. Others see who may use it; what they send is refused."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated and request.htmx:  # type: ignore[attr-defined]  # of its middleware
            return HttpResponseClientRefresh()
        return asked(request, *args, **kwargs)

    @login_required
    def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.has_perms(_RIGHTS):
            return view(request, *args, **kwargs)
        if request.method == "POST" or not request.user.has_perm("hosts.view_olt"):
            raise PermissionDenied
        return render_page(request, "first_run/not_yours.html", _("Add an OLT"))

    found: View = never_cache(guarded)
    return found


@for_administrators
def start(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        form = FirstOltForm(initial={"port": current().snmp_port})
        return _page(request, "olt", form=form)
    form = FirstOltForm(request.POST)
    answer = _test_connection(form) if form.is_valid() else None
    if isinstance(answer, Identified) and "test" not in request.POST:
        try:
            olt = add_olt(form.new_olt(), detected=answer)
        except CommandError as refused:
            form.refuse(refused)
        else:
            return _redirect(request, reverse("start-jobs", args=[olt.id]))
    return _render_answer(request, form, answer)


def _test_connection(form: FirstOltForm) -> Identified | Silence | None:
    try:
        return check_new_connection(form.new_olt())
    except CommandError as refused:
        form.refuse(refused)
        return None


def _render_answer(
    request: HttpRequest, form: FirstOltForm, answer: Identified | Silence | None
) -> HttpResponse:
    """Show the answer below the form, which is not rendered again: its secrets would be lost."""
    context = {
        "form": form,
        "found": answer if isinstance(answer, Identified) else None,
        "silence": answer if isinstance(answer, Silence) else None,
    }
    if request.htmx:  # type: ignore[attr-defined]  # of its middleware
        return render(request, "first_run/answer.html", context)
    return _page(request, "olt", **context)


@for_administrators
def jobs(request: HttpRequest, olt_id: int) -> HttpResponse:
    olt = _olt(olt_id)
    usual = usual_jobs_for(olt)
    form = UsualJobsForm(usual, request.POST if request.method == "POST" else offered_data(usual))
    if request.method == "POST" and form.is_valid():
        try:
            start_usual_jobs(olt.name, form.chosen(), database_now())
        except CommandError as refused:
            form.refuse(refused)
        else:
            return redirect("start-wait", olt.id)
    return _page(request, "jobs", olt=olt, form=form)


@for_administrators
def what_if(request: HttpRequest, olt_id: int) -> HttpResponse:
    """Show the load of the selected jobs on the OLT. Changes nothing.

    It loads separately, because planning takes longer than the rest of the page.
    """
    olt = _olt(olt_id)
    form = UsualJobsForm(usual_jobs_for(olt), request.POST)
    return render(
        request, "first_run/what_if.html", {"load": _simulate_jobs(request, olt, form), "form": form}
    )


def _simulate_jobs(request: HttpRequest, olt: Olt, form: UsualJobsForm) -> WhatIf | None:
    """Return the load, or None when the form is invalid or the server is busy."""
    if not form.is_valid():
        return None
    chosen = form.chosen()
    change = Change(lambda schedule: schedule.attach_usual_jobs(olt.name, chosen), {olt.id: olt.name})
    try:
        (found,) = ask_what_if(request.user, role_of(request.user), change)
    except CommandError as refused:
        form.refuse(refused)
        return None
    except Refused:
        return None
    return found


@for_administrators
def wait(request: HttpRequest, olt_id: int) -> HttpResponse:
    context = {"olt": _olt(olt_id), "first": read_first_onus(olt_id, database_now())}
    if request.htmx:  # type: ignore[attr-defined]  # of its middleware
        return render(request, "first_run/waiting.html", context)
    return _page(request, "wait", **context)


def _olt(olt_id: int) -> Olt:
    return get_object_or_404(Olt.objects.select_related("brand", "model").defer("credentials"), id=olt_id)


def _redirect(request: HttpRequest, url: str) -> HttpResponse:
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)  # type: ignore[attr-defined]


def _page(request: HttpRequest, step: str, **context: Any) -> HttpResponse:
    return render_page(request, f"first_run/{step}.html", _("Add an OLT"), step=step, **context)
