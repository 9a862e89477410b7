""" "Read now" on the page of an ONU: asks a poller for it, and shows the answer in the page when it comes."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from facho.apps.db.clock import database_now
from facho.apps.executions.models import OPEN, Execution
from facho.engine.commands.errors import CommandError
from facho.engine.commands.runs import read_onu
from facho.web.fact_words import fact_name, fact_value, in_order
from facho.web.pages.guarding import act_for, part_for


@act_for("run", "discovery.onu")
def read_now(request: HttpRequest, onu_id: int) -> HttpResponse:
    try:
        execution_id = read_onu(onu_id, database_now())
    except CommandError as refused:
        return render(request, "facho/onu/reading.html", {"refused": refused.message})
    return _shown(request, onu_id, execution_id)


@part_for("view", "discovery.onu")
def reading(request: HttpRequest, onu_id: int, execution_id: int) -> HttpResponse:
    return _shown(request, onu_id, execution_id)


def _shown(request: HttpRequest, onu_id: int, execution_id: int) -> HttpResponse:
    execution = get_object_or_404(Execution, id=execution_id, onu=onu_id)
    result = execution.result or {}
    read = in_order(result.get("facts", {}))
    context = {
        "execution": execution,
        "open": execution.state in OPEN,
        "onu_id": onu_id,
        "read": [(fact_name(fact), fact_value(fact, value)) for fact, value in read],
        "unread": _by_reason(in_order(result.get("unread", {}))).items(),
    }
    return render(request, "facho/onu/reading.html", context)


def _by_reason(unread: Iterable[tuple[str, object]]) -> dict[str, list[str]]:
    """The names of the facts that were not read, by why: mostly there are few reasons, and many facts."""
    found: dict[str, list[str]] = {}
    for fact, why in unread:
        found.setdefault(str(why), []).append(fact_name(fact))
    return found
