"""The messages of notifications: a short title, and a body of a few lines.

They are composed from the stored details, in the language of the channel. A new kind is one more function in
_TEXTS.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from facho.apps.discovery.models import PortOutage
from facho.apps.execution_coordinator.models import ViolationSeverity
from facho.apps.execution_coordinator.texts import hour_in_words, lost_in_words, missed_in_words
from facho.apps.localized_numbers import about as approximate
from facho.apps.localized_numbers import localized, number
from facho.apps.localized_times import date_and_minute
from facho.apps.notifications.models import NotificationKindChoices
from facho.apps.reason_words import reason_words
from facho.config import Config
from facho.core.interval import interval_words
from facho.core.notifications import ENDS, NotificationKind, NotifiedEvent, page_path
from facho.core.reasons import from_json
from facho.core.violation_report import reasons_of, tasks_of
from facho.log_files import one_line
from facho.masking import mask_secrets

log = logging.getLogger(__name__)

_MAX_LINE_LENGTH: Final = 2000


@dataclass(frozen=True, slots=True)
class Message:
    title: str
    body: str


def compose_message(event: NotifiedEvent, language: str, config: Config) -> Message:
    """Return the message of an event, in that language and in the operator's time zone."""
    with translation.override(language or config.language), timezone.override(config.time_zone):
        title, *lines = _title_and_lines(event)
        lines += [_severity_line(event), moment(event.at), _link(event, config)]
        return Message(_clean(title), "\n".join(_clean(line) for line in lines if line))


def _severity_line(event: NotifiedEvent) -> str:
    """Return the severity of something that began: its end is no bad news, and a test none at all."""
    if event.kind in ENDS or event.kind is NotificationKind.TEST:
        return ""
    return _("Severity: %(severity)s") % {"severity": ViolationSeverity(event.severity).label}


def _link(event: NotifiedEvent, config: Config) -> str:
    return f"{config.public_url.rstrip('/')}{page_path(event)}" if config.public_url else ""


def combine_messages(stored: Sequence[str], language: str, config: Config) -> Message:
    """Return one message for several as they are stored, with the title in the first line."""
    if len(stored) == 1:
        title, _line, body = stored[0].partition("\n")
        return Message(title, body)
    with translation.override(language or config.language):
        title = ngettext("%(count)d event", "%(count)d events", len(stored)) % {"count": len(stored)}
    return Message(f"Facho Deluxe: {title}", "\n\n".join(stored))


def _title_and_lines(event: NotifiedEvent) -> Sequence[str]:
    """Return the text of an event. Details that do not fit it are sent as they are, rather than nothing."""
    try:
        return list(_TEXTS.get(event.kind, _plain_text)(event))
    except Exception:
        log.exception("notification text failed", extra={"action": "bug", "notice": event.kind.value})
        return _plain_text(event)


def _clean(line: str) -> str:
    """Mask and shorten a line. It is masked first: a secret that is cut is not recognised."""
    return one_line(mask_secrets(line))[:_MAX_LINE_LENGTH]


def moment(at: datetime | str) -> str:
    """Return `2025-06-10 10:41`, in the operator's time zone."""
    return date_and_minute(datetime.fromisoformat(at) if isinstance(at, str) else at)


TextOf = Callable[[NotifiedEvent], Sequence[str]]
"""Return the title, then the lines of the body; empty lines are left out."""


def _quota_violation(event: NotifiedEvent) -> Sequence[str]:
    report = event.details["report"]
    since, until = (datetime.fromisoformat(event.details[name]) for name in ("period_start", "period_end"))
    reasons = reasons_of(report)
    severity = ViolationSeverity(event.severity).label
    return (
        _("%(olt)s: quota not met (%(severity)s)") % {"olt": event.olt_name, "severity": severity},
        _("Hour: %(hour)s") % {"hour": hour_in_words(since, until)},
        missed_in_words(tasks_of(report), at_most=5),
        _("Main reason: %(reason)s") % {"reason": lost_in_words(reasons[0])} if reasons else "",
    )


