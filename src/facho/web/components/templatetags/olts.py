"""How the pages of OLTs and ports write states, and what their links ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django import template

from facho.apps.discovery.models import Optics
from facho.apps.hosts.health import Health
from facho.core.feasibility import Shift
from facho.core.interval import format_interval
from facho.web import words
from facho.web.dashboard.lanes import Wanted
from facho.web.ports.data import Asked
from facho.web.words import plans

register = template.Library()

_HEALTH_COLOURS: Final[Mapping[str, str]] = {
    Health.UNREACHABLE: "danger",
    Health.SUSPENDED: "danger",
    Health.FAILING: "warning",
    Health.FINE: "success",
    Health.NEVER_ASKED: "info",
    Health.MAINTENANCE: "info",
}
_STATE_COLOURS: Final[Mapping[str, str]] = {
    "online": "success",
    "up": "success",
    "ok": "success",
    "standby": "info",
    "starting": "info",
    "los": "danger",
    "power_off": "warning",
    "offline": "danger",
    "down": "danger",
    "fault": "danger",
    "mismatch": "warning",
    "auth_failed": "warning",
}


@register.filter
def health_colour(health: str) -> str:
    return _HEALTH_COLOURS.get(health, "default")


@register.filter
def told_colour(state: str | None) -> str:
    """Of what a device says of itself, of a part, of a port or of an ONU."""
    return _STATE_COLOURS.get(state or "", "default")


@register.filter
def onu_state(state: str) -> str:
    return str(words.ONU_STATES.get(state, state))


@register.filter
def onu_cause(cause: str) -> str:
    return words.cause_in_words(cause)


@register.filter
def link_state(state: str | None) -> str:
    return str(words.LINK_STATES.get(state or "", state or ""))


@register.filter
def port_cause(cause: str | None) -> str:
    return str(words.PORT_CAUSES.get(cause or "", cause or ""))


@register.filter
def part_state(state: str | None) -> str:
    return str(words.PART_STATES.get(state or "", state or ""))


@register.filter
def optics_name(state: str) -> str:
    return str(Optics(state).label) if state in Optics.values else ""


@register.filter
def interval(length: timedelta) -> str:
    return format_interval(length)


@register.filter
def seconds(number: float | None) -> timedelta | None:
    return None if number is None else timedelta(seconds=number)


@register.filter
def is_after(at: datetime | None, now: datetime) -> bool:
    return at is not None and at > now


@register.filter
def shift_words(shift: Shift) -> str:
    return plans.shift_in_words(shift)


@register.filter
def slower_words(infeasible: Mapping[str, Any] | None) -> str:
    return plans.slower_in_words(infeasible)


@register.filter
def olts_query(wanted: Wanted, page: int) -> str:
    """The same list, another page of it."""
    asked = {"text": wanted.text, "health": wanted.health, "site": wanted.site, "page": page}
    return urlencode({name: value for name, value in asked.items() if value})


@register.filter
def sorted_by(asked: Asked, sort: str) -> str:
    """The same port by another column; by the same one, the other way round."""
    again = f"-{sort}" if asked.sort == sort else sort
    return urlencode(asdict(replace(asked, sort=again, page=1)))


@register.filter
def sort_mark(asked: Asked, sort: str) -> str:
    """As `aria-sort` wants it."""
    return {sort: "ascending", f"-{sort}": "descending"}.get(asked.sort, "none")


@register.filter
def at_page(asked: Asked, page: int) -> str:
    return urlencode(asdict(replace(asked, page=page)))


@register.filter
def over_days(asked: Asked, days: int) -> str:
    return urlencode(asdict(replace(asked, days=days)))
