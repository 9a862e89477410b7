"""The pages of ONUs: one ONU and its reading on demand, the worst ones, the unprovisioned ones."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facho.apps.chassis.models import Unprovisioned
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.discovery.selectors import (
    Where,
    count_by_power,
    count_flapping,
    flapping_onus,
    most_often_offline,
    onus_in_order,
    weakest_ids,
)
from facho.apps.executions.models import OPEN, Execution
from facho.apps.hosts.health import health_of
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import maintained_until, olts_under_maintenance
from facho.config import current
from facho.core.optics import Limits
from facho.core.reasons import Reason, from_json
from facho.core.roles import Role
from facho.engine.commands import runs
from facho.engine.commands.errors import CommandError
from facho.web.access.pages import for_role
from facho.web.components.csv_answer import csv_answer, rows_in_order, wants_csv
from facho.web.components.list_query import parse_choice, parse_id
from facho.web.components.page import action_for, part_for, render_page
from facho.web.onus.data import DEFAULT_HOURS, HOURS, read_onu_page
from facho.web.server.answer_cache import AnswerBusy, AnswerCache
from facho.web.server.refusals import database_too_slow
from facho.web.words.facts import fact_name, fact_value, sort_facts

_MOST_WAITING: Final = 500
_RANKED_EVERY: Final = timedelta(minutes=1)
_rankings: Final = AnswerCache("facho.worst")
BY_POWER: Final = "power"
BY_FLAPS: Final = "flaps"
_WORST_DAYS: Final = (1, 7)
_PORT: Final = re.compile(r"\d{1,9}(/\d{1,9}){0,2}", re.ASCII)
# The days of links to the page of an ONU that people saved.
_LINKED_DAYS: Final = (1, 7, 30)


def _hours_shown(given: Mapping[str, str]) -> int:
    """Return the period that the page of an ONU shows: in hours, or in days."""
    days = parse_choice(given, "days", _LINKED_DAYS, DEFAULT_HOURS // 24)
    return parse_choice(given, "hours", HOURS, 24 * days)


@require_safe
@never_cache
@for_role(Role.VIEWER)
def onu(request: HttpRequest, onu_id: int) -> HttpResponse:
    found = get_object_or_404(Onu.objects.select_related("olt").defer("olt__credentials"), id=onu_id)
    now = database_now()
    page = read_onu_page(found, _hours_shown(request.GET), now, current())
    maintained = {found.olt_id} if maintained_until(found.olt_id, now) else set[int]()
    return render_page(
        request,
        "onus/page.html",
        _("ONU %(name)s") % {"name": found},
        page=page,
        periods=HOURS,
        banner_olt=found.olt_id,
        maintained=maintained,
        health=health_of(found.olt, maintained),
        limit=current().optical_weak,
    )


@action_for("run", "discovery.onu")
def read_now(request: HttpRequest, onu_id: int) -> HttpResponse:
    """Queue a reading of the ONU, and return the part that shows its progress."""
    try:
        execution_id = runs.read_onu(onu_id, database_now())
    except CommandError as refused:
        return render(request, "onus/reading.html", {"refused": refused.message})
    return _render_reading(request, onu_id, execution_id)


@part_for("view", "discovery.onu")
def reading(request: HttpRequest, onu_id: int, execution_id: int) -> HttpResponse:
    return _render_reading(request, onu_id, execution_id)


def _render_reading(request: HttpRequest, onu_id: int, execution_id: int) -> HttpResponse:
    execution = get_object_or_404(Execution, id=execution_id, onu=onu_id)
    result, now = execution.result or {}, database_now()
    is_open = execution.state in OPEN
    read = sort_facts(result.get("facts", {}))
    context = {
        "execution": execution,
        "open": is_open,
        "no_pollers": is_open and not runs.has_live_pollers(now),
        "too_long": is_open and now - execution.queued_at > runs.READ_WAIT,
        "onu_id": onu_id,
        "read": [(fact_name(fact), fact_value(fact, value)) for fact, value in read],
        "unread": _group_by_reason(sort_facts(result.get("unread", {}))).items(),
    }
    return render(request, "onus/reading.html", context)


def _group_by_reason(unread: Iterable[tuple[str, object]]) -> dict[Reason, list[str]]:
    """Return the names of the facts that were not read, by reason: there are few reasons and many facts."""
    found: dict[Reason, list[str]] = {}
    for fact, why in unread:
        found.setdefault(from_json(why), []).append(fact_name(fact))
    return found


@dataclass(frozen=True, slots=True)
class WorstQuery:
    by: str = BY_POWER
    days: int = 1
    where: Where = field(default_factory=Where)
    # What was entered as a port and is not one.
    invalid_port: str = ""


def parse_worst_query(given: Mapping[str, str]) -> WorstQuery:
    """Read the parameters of the address; invalid ones are ignored. A port needs an OLT."""
    olt_id, port = parse_id(given, "olt"), given.get("port", "").strip()
    is_port = olt_id is not None and _PORT.fullmatch(port) is not None
    return WorstQuery(
        by=BY_FLAPS if given.get("by") == BY_FLAPS else BY_POWER,
        days=parse_choice(given, "days", _WORST_DAYS, _WORST_DAYS[0]),
        where=Where(given.get("site", "").strip(), olt_id, port if is_port else ""),
        invalid_port="" if is_port else port,
    )


class Ranking(NamedTuple):
    """The worst ONUs, and when they were chosen: ids of the weakest, or counts of those that flap."""

    worst: Sequence[Any]
    # Of how many these are the first.
    total: int
    at: datetime


def rank_onus(query: WorstQuery, now: datetime) -> Ranking:
    """Return the worst ONUs. Everywhere or at a site they are chosen once a minute, for everybody.

    Then the power of every weak ONU is read, or every event of a week is counted. With a million ONUs that
    takes longer than a page may.
    """

    def rank() -> Ranking:
        if query.by == BY_POWER:
            return Ranking(weakest_ids(query.where), count_by_power(query.where), now)
        since = now - timedelta(days=query.days)
        return Ranking(most_often_offline(query.where, since), count_flapping(query.where, since), now)

    if query.where.olt_id is not None:
        return rank()
    # A hash, because the name of a site may have characters that names of answers may not.
    name = hashlib.sha256(f"{query.by} {query.days} {query.where.site}".encode()).hexdigest()
    try:
        return _rankings.get(name, _RANKED_EVERY, rank)
    except AnswerBusy:
        raise database_too_slow() from None


@require_safe
@never_cache
@for_role(Role.VIEWER)
def worst(request: HttpRequest) -> HttpResponseBase:
    """Show the ONUs with the least power, or those that go offline most often."""
    query, now = parse_worst_query(request.GET), database_now()
    by_power = query.by == BY_POWER
    ranking = rank_onus(query, now)
    if wants_csv(request):
        ids = ranking.worst if by_power else [each.onu_id for each in ranking.worst]
        return csv_answer(request, rows_in_order(Onu, ids))
    olts = list(Olt.objects.order_by("site", "name").values_list("id", "name", "site"))
    return render_page(
        request,
        "onus/worst.html",
        _("Worst ONUs"),
        query=query,
        now=now,
        maintained=olts_under_maintenance(now),
        olts=olts,
        sites=sorted({site for _id, _name, site in olts if site}),
        weak=onus_in_order(ranking.worst) if by_power else (),
        flapping=() if by_power else flapping_onus(ranking.worst),
        total=ranking.total,
        ranked_at=None if ranking.at == now else ranking.at,
        days=_WORST_DAYS,
        limits=Limits(weak_dbm=current().optical_weak),
    )


@require_safe
@never_cache
@for_role(Role.VIEWER)
def unprovisioned(request: HttpRequest) -> HttpResponseBase:
    """Show the newest first: that is the one that somebody installs right now."""
    rows = Unprovisioned.objects.order_by("-first_seen", "id")
    if wants_csv(request):
        return csv_answer(request, rows)
    found = list(rows.select_related("olt").defer("olt__credentials")[: _MOST_WAITING + 1])
    return render_page(
        request,
        "onus/unprovisioned.html",
        _("Unprovisioned ONUs"),
        rows=found[:_MOST_WAITING],
        more=len(found) > _MOST_WAITING,
        now=database_now(),
    )
