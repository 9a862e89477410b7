"""The template filters of all pages: `{% load facho %}`."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.timezone import localtime
from django.utils.translation import ngettext, pgettext

from facho.apps import localized_numbers, localized_times
from facho.apps.chassis.models import PonPort, Unprovisioned
from facho.apps.discovery.models import EventKind, Onu, Optics
from facho.apps.discovery.selectors import interface_of, is_weak
from facho.apps.execution_coordinator.models import ViolationSeverity
from facho.apps.execution_coordinator.texts import (
    hour_in_words,
    hours_of_clock,
    lost_in_words,
    missed_in_words,
    why_lost,
)
from facho.apps.executions.delay_texts import DELAY_TEXTS
from facho.apps.executions.models import State
from facho.apps.extras import read_extras
from facho.apps.hosts.health import Health
from facho.apps.reason_words import reason_words
from facho.core.interval import interval_words
from facho.core.line_rates import line_rate
from facho.core.quota import Hour
from facho.core.reason_texts import TABLE_NOT_PRESENT
from facho.core.reasons import Reason, from_json, missing_tables, without_code
from facho.vendors import Entity
from facho.web.components import ages, quotas
from facho.web.components.list_query import OltQuery, PlanQuery
from facho.web.components.state_band import Stretch
from facho.web.ports.data import PortQuery
from facho.web.search.data import MOST_RESULTS
from facho.web.words import colours, events, executions, facts, plans, states

register = template.Library()
# Of a share smaller than this, a decimal is shown.
_LITTLE: Final = 0.0995

# Times.


@register.filter
def duration(length: timedelta | None) -> str:
    return "" if length is None else localized_numbers.duration(length)


@register.filter
def step_age(step: Any) -> str:
    """Return how long ago the last step of a loop was; of one that is on time only the most: `≤ 1.0 s`."""
    return duration(step.age) if step.stalled else f"≤ {duration(step.most_age)}"


@register.filter
def seconds(length: float | None) -> str:
    return "" if length is None else localized_numbers.duration(timedelta(seconds=length))


@register.filter
def about_seconds(seconds: int) -> str:
    return localized_numbers.about(timedelta(seconds=seconds))


@register.filter
def since(then: datetime | None, now: datetime) -> str:
    """Return how long ago it was, or how long until it is."""
    return "" if then is None else localized_numbers.duration(abs(now - then))


register.filter("age", ages.age)
register.simple_tag(ages.collected)


@register.filter
def moment(at: datetime | None, now: datetime) -> str:
    """Return the time of day, with the date when it is not today's."""
    if at is None:
        return ""
    is_today = localtime(at).date() == localtime(now).date()
    return localized_times.clock(at) if is_today else localized_times.date_and_time(at)


register.filter("olt_date", facts.olt_date)


@register.filter
def is_after(at: datetime | None, now: datetime) -> bool:
    return at is not None and at > now


@register.filter
def hour(period: Hour, now: datetime | None = None) -> str:
    """Return the date and the hour; with `now`, an hour of today without its date."""
    if now is not None and localtime(period.start).date() == localtime(now).date():
        return hours_of_clock(period.start, period.end)
    return hour_in_words(period.start, period.end)


register.filter("interval", interval_words)


# OLTs, boards, ports and ONUs.


@register.filter
def olt_options(olts: Sequence[tuple[int, str, str]], chosen: int | None) -> str:
    """Return the options to choose an OLT, of ids, names and sites. A loop in a template is slow for many."""
    options = (
        f'<option value="{olt_id}"{" selected" if olt_id == chosen else ""}>{html.escape(name)}</option>'
        for olt_id, name, _site in olts
    )
    return mark_safe("".join(options))  # noqa: S308  # the names are escaped


@register.filter
def olt_url(olt_id: int) -> str:
    return reverse("olt", args=[olt_id])


@register.filter
def port_url(port: PonPort) -> str:
    return reverse("port", args=[port.olt_id, port.pk])


@register.filter
def health_name(health: str) -> str:
    return str(Health(health).label)


@register.filter
def health_colour(health: str) -> str:
    return colours.HEALTH_COLOURS.get(health, "default")


@register.filter
def device_colour(state: str | None) -> str:
    """Return the colour for the state of a port, a board or a fan."""
    return colours.DEVICE_COLOURS.get(state or "", "default")


@register.filter
def link_state(state: str | None) -> str:
    return str(states.LINK_STATES.get(state or "", state or ""))


@register.filter
def port_cause(cause: str | None) -> str:
    return str(states.PORT_CAUSES.get(cause or "", cause or ""))


@register.filter
def facts_of_waiting(row: Unprovisioned) -> str:
    """Return what an OLT says of an unprovisioned ONU beside its serial and model, in one line."""
    known = {fact: getattr(row, fact) for fact in ("mac", "vendor_id", "sw_version", "seen_at")}
    named = facts.named_facts({**known, **read_extras(row.extras)}, Entity.AUTOFIND)
    return " · ".join(f"{name}: {value}" for name, value in named if value)


@register.filter
def board_state(state: str | None) -> str:
    return str(states.BOARD_STATES.get(state or "", state or ""))


@register.filter
def device_state(state: str) -> str:
    """Return the state of an uplink or of a board; their words differ."""
    return link_state(state) if state in states.LINK_STATES and state != "unknown" else board_state(state)


@register.filter
def interface(onu: Onu) -> str:
    return interface_of(onu)


register.filter("onu_cause", states.onu_cause_name)
register.filter(is_weak)


register.simple_tag(ages.onu_badge)
register.simple_tag(ages.state_badge)
register.simple_tag(ages.device_badge)
register.filter("unknown_because", ages.unknown_because)
register.filter("down_cause", states.cause_name)


