"""The what-if panel below the forms of jobs and nodes: the effect on each OLT before they are saved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, ngettext

from facho.apps.access.selectors import role_of
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.config import current
from facho.engine.commands.errors import CommandError
from facho.engine.commands.job_repeats import Repeat, find_repeats, oids_of, repeats_of_job
from facho.engine.commands.job_targets import check_target, targeted_olts
from facho.engine.commands.schedule_draft import Schedule
from facho.engine.commands.what_if import Change, WhatIf
from facho.web.admin.form_commands import wanted_oids
from facho.web.server.refusals import Refused
from facho.web.what_if_limits import ask_what_if
from facho.web.words.fact_choices import describe_fact

ASKED: Final = "_what_if"
_SURE: Final = "_sure"
# Fields that change the workload of a job.
_WEIGHS: Final = {"interval", "facts", "enabled", "master", "target", "site"}

_NODE_WEIGHS: Final = {"interval", "enabled"}


class Previewed(Exception):
    """Ends saving before anything is saved. It is not an error."""

    def __init__(self, found: Sequence[WhatIf], repeats: Sequence[Repeat] = ()) -> None:
        super().__init__()
        self.found, self.repeats = found, repeats


class CheckSkipped(Exception):
    """The job has too many OLTs for a what-if while a person waits."""


def is_wanted(request: HttpRequest) -> bool:
    return ASKED in request.POST or _SURE not in request.POST


def look(
    request: HttpRequest, save: Callable[[Schedule], object], form: Any, formsets: Sequence[Any]
) -> NoReturn:
    """Always raise: Previewed, CheckSkipped, CommandError as saving would, or Refused while others ask."""
    asked = ASKED in request.POST
    if not asked and not _changes_workload(form, formsets):
        raise Previewed(())
    olts = _affected_olts(form, formsets[-1])
    if not asked and len(olts) > current().what_if_olts:
        raise CheckSkipped
    found = ask_what_if(request.user, role_of(request.user), Change(save, olts))
    raise Previewed(found, repeats_of(form, formsets[0], olts))


def look_at_node(
    request: HttpRequest, save: Callable[[Schedule], object], form: Any, *, change: bool
) -> NoReturn:
    """Always raise, as `look` does, for the form of one node."""
    node: SnmpJobHost = form.instance
    if change and ASKED not in request.POST and not _NODE_WEIGHS.intersection(form.changed_data):
        raise Previewed(())
    found = ask_what_if(request.user, role_of(request.user), Change(save, {node.olt_id: node.olt.name}))
    job = node.job
    raise Previewed(found, () if change else repeats_of_job(job, [node.olt_id]))


def repeats_of(form: Any, oids: Any, olts: Collection[int]) -> list[Repeat]:
    """Return the jobs that ask the same as a form and its OIDs."""
    job: SnmpJob = form.instance
    changed = wanted_oids(job, oids)
    every = changed or (oids_of(job) if job.pk and changed is None else ())
    kind = form.cleaned_data.get("kind") or job.kind
    return find_repeats(kind, form.cleaned_data["facts"], olts, job.pk, every)


def weigh(request: HttpRequest, found: Sequence[WhatIf]) -> None:
    """Store the result for the page, where a person confirms before the job is saved."""
    if any(each.becomes_impossible for each in found):
        request.what_if = shown(found)  # type: ignore[attr-defined]  # read by the template


def keep_refusal(request: HttpRequest, refused: Refused) -> None:
    """Store for the page that nothing was checked; a person confirms before the job is saved."""
    request.what_if = {"refused": refused.sentence}  # type: ignore[attr-defined]  # read by the template


def refuse_unfit(request: HttpRequest) -> None:
    found = getattr(request, "what_if", None)
    if not found:
        return
    if why := found.get("refused"):
        text = gettext("Not saved: %(why)s; or save without this check, below.")
        raise CommandError("", text % {"why": why})
    raise CommandError("", gettext("Not saved: the work would not fit in an hour. See below."))


def _changes_workload(form: Any, formsets: Sequence[Any]) -> bool:
    return bool(_WEIGHS.intersection(form.changed_data)) or any(each.has_changed() for each in formsets)


def _affected_olts(form: Any, nodes: Any) -> dict[int, str]:
    olts = {node.olt_id: node.olt.name for node in nodes.new_objects}
    if job_id := form.instance.pk:
        olts |= dict(SnmpJobHost.objects.filter(job=job_id).values_list("olt_id", "olt__name"))
    brand = form.cleaned_data.get("brand") or form.instance.brand
    target, site = check_target(form.cleaned_data["target"], form.cleaned_data["site"], brand)
    return olts | dict(targeted_olts(target, site, brand).values_list("id", "name"))


def shown(found: Sequence[WhatIf]) -> dict[str, Any]:
    return {
        "olts": [each.as_json() for each in found],
        "impossible": sum(each.becomes_impossible for each in found),
    }


def panel(request: HttpRequest, previewed: Previewed) -> HttpResponse:
    said = {
        "what_if": shown(previewed.found),
        "repeats": [describe_repeat(each) for each in previewed.repeats],
    }
    return render(request, "facho_admin/job_preview.html", said)


def describe_repeat(repeat: Repeat) -> str:
    text = ngettext(
        "“%(job)s” already asks for %(facts)s on %(count)d of these OLTs",
        "“%(job)s” already asks for %(facts)s on %(count)d of these OLTs",
        repeat.olts,
    )
    facts = ", ".join(describe_fact(fact) for fact in repeat.facts)
    return text % {"job": repeat.job, "facts": facts, "count": repeat.olts}


def refused(request: HttpRequest, said: Iterable[str]) -> HttpResponse:
    """Return the panel with the result."""
    return render(request, "facho_admin/job_preview.html", {"mistakes": list(said)})


def mistakes(context: Any) -> Iterator[str]:
    form = context["adminform"].form
    yield from _form_errors(form)
    for inline in context["inline_admin_formsets"]:
        yield from inline.formset.non_form_errors()
        for each in inline.formset.forms:
            yield from _form_errors(each)


def _form_errors(form: Any) -> Iterator[str]:
    for name, said in form.errors.items():
        label = f"{form[name].label}: " if name in form.fields else ""
        yield from (f"{label}{each}" for each in said)
