"""How templates write times, reasons and states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import pgettext

from facho.apps import written
from facho.apps.chassis.models import PonPort
from facho.apps.discovery.models import EventKind, Onu
from facho.apps.discovery.selectors import interface_of
from facho.apps.execution_coordinator.models import QuotaStatus, ViolationSeverity
from facho.apps.executions.models import State
from facho.apps.executions.selectors import Queued
from facho.apps.hosts.health import Health
from facho.core.lost_slots import LostSlots
from facho.core.quota import Hour
from facho.core.report import TaskReport
from facho.web import words
from facho.web.components import quotas
from facho.web.components.state_band import Stretch
from facho.web.components.timeline import Row, Run
from facho.web.dashboard.lanes import Wanted
from facho.web.search.data import MOST

register = template.Library()


@register.filter
def duration(length: timedelta | None) -> str:
    return "" if length is None else written.duration(length)


@register.filter
def since(then: datetime | None, now: datetime) -> str:
    """How long ago, or how long until."""
    return "" if then is None else written.duration(abs(now - then))


@register.filter
def moment(at: datetime | None, now: datetime) -> str:
    """The time of day, with the date when it is not today's."""
    if at is None:
        return ""
    there, here = localtime(at), localtime(now)
    clock = f"{there:%H:%M:%S}"
    return clock if there.date() == here.date() else f"{date_format(there, 'j M')} {clock}"


@register.filter
def why(value: str) -> str:
    return str(words.WHY.get(value, value))


@register.filter
def waits_for(queued: Queued) -> str:
    return words.waits_for(queued)


@register.filter
def state_name(state: str) -> str:
    return str(State(state).label)


@register.filter
def state_colour(state: str) -> str:
    return words.STATE_COLOURS[state]


@register.filter
def part_state(state: str) -> str:
    return str(words.OUTCOMES.get(state, state))


@register.filter
def part_colour(state: str) -> str:
    return {"success": "success", "failed": "danger"}.get(state, "default")


@register.filter
def figure(name: str) -> str:
    return str(words.FIGURES.get(name, name))


@register.filter
def seconds(length: float | None) -> str:
    return "" if length is None else written.duration(timedelta(seconds=length))


@register.filter
def by_hand(job: str) -> str:
    """The job's name; what a person collects by hand has none."""
    return job or pgettext("execution", "by hand")


@register.filter
def failure(error: str) -> str:
    return words.translated(error)


@register.filter
def about_seconds(seconds: int) -> str:
    return written.about(timedelta(seconds=seconds))


@register.filter
def why_lost(reason: LostSlots) -> str:
    return words.why_lost(reason)


@register.filter
def lost(reason: LostSlots) -> str:
    return words.lost_in_words(reason)


@register.filter
def missed(tasks: Sequence[TaskReport]) -> str:
    return words.missed_in_words(tasks)


@register.filter
def hour(period: Hour) -> str:
    return words.hour_in_words(period.start, period.end)


@register.filter
def bar(progress: quotas.Progress) -> str:
    return quotas.bar(progress)


@register.filter
def risk_mark(risk: str) -> str:
    return quotas.risk_mark(risk)


@register.filter
def severity_name(severity: str) -> str:
    return str(ViolationSeverity(severity).label)


@register.filter
def severity_colour(severity: str) -> str:
    return words.SEVERITY_COLOURS[severity]


@register.filter
def quota_status_name(status: str) -> str:
    return str(QuotaStatus(status).label)


@register.filter
def quota_status_colour(status: str) -> str:
    return words.QUOTA_COLOURS[status]


@register.filter
def health_name(health: str) -> str:
    return str(Health(health).label)


@register.filter
def olt_url(olt_id: int) -> str:
    return reverse("olt", args=[olt_id])


@register.filter
def port_url(port: PonPort) -> str:
    return reverse("port", args=[port.olt_id, port.pk])


@register.filter
def onu_state(state: str) -> str:
    return str(words.ONU_STATES.get(state, state))


@register.filter
def onu_colour(state: str) -> str:
    return words.ONU_COLOURS.get(state, "default")


@register.filter
def down_cause(cause: str) -> str:
    return words.cause_in_words(cause)


@register.filter
def event_colour(kind: str) -> str:
    return words.ONU_EVENT_COLOURS[kind]


@register.filter
def link_state(state: str) -> str:
    return str(words.LINK_STATES.get(state, state))


@register.filter
def interface(onu: Onu) -> str:
    """Its place on its OLT, as people name it."""
    return interface_of(onu)


@register.filter
def stretch_in_words(stretch: Stretch, now: datetime) -> str:
    """What a pointer on a part of the band is told."""
    length = written.duration(stretch.until - stretch.since)
    return f"{words.stretch_name(stretch)}, {moment(stretch.since, now)}, {length}"


@register.filter
def first_of(rows: Sequence[object]) -> str:
    """How many were found; a plus where no more were looked for."""
    return f"{len(rows)}+" if len(rows) >= MOST else f"{len(rows)}"


@register.filter
def page_query(wanted: Wanted, page: int) -> str:
    """The same question about another page."""
    return urlencode({**asdict(wanted), "page": page})


@register.filter
def run_in_words(run: Run) -> str:
    """What a pointer on it is told: when, how long, how late and why."""
    return words.run_in_words(run)


@register.filter
def lane_in_words(row: Row) -> str:
    return words.lane_in_words(row)


@register.filter
def level_colour(level: str) -> str:
    return words.LEVEL_COLOURS.get(level, "default")


@register.filter
def happening_name(what: str) -> str:
    """An event of the coordinator, or one of an ONU."""
    name = words.EVENTS.get(what)
    return str(EventKind(what).label if name is None else name)


@register.filter
def ailment(what: str) -> str:
    return str(words.AILMENTS[what])