@register.filter
def optics_name(state: str) -> str:
    return str(Optics(state).label) if state in Optics.values else ""


@register.filter
def stretch_title(stretch: Stretch, now: datetime) -> str:
    """Return the tooltip of a stretch of the state band."""
    length = localized_numbers.duration(stretch.until - stretch.since)
    return f"{states.stretch_name(stretch)}, {moment(stretch.since, now)}, {length}"


# Executions, plans and quotas.


@register.filter
def state_name(state: str) -> str:
    return str(State(state).label)


@register.filter
def state_colour(state: str) -> str:
    return colours.STATE_COLOURS[state]


@register.filter
def outcome_name(outcome: str) -> str:
    return str(executions.OUTCOMES.get(outcome, outcome))


@register.filter
def outcome_colour(outcome: str) -> str:
    return {"success": "success", "failed": "danger"}.get(outcome, "default")


@register.filter
def figure_name(name: str) -> str:
    return str(executions.FIGURES.get(name, name))


@register.filter
def job_name(job: str) -> str:
    """Return the job's name; a collection by hand has no job."""
    return job or pgettext("execution", "by hand")


@register.filter
def late_reason(code: str) -> str:
    return str(DELAY_TEXTS.get(code, code))


@register.filter
def failure(found: object) -> str:
    """Return a reason in words: a value, or as JSON has it."""
    return reason_words(found if isinstance(found, Reason) else from_json(found))


@register.filter
def problem(found: object) -> str:
    """Return in words what is wrong. Tables that an OLT does not have are no problem."""
    reason = found if isinstance(found, Reason) else from_json(found)
    return reason_words(without_code(reason, TABLE_NOT_PRESENT))


@register.filter
def lacking_tables(found: object) -> str:
    """Return the tables that the OLT does not have, or nothing."""
    return ", ".join(sorted(missing_tables(found if isinstance(found, Reason) else from_json(found))))


register.filter("wait_reason", executions.wait_reason)
register.filter("run_title", executions.describe_run)
register.filter("lane_title", executions.describe_lane)
register.filter("shift_text", plans.describe_shift)
register.filter("slower_job_text", plans.describe_slower_job)
register.filter("lost_reason", why_lost)
register.filter("lost_text", lost_in_words)
register.filter("missed_text", missed_in_words)
register.filter("bar", quotas.progress_bar)
register.filter("risk_mark", quotas.risk_mark)


@register.filter
def severity_name(severity: str) -> str:
    return str(ViolationSeverity(severity).label)


@register.filter
def severity_colour(severity: str) -> str:
    return colours.SEVERITY_COLOURS[severity]


# Events and health problems.


@register.filter
def event_name(kind: str) -> str:
    """Return the name of an event of the coordinator or of an ONU."""
    name = events.EVENTS.get(kind)
    return str(EventKind(kind).label if name is None else name)


@register.filter
def onu_event_colour(kind: str) -> str:
    return colours.ONU_EVENT_COLOURS[kind]


@register.filter
def event_colour(what: str, level: str) -> str:
    return colours.event_colour(what, level)


@register.filter
def health_problem(code: str) -> str:
    return str(events.HEALTH_PROBLEMS[code])


# Lists.


@register.filter
def count_found(rows: Sequence[object]) -> str:
    """Return how many were found, with a plus when there may be more."""
    return f"{len(rows)}+" if len(rows) >= MOST_RESULTS else f"{len(rows)}"


@register.filter
def page_query(query: OltQuery | PlanQuery, page: int) -> str:
    """Return the query string of another page of the same list."""
    return urlencode({name: value for name, value in {**asdict(query), "page": page}.items() if value})


@register.filter
def sort_query(query: PortQuery, sort: str) -> str:
    """Return the query string that sorts by a column; by the same column, the other way round."""
    again = f"-{sort}" if query.sort == sort else sort
    return _query_string(query, sort=again, page=1)


@register.filter
def sort_mark(query: PortQuery, sort: str) -> str:
    """Return the value of `aria-sort`."""
    return {sort: "ascending", f"-{sort}": "descending"}.get(query.sort, "none")


@register.filter
def at_page(query: PortQuery, page: int) -> str:
    return _query_string(query, page=page)


@register.filter
def over_days(query: PortQuery, days: int) -> str:
    return _query_string(query, days=days)


def _query_string(query: PortQuery, **changes: Any) -> str:
    return urlencode(asdict(replace(query, **changes)))


@register.filter
def value_of(values: Mapping[Any, Any], key: Any) -> Any:
    return values.get(key)


@register.filter
def decibels(difference: float) -> str:
    """Return a difference with its sign, which a reader looks for first."""
    return localized_numbers.localized(f"{difference:+.1f}")


register.filter("about_length", localized_numbers.about)
register.filter("bit_rate", localized_numbers.bit_rate)


@register.filter
def share(part: float | None) -> str:
    """Return a part of one in per cent, of little with a decimal; of none nothing."""
    if part is None:
        return ""
    return localized_numbers.localized(f"{100 * part:.{1 if part < _LITTLE else 0}f} %")


@register.filter
def line_rate_text(technology: str) -> str:
    """Return a technology with its line rates, to the customers and from them."""
    down, up = (localized_numbers.bit_rate(rate) for rate in reversed(line_rate(technology)))
    return f"{technology.upper()} {down} / {up}".strip()


@register.filter
def hours_name(hours: int) -> str:
    """Return the name of a period: in days from one day on."""
    if hours % 24:
        return ngettext("%d hour", "%d hours", hours) % hours
    return ngettext("%d day", "%d days", hours // 24) % (hours // 24)