def _olt_down(event: NotifiedEvent) -> Sequence[str]:
    reason = reason_words(from_json(event.details.get("reason", "")))
    return _("%(olt)s does not answer") % {"olt": event.olt_name}, reason


def _olt_up(event: NotifiedEvent) -> Sequence[str]:
    since = event.details.get("since")
    return _("%(olt)s answers again") % {"olt": event.olt_name}, _time_away(since, event.at)


def _time_away(since: str | None, at: datetime) -> str:
    if since is None:
        return ""
    away = approximate(at - datetime.fromisoformat(since))
    return _("It did not answer for %(time)s, since %(since)s.") % {"time": away, "since": moment(since)}


def _node_suspended(event: NotifiedEvent) -> Sequence[str]:
    names = {"job": event.details["job"], "olt": event.olt_name}
    return _("%(olt)s: %(job)s is suspended") % names, reason_words(
        from_json(event.details.get("reason", ""))
    )


def _node_back(event: NotifiedEvent) -> Sequence[str]:
    return (_("%(olt)s: %(job)s is back") % {"job": event.details["job"], "olt": event.olt_name},)


def _saturation_begins(event: NotifiedEvent) -> Sequence[str]:
    return _("The pollers are saturated"), _pollers_line(event)


def _saturation_ends(event: NotifiedEvent) -> Sequence[str]:
    return _("The pollers are no longer saturated"), _pollers_line(event)


def _pollers_line(event: NotifiedEvent) -> str:
    figures = {"busy": number(event.details["busy_percentage"]), "waiting": event.details["queue_size"]}
    return _("%(busy)s %% busy, executions waiting: %(waiting)d") % figures


def _port_outage(event: NotifiedEvent) -> Sequence[str]:
    title = _("%(olt)s: outage of port %(port)s, %(cause)s") % _port_values(event)
    return title, _("%(affected)d of %(onus)d ONUs are offline.") % event.details


def _port_outage_ended(event: NotifiedEvent) -> Sequence[str]:
    time = approximate(timedelta(seconds=event.details["seconds"]))
    lasted = {"time": time, "since": moment(event.details["since"])}
    return (
        _("%(olt)s: outage of port %(port)s ended, %(cause)s") % _port_values(event),
        _("It lasted %(time)s, since %(since)s.") % lasted,
        _("ONUs affected: %(affected)d") % event.details,
    )


def _port_values(event: NotifiedEvent) -> dict[str, Any]:
    cause = PortOutage.Cause(event.details["cause"]).label
    return {"olt": event.olt_name, "port": event.details["port"], "cause": cause}


def _optical_weak(event: NotifiedEvent) -> Sequence[str]:
    text = ngettext(
        "%(olt)s, port %(port)s: weak optical power of %(count)d ONU",
        "%(olt)s, port %(port)s: weak optical power of %(count)d ONUs",
        event.details["count"],
    )
    return text % {**event.details, "olt": event.olt_name}, *_onu_lines(event, _onu_and_power)


def _optical_falling(event: NotifiedEvent) -> Sequence[str]:
    text = ngettext(
        "%(olt)s, port %(port)s: the optical power of %(count)d ONU fell",
        "%(olt)s, port %(port)s: the optical power of %(count)d ONUs fell",
        event.details["count"],
    )
    return text % {**event.details, "olt": event.olt_name}, *_onu_lines(event, _onu_and_power)


def _optical_recovered(event: NotifiedEvent) -> Sequence[str]:
    text = ngettext(
        "%(olt)s, port %(port)s: the optical power of %(count)d ONU recovered",
        "%(olt)s, port %(port)s: the optical power of %(count)d ONUs recovered",
        event.details["count"],
    )
    return text % {**event.details, "olt": event.olt_name}, *_onu_lines(event, _onu_and_power)


def _onu_and_power(onu: Mapping[str, Any]) -> str:
    power = f"{onu['name']} ({onu['place']}): {localized(format(onu['power_dbm'], '.1f'))} dBm"
    if onu["usual_dbm"] is None:
        return power
    usual = localized(format(onu["usual_dbm"], ".1f"))
    return _("%(power)s, usually %(usual)s dBm") % {"power": power, "usual": usual}


