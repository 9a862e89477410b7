"""The sentences of notices, made when they are sent: a short title, and what else there is to say.

A new notice is one more function in _WORDS. Its values are those that were told, as JSON has them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from facho.apps.discovery.models import PortOutage
from facho.apps.execution_coordinator.models import ViolationSeverity
from facho.apps.execution_coordinator.words import hour_in_words, lost_in_words, missed_in_words
from facho.apps.executions.failure_words import translated
from facho.apps.notifications.models import NoticeKind
from facho.apps.written import about as about_so_long
from facho.config import Config
from facho.core.interval import format_interval
from facho.core.notifications import NotificationKind
from facho.core.report import reasons_of, tasks_of
from facho.log_files import one_line
from facho.masking import masked

log = logging.getLogger(__name__)

_MOST_LETTERS: Final = 2000


@dataclass(frozen=True, slots=True)
class NotifiedEvent:
    """What is known of a notice. `olt` is the OLT's name, empty when it is about all of them."""

    notice: NotificationKind
    severity: str
    at: datetime
    olt: str = ""
    about: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    title: str
    body: str


def compose_message(said: NotifiedEvent, language: str, config: Config) -> Message:
    """In that language, and in the operator's time."""
    with translation.override(language or config.language), timezone.override(config.time_zone):
        return _message(said)


def combine_messages(written: Sequence[str], language: str, config: Config) -> Message:
    """Of messages as they are kept: the title is the first line."""
    if len(written) == 1:
        title, _line, body = written[0].partition("\n")
        return Message(title, body)
    with translation.override(language or config.language):
        title = ngettext("%(count)d notice", "%(count)d notices", len(written)) % {"count": len(written)}
    return Message(f"Facho Deluxe: {title}", "\n\n".join(written))


def _message(said: NotifiedEvent) -> Message:
    title, *lines = _words(said)
    lines.append(moment(said.at))
    return Message(_clean(title), "\n".join(_clean(line) for line in lines if line))


def _words(said: NotifiedEvent) -> Sequence[str]:
    """A sentence that its values do not fit is no reason to tell nobody, nor to keep others waiting."""
    try:
        return list(_WORDS.get(said.notice, _in_general)(said))
    except Exception:
        log.exception("no words by a bug", extra={"action": "bug", "notice": said.notice.value})
        return _in_general(said)


def _clean(line: str) -> str:
    """Masked first: a secret that was cut before would not be found."""
    return one_line(masked(line))[:_MOST_LETTERS]


def moment(at: datetime | str) -> str:
    """`10 Jun 2025, 10:41`, on the operator's clock."""
    here = timezone.localtime(datetime.fromisoformat(at) if isinstance(at, str) else at)
    return f"{date_format(here, 'j M Y')}, {here:%H:%M}"


def severity(name: str) -> str:
    return str(ViolationSeverity(name).label)


Words = Callable[[NotifiedEvent], Sequence[str]]
"""The title, then the lines of the body; those that are empty are left out."""


def _quota_violation(said: NotifiedEvent) -> Sequence[str]:
    report = said.details["report"]
    since, until = (datetime.fromisoformat(said.details[name]) for name in ("period_start", "period_end"))
    reasons = reasons_of(report)
    return (
        _("%(olt)s: quota not met (%(severity)s)") % {"olt": said.olt, "severity": severity(said.severity)},
        _("Hour: %(hour)s") % {"hour": hour_in_words(since, until)},
        missed_in_words(tasks_of(report), at_most=5),
        _("Main reason: %(reason)s") % {"reason": lost_in_words(reasons[0])} if reasons else "",
    )


def _olt_down(said: NotifiedEvent) -> Sequence[str]:
    reason = translated(said.details.get("reason", ""))
    return _("%(olt)s does not answer") % {"olt": said.olt}, reason


def _olt_up(said: NotifiedEvent) -> Sequence[str]:
    since = said.details.get("since")
    return _("%(olt)s answers again") % {"olt": said.olt}, _was_away(since, said.at)


def _was_away(since: str | None, at: datetime) -> str:
    if since is None:
        return ""
    away = about_so_long(at - datetime.fromisoformat(since))
    return _("It was away for %(time)s, since %(since)s.") % {"time": away, "since": moment(since)}


def _node_suspended(said: NotifiedEvent) -> Sequence[str]:
    names = {"job": said.details["job"], "olt": said.olt}
    return _("%(olt)s: %(job)s is suspended") % names, translated(said.details.get("reason", ""))


def _node_back(said: NotifiedEvent) -> Sequence[str]:
    return (_("%(olt)s: %(job)s is back") % {"job": said.details["job"], "olt": said.olt},)


def _saturation_begins(said: NotifiedEvent) -> Sequence[str]:
    return _("The pollers are saturated"), _busy(said)


def _saturation_ends(said: NotifiedEvent) -> Sequence[str]:
    return _("The pollers are not saturated any more"), _busy(said)


def _busy(said: NotifiedEvent) -> str:
    figures = {"busy": f"{said.details['busy_percentage']:g}", "waiting": said.details["queue_size"]}
    return _("%(busy)s %% busy, executions waiting: %(waiting)d") % figures


