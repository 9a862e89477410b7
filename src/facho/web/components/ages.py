"""Ages that go on in the browser, values that are greyed when they are old, and states that nobody knows.

The script `ages.js` counts on from `data-age`, so that the clock of the browser need not be right.
"""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime, timedelta
from typing import Literal

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from facho.apps import localized_numbers
from facho.apps.discovery.models import Onu, Presence
from facho.apps.hosts.health import Health, health_of
from facho.core.freshness import is_delivering, shown_state, stale_after
from facho.core.olt_status import OltStatus
from facho.web.words import colours, states


def age(at: datetime | None, now: datetime) -> SafeString | str:
    """Return how long ago it was, as a text that goes on in the browser: `3 min 05 s`."""
    if at is None:
        return ""
    length = max(timedelta(0), now - at)
    return format_html(
        '<time datetime="{}" data-age="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        f"{length.total_seconds():.1f}",
        localized_numbers.duration(length),
    )


def collected(
    at: datetime | Literal[""] | None,
    now: datetime,
    interval: timedelta | Literal[""] | None = None,
    health: str = "",
) -> SafeString | str:
    """Return when a value was collected. After a few intervals it is marked as old, also in the open page.

    Behind an OLT of this health that delivers nothing it is old at once. Templates have empty texts for what
    is not there.

    An element of the class `fd-aged` around it is greyed then.
    """
    if not at:
        return _("not collected yet")
    silent = bool(health) and not is_delivering(OltStatus(health))
    limit, text = timedelta(0) if silent else stale_after(interval or None), age(at, now)
    return format_html(
        '<span class="fd-age{}" data-stale-after="{}"><span>{}</span><b>{}</b></span>',
        " fd-old" if now - at > limit else "",
        int(limit.total_seconds()),
        _with_age(_("collected {age} ago"), text),
        _with_age(_("old: {age}"), text),
    )


def _with_age(sentence: str, text: SafeString | str) -> SafeString:
    return format_html(sentence, age=text)


def onu_badge(onu: Onu, maintained: Container[int] = ()) -> SafeString:
    """Return the badge of the state of an ONU with its OLT. `maintained` are the OLTs under maintenance."""
    if onu.presence == Presence.ABSENT:
        return format_html('<span class="fd-badge fd-danger">{}</span>', onu.get_presence_display())
    return state_badge(onu.state, health_of(onu.olt, maintained), states.onu_cause_name(onu))


def state_badge(state: str, health: str, cause: str = "") -> SafeString:
    """Return the badge of a collected state, behind an OLT of this health, and why it is offline."""
    shown = shown_state(state, OltStatus(health))
    if shown.because is None:
        return _with_cause(_badge(state), cause)
    unknown = format_html('<span class="fd-badge">{}</span>', unknown_because(shown.because))
    if not state:
        return unknown
    last = format_html(_("last known: {state}"), state=states.onu_state_name(state))
    return format_html('{} <small class="fd-last-known">{}</small>', unknown, last)


def device_badge(text: str, colour: str, health: str) -> SafeString:
    """Return the badge of the state of a port or a board, behind an OLT of this health."""
    if is_delivering(OltStatus(health)):
        return format_html('<span class="fd-badge fd-{} fd-now">{}</span>', colour, text)
    return format_html('<span class="fd-badge">{}</span>', unknown_because(health))


def unknown_because(health: str) -> str:
    """Return the text of a state that is unknown because of the OLT."""
    match health:
        case Health.DISABLED:
            return _("unknown (OLT disabled)")
        case Health.MAINTENANCE:
            return _("unknown (maintenance)")
        case _:
            return _("unknown (OLT down)")


def _badge(state: str) -> SafeString:
    if not state:
        return SafeString("–")  # noqa: RUF001  # as every page writes what is not known
    return format_html(
        '<span class="fd-badge fd-{} fd-now">{}</span>',
        colours.ONU_COLOURS.get(state, "default"),
        states.onu_state_name(state),
    )


def _with_cause(badge: SafeString, cause: str) -> SafeString:
    return format_html("{} <small>{}</small>", badge, cause) if cause else badge