def _onu_unprovisioned(event: NotifiedEvent) -> Sequence[str]:
    text = ngettext(
        "%(olt)s: %(count)d new ONU waits to be provisioned",
        "%(olt)s: %(count)d new ONUs wait to be provisioned",
        event.details["count"],
    )
    return text % {**event.details, "olt": event.olt_name}, *_onu_lines(event, _onu_and_port)


def _onu_and_port(onu: Mapping[str, Any]) -> str:
    waits = _("%(name)s, port %(port)s") % onu
    return f"{waits}, {onu['model']}" if onu["model"] else waits


def _onu_lines(event: NotifiedEvent, text: Callable[[Mapping[str, Any]], str]) -> Iterator[str]:
    """Yield a line for each ONU that is named, and the number of the others."""
    named = event.details["onus"]
    yield from map(text, named)
    if more := event.details["count"] - len(named):
        yield _("and %(count)d more") % {"count": more}


def _plan_infeasible(event: NotifiedEvent) -> Sequence[str]:
    change = event.details.get("change")
    more = {"minutes": number(event.details["minutes"]), "at_risk": event.details["at_risk"]}
    return (
        _("%(olt)s: more work than fits in an hour") % {"olt": event.olt_name},
        _("%(minutes)s minutes per hour; %(at_risk)s") % more,
        _helpful_change(change) if change else _("More than one job has to run less often."),
    )


def _helpful_change(change: Mapping[str, Any]) -> str:
    before, after = (interval_words(timedelta(seconds=change[name])) for name in ("before_s", "after_s"))
    return _("It would fit with %(job)s every %(after)s instead of every %(before)s.") % {
        "job": change["job"],
        "before": before,
        "after": after,
    }


def _unreadable_rows(event: NotifiedEvent) -> Sequence[str]:
    title = ngettext(
        "%(olt)s: %(rows)d unreadable row in %(table)s",
        "%(olt)s: %(rows)d unreadable rows in %(table)s",
        event.details["rows"],
    )
    return (
        title % {**event.details, "olt": event.olt_name},
        _("The profile cannot read the index %(example)s, for example: new firmware may use another layout.")
        % event.details,
        _("No ONU is marked absent meanwhile."),
    )


def _test(event: NotifiedEvent) -> Sequence[str]:
    channel = event.details.get("channel", "")
    return _("Facho Deluxe: test message"), _("The channel %(channel)s works.") % {"channel": channel}


def _plain_text(event: NotifiedEvent) -> Sequence[str]:
    """Return the details as they are, for an event without a text of its own."""
    label = str(NotificationKindChoices(event.kind.value).label)
    title = ": ".join(part for part in (event.olt_name, label) if part)
    return title, event.about, *(f"{name}: {value}" for name, value in event.details.items())


_TEXTS: Final[Mapping[NotificationKind, TextOf]] = {
    NotificationKind.QUOTA_VIOLATION: _quota_violation,
    NotificationKind.OLT_DOWN: _olt_down,
    NotificationKind.OLT_UP: _olt_up,
    NotificationKind.NODE_SUSPENDED: _node_suspended,
    NotificationKind.NODE_BACK: _node_back,
    NotificationKind.SATURATION_BEGINS: _saturation_begins,
    NotificationKind.SATURATION_ENDS: _saturation_ends,
    NotificationKind.PORT_OUTAGE: _port_outage,
    NotificationKind.PORT_OUTAGE_ENDED: _port_outage_ended,
    NotificationKind.OPTICAL_WEAK: _optical_weak,
    NotificationKind.OPTICAL_FALLING: _optical_falling,
    NotificationKind.OPTICAL_RECOVERED: _optical_recovered,
    NotificationKind.ONU_UNPROVISIONED: _onu_unprovisioned,
    NotificationKind.PLAN_INFEASIBLE: _plan_infeasible,
    NotificationKind.UNREADABLE_ROWS: _unreadable_rows,
    NotificationKind.TEST: _test,
}
