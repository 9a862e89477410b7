"""The buttons on the page of an OLT: each runs a command and shows its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import QuotaViolation
from facho.apps.execution_coordinator.texts import hour_in_words
from facho.apps.hosts.models import Olt
from facho.apps.reason_words import reason_words
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import current
from facho.core.interval import interval_words
from facho.engine.commands import acknowledgements
from facho.engine.commands.connection_test import Silence, check_connection
from facho.engine.commands.errors import CommandError
from facho.engine.commands.nodes import disable_nodes, enable_nodes, shift_grid
from facho.engine.commands.olts import disable_olts, enable_olts, probe_olts_now
from facho.engine.commands.runs import run_now
from facho.engine.coordinate.plan_reports import suggest_shift
from facho.web.access.pages import View
from facho.web.components.page import action_for, confirmed_for, render_page
from facho.web.olts.tabs import Tab, parse_tab, tab_url

# The key of the session with the OLT of the last action and the address that undoes it.
UNDO: Final = "undo"


def olt_action(right: str, model: str, tab: Tab = Tab.OVERVIEW) -> Callable[[Callable[..., str]], View]:
    """Make a view of a function that acts on an OLT: its message is shown on the tab with its button.

    A button that is on all tabs names its tab in its address; `tab` is that of all others.
    """

    def decorate(act: Callable[..., str]) -> View:
        @action_for(right, model)
        @wraps(act)
        def view(request: HttpRequest, olt_id: int, **ids: int) -> HttpResponse:
            try:
                messages.success(request, act(request, olt_id, **ids))
            except CommandError as refused:
                messages.error(request, refused.message)
            return redirect(_tab_url(request, olt_id, tab))

        return view

    return decorate


@olt_action("run", "snmp_jobs.snmpjobhost", Tab.COLLECTION)
def run_node(request: HttpRequest, olt_id: int, node_id: int) -> str:  # noqa: ARG001
    node = _node(olt_id, node_id)
    values = {"id": run_now(node.pk, database_now()), "job": node.job.name, "olt": node.olt.name}
    return gettext("Execution %(id)d: %(job)s runs next on %(olt)s.") % values


@olt_action("enable", "snmp_jobs.snmpjobhost", Tab.COLLECTION)
def enable_node(request: HttpRequest, olt_id: int, node_id: int) -> str:  # noqa: ARG001
    node = _node(olt_id, node_id)
    enable_nodes([node.pk], database_now())
    interval = timedelta(seconds=node.interval_s or node.job.interval_s)
    values = {"job": node.job.name, "interval": interval_words(interval)}
    return gettext("%(job)s is enabled and runs in %(interval)s.") % values


@confirmed_for("enable", "snmp_jobs.snmpjobhost")
def disable_node(request: HttpRequest, olt_id: int, node_id: int) -> HttpResponse:
    node = _node(olt_id, node_id)
    names = {"job": node.job.name, "olt": node.olt.name}

    def act(reason: str) -> str:
        disable_nodes([node.pk], database_now(), reason)
        return gettext("%(job)s is disabled on this OLT.") % names

    question = Question(
        gettext("Disable %(job)s on %(olt)s?") % names,
        gettext("It is not collected from this OLT until somebody enables it."),
        reverse("node-enable", args=[olt_id, node_id]),
        tab_url(olt_id, Tab.COLLECTION),
    )
    return _ask_and_act(request, olt_id, question, act)


@olt_action("enable", "hosts.olt")
def enable_olt(request: HttpRequest, olt_id: int) -> str:  # noqa: ARG001
    name = _olt(olt_id).name
    enable_olts([name], database_now())
    return gettext("%(olt)s is enabled: its nodes run after one interval.") % {"olt": name}


@olt_action("enable", "hosts.olt")
def recover_olt(request: HttpRequest, olt_id: int) -> str:  # noqa: ARG001
    name = _olt(olt_id).name
    probe_olts_now([name], database_now())
    return gettext("%(olt)s is probed now: this page shows the result in a moment.") % {"olt": name}


@confirmed_for("enable", "hosts.olt")
def disable_olt(request: HttpRequest, olt_id: int) -> HttpResponse:
    name = _olt(olt_id).name
    tab = parse_tab(request.GET.get("tab", ""), Tab.OVERVIEW)

    def act(reason: str) -> str:
        disable_olts([name], database_now(), reason)
        return gettext("%(olt)s is disabled: nothing is collected from it.") % {"olt": name}

    question = Question(
        gettext("Disable %(olt)s?") % {"olt": name},
        gettext("All its jobs stop, what runs now is aborted, and nothing is collected until it is enabled."),
        reverse("olt-enable", args=[olt_id]) + ("" if tab is Tab.OVERVIEW else f"?tab={tab}"),
        tab_url(olt_id, tab),
    )
    return _ask_and_act(request, olt_id, question, act)


@dataclass(frozen=True, slots=True)
class Question:
    """What a person confirms with a reason, the address that undoes it, and the one to go back to."""

    title: str
    effect: str
    undo: str
    back: str


def _ask_and_act(
    request: HttpRequest, olt_id: int, question: Question, act: Callable[[str], str]
) -> HttpResponse:
    """Show the question; act when it comes back with a reason, and offer the way to undo it."""
    reason = request.POST.get("reason", "").strip()
    if request.method == "POST" and reason:
        try:
            messages.success(request, act(reason))
            request.session[UNDO] = [olt_id, question.undo]
        except CommandError as refused:
            messages.error(request, refused.message)
        return redirect(question.back)
    context = {
        "question": question,
        "cancel": question.back,
        "missing": request.method == "POST",
    }
    return render_page(request, "components/confirm.html", question.title, **context)


@olt_action("change", "snmp_jobs.snmpjobhost", Tab.COLLECTION)
def shift_node(request: HttpRequest, olt_id: int) -> str:
    """Apply the proposed shift if it is still the one that was shown: a second click must not shift twice."""
    _olt(olt_id)
    now = database_now()
    shift = suggest_shift(olt_id, now, current())
    shown = (request.POST.get("node"), request.POST.get("by"))
    if shift is None or shown != (str(shift.node_id), interval_words(shift.by)):
        raise CommandError("node", gettext("This proposal is out of date: see the new one."))
    shift_grid(shift.node_id, shift.by, now)
    return gettext("%(job)s runs %(by)s later from now on.") % {"job": shift.job, "by": shown[1]}


@olt_action("acknowledge", "execution_coordinator.quotaviolation", Tab.COLLECTION)
def acknowledge_violation(request: HttpRequest, olt_id: int, violation_id: int) -> str:
    violation = get_object_or_404(QuotaViolation, id=violation_id, olt=olt_id)
    by, why = request.user.get_username(), request.POST.get("note", "")
    acknowledgements.acknowledge_violation(violation.pk, by, database_now(), why)
    hour = hour_in_words(violation.period_start, violation.period_end)
    return gettext("The violation of %(hour)s is acknowledged.") % {"hour": hour}


@action_for("test", "hosts.olt")
def test_olt(request: HttpRequest, olt_id: int) -> HttpResponse:
    """Test the connection; without scripts the answer is shown on the next page."""
    olt = _olt(olt_id)
    answer = check_connection(olt)
    context = {"wrong": answer.reason} if isinstance(answer, Silence) else {"answer": answer}
    if request.htmx:  # type: ignore[attr-defined]  # of its middleware
        return render(request, "olts/test_result.html", context)
    if isinstance(answer, Silence):
        messages.error(request, reason_words(answer.reason))
    else:
        messages.success(request, gettext("The OLT answers: %(descr)s") % {"descr": answer.sys_descr})
    return redirect(_tab_url(request, olt_id, Tab.OVERVIEW))


def _tab_url(request: HttpRequest, olt_id: int, default: Tab) -> str:
    """Return the address of the tab where the button was."""
    return tab_url(olt_id, parse_tab(request.GET.get("tab", ""), default))


def _olt(olt_id: int) -> Olt:
    return get_object_or_404(Olt.objects.select_related("brand", "model"), id=olt_id)


def _node(olt_id: int, node_id: int) -> SnmpJobHost:
    rows = SnmpJobHost.objects.select_related("job", "olt").defer("olt__credentials")
    return get_object_or_404(rows, id=node_id, olt=olt_id)


def pop_undo(request: HttpRequest, olt_id: int) -> str | None:
    """Return, once, the address that undoes the last action on this OLT."""
    acted_on, undo = request.session.get(UNDO, (None, None))
    if acted_on != olt_id:
        return None
    del request.session[UNDO]
    return str(undo)