def _port_outage(said: NotifiedEvent) -> Sequence[str]:
    title = _("%(olt)s: outage of port %(port)s, %(cause)s") % _port(said)
    return title, _("%(affected)d of %(onus)d ONUs are offline.") % said.details


def _port_outage_ended(said: NotifiedEvent) -> Sequence[str]:
    time = about_so_long(timedelta(seconds=said.details["seconds"]))
    lasted = {"time": time, "since": moment(said.details["since"])}
    return (
        _("%(olt)s: outage of port %(port)s is over, %(cause)s") % _port(said),
        _("It lasted %(time)s, since %(since)s.") % lasted,
        _("ONUs affected: %(affected)d") % said.details,
    )


def _port(said: NotifiedEvent) -> dict[str, Any]:
    cause = PortOutage.Cause(said.details["cause"]).label
    return {"olt": said.olt, "port": said.details["port"], "cause": cause}


def _optical_weak(said: NotifiedEvent) -> Sequence[str]:
    text = ngettext(
        "%(olt)s, port %(port)s: weak optical power of %(count)d ONU",
        "%(olt)s, port %(port)s: weak optical power of %(count)d ONUs",
        said.details["count"],
    )
    return text % {**said.details, "olt": said.olt}, *_onus(said, _power_in_words)


def _optical_falling(said: NotifiedEvent) -> Sequence[str]:
    text = ngettext(
        "%(olt)s, port %(port)s: the optical power of %(count)d ONU fell",
        "%(olt)s, port %(port)s: the optical power of %(count)d ONUs fell",
        said.details["count"],
    )
    return text % {**said.details, "olt": said.olt}, *_onus(said, _power_in_words)


def _optical_recovered(said: NotifiedEvent) -> Sequence[str]:
    text = ngettext(
        "%(olt)s, port %(port)s: the optical power of %(count)d ONU recovered",
        "%(olt)s, port %(port)s: the optical power of %(count)d ONUs recovered",
        said.details["count"],
    )
    return text % {**said.details, "olt": said.olt}, *_onus(said, _power_in_words)


def _power_in_words(onu: Mapping[str, Any]) -> str:
    power = f"{onu['name']} ({onu['place']}): {onu['power_dbm']:.1f} dBm"
    if onu["usual_dbm"] is None:
        return power
    usual = f"{onu['usual_dbm']:.1f}"
    return _("%(power)s, usually %(usual)s dBm") % {"power": power, "usual": usual}


def _onu_unprovisioned(said: NotifiedEvent) -> Sequence[str]:
    text = ngettext(
        "%(olt)s: %(count)d new ONU waits to be provisioned",
        "%(olt)s: %(count)d new ONUs wait to be provisioned",
        said.details["count"],
    )
    return text % {**said.details, "olt": said.olt}, *_onus(said, _who_waits)


def _who_waits(onu: Mapping[str, Any]) -> str:
    waits = _("%(name)s, port %(port)s") % onu
    return f"{waits}, {onu['model']}" if onu["model"] else waits


def _onus(said: NotifiedEvent, words: Callable[[Mapping[str, Any]], str]) -> Iterator[str]:
    """Those that are named, and how many are not."""
    named = said.details["onus"]
    yield from map(words, named)
    if more := said.details["count"] - len(named):
        yield _("and %(count)d more") % {"count": more}


def _plan_infeasible(said: NotifiedEvent) -> Sequence[str]:
    change = said.details.get("change")
    more = {"minutes": f"{said.details['minutes']:g}", "at_risk": said.details["at_risk"]}
    return (
        _("%(olt)s: more work than an hour holds") % {"olt": said.olt},
        _("%(minutes)s minutes an hour; %(at_risk)s") % more,
        _slower(change) if change else _("More than one task has to run less often."),
    )


def _slower(change: Mapping[str, Any]) -> str:
    before, after = (format_interval(timedelta(seconds=change[name])) for name in ("before_s", "after_s"))
    return _("It would fit with %(job)s every %(after)s instead of every %(before)s.") % {
        "job": change["job"],
        "before": before,
        "after": after,
    }


def _unreadable_rows(said: NotifiedEvent) -> Sequence[str]:
    title = ngettext(
        "%(olt)s: %(rows)d row of %(table)s cannot be read",
        "%(olt)s: %(rows)d rows of %(table)s cannot be read",
        said.details["rows"],
    )
    return (
        title % {**said.details, "olt": said.olt},
        _("The profile cannot read the index %(example)s, for example: new firmware may use another layout.")
        % said.details,
        _("No ONU is marked absent meanwhile."),
    )


def _test(said: NotifiedEvent) -> Sequence[str]:
    channel = said.details.get("channel", "")
    return _("Facho Deluxe: a test"), _("The channel %(channel)s works.") % {"channel": channel}


def _in_general(said: NotifiedEvent) -> Sequence[str]:
    """For a notice that nobody has written a sentence for."""
    label = str(NoticeKind(said.notice.value).label)
    title = ": ".join(part for part in (said.olt, label) if part)
    return title, said.about, *(f"{name}: {value}" for name, value in said.details.items())


_WORDS: Final[Mapping[NotificationKind, Words]] = {
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
