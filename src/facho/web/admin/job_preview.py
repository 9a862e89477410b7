"""What a form of a job would do to each OLT, in a panel below it, before it is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import current
from facho.engine.clock import database_now
from facho.engine.commands.errors import CommandError
from facho.engine.what_if import WhatIf, tried

ASKED: Final = "_what_if"
_SURE: Final = "_sure"
# What decides how much work a job is.
_WEIGHS: Final = {"interval", "facts", "enabled", "master"}


class Previewed(Exception):
    """Nothing went wrong: it ends the saving before anything is saved."""

    def __init__(self, found: Sequence[WhatIf]) -> None:
        super().__init__()
        self.found = found


def look(request: HttpRequest, save: Callable[[], None], form: Any, formsets: Sequence[Any]) -> None:
    """Raises Previewed when no more was asked for, and CommandError where a person has to be sure."""
    asked = ASKED in request.POST
    if not asked and (_SURE in request.POST or not _weighs(form, formsets)):
        return
    found = _found(save, form, formsets[-1])
    if asked:
        raise Previewed(found)
    if any(each.becomes_impossible for each in found):
        request.what_if = shown(found)  # type: ignore[attr-defined]  # read by the template
        raise CommandError("", gettext("Not saved: not everything would fit into the hours. See below."))


def _weighs(form: Any, formsets: Sequence[Any]) -> bool:
    return bool(_WEIGHS.intersection(form.changed_data)) or any(each.has_changed() for each in formsets)


def _found(save: Callable[[], None], form: Any, nodes: Any) -> list[WhatIf]:
    before = form.instance.pk
    olts = {node.olt_id: node.olt.name for node in nodes.new_objects}
    olts |= dict(SnmpJobHost.objects.filter(job=before).values_list("olt_id", "olt__name")) if before else {}
    try:
        return tried(save, olts, database_now(), current())
    finally:
        form.instance.pk = before


def shown(found: Sequence[WhatIf]) -> dict[str, Any]:
    return {
        "olts": [each.as_json() for each in found],
        "impossible": sum(each.becomes_impossible for each in found),
    }


def panel(request: HttpRequest, found: Sequence[WhatIf]) -> HttpResponse:
    return render(request, "facho/jobs/previewed.html", {"what_if": shown(found)})


def refused(request: HttpRequest, context: Any) -> HttpResponse:
    """The page that would say it, as a panel."""
    return render(request, "facho/jobs/previewed.html", {"mistakes": list(_mistakes(context))})


def _mistakes(context: Any) -> Iterator[str]:
    form = context["adminform"].form
    yield from _of(form)
    for inline in context["inline_admin_formsets"]:
        yield from inline.formset.non_form_errors()
        for each in inline.formset.forms:
            yield from _of(each)


def _of(form: Any) -> Iterator[str]:
    for name, said in form.errors.items():
        label = f"{form[name].label}: " if name in form.fields else ""
        yield from (f"{label}{each}" for each in said)
