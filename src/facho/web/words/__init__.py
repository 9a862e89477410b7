"""What the inner layers say in English, in the words of who reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from facho.apps.discovery.models import EventKind, OnuEvent, Presence
from facho.apps.execution_coordinator.models import QuotaStatus, ViolationSeverity
from facho.apps.execution_coordinator.words import WHY_LOST as WHY_LOST
from facho.apps.execution_coordinator.words import hour_in_words as hour_in_words
from facho.apps.execution_coordinator.words import lost_in_words as lost_in_words
from facho.apps.execution_coordinator.words import missed_in_words as missed_in_words
from facho.apps.execution_coordinator.words import why_lost as why_lost
from facho.apps.executions.failure_words import translated as translated
from facho.apps.executions.models import State
from facho.apps.executions.selectors import Queued, Reason
from facho.apps.executions.words import WHY as WHY
from facho.apps.written import duration, localized
from facho.core.delay import Why
from facho.core.event_types import EventType, Level
from facho.web.components.state_band import Stretch
from facho.web.components.timeline import Row, Run

if TYPE_CHECKING:
    # It becomes a string in the reader's language.
    from django.utils.functional import _StrPromise as Text

EVENTS: Final[Mapping[str, Text]] = {
    EventType.TASK_ADDED: _("task added"),
    EventType.TASK_REMOVED: _("task removed"),
    EventType.TASK_INTERVAL_CHANGED: _("interval of a task changed"),
    EventType.OLT_ENABLED: _("OLT enabled"),
    EventType.OLT_DISABLED: _("OLT disabled"),
    EventType.CONFIG_CHANGED: _("configuration changed"),
    EventType.PLAN_ADJUSTED: _("plan adjusted"),
    EventType.PLAN_INFEASIBLE: _("more work than an hour holds"),
    EventType.EMERGENCY_REPLAN: _("emergency re-plan"),
    EventType.QUOTA_VIOLATION: _("quota violation"),
    EventType.EXECUTION_ABORTED: _("execution aborted"),
    EventType.LEASE_LOST: _("lease lost"),
    EventType.RECOVERED: _("recovered after a crash"),
    EventType.OLT_SUSPENDED: _("OLT suspended"),
    EventType.OLT_BACK: _("OLT back"),
    EventType.NODE_SUSPENDED: _("node suspended"),
    EventType.NODE_BACK: _("node back"),
    EventType.SATURATION_BEGINS: _("pollers saturated"),
    EventType.SATURATION_ENDS: _("pollers no longer saturated"),
    EventType.PORT_OUTAGE: _("outage of a port"),
    EventType.PORT_OUTAGE_ENDED: _("end of a port's outage"),
    EventType.ENGINE_WAS_STOPPED: _("the engine was stopped"),
    EventType.CLOCK_CHANGED: _("clock changed"),
    EventType.MAINTENANCE_BEGINS: _("maintenance begins"),
    EventType.MAINTENANCE_ENDS: _("maintenance ends"),
    EventType.LOG_LOST: _("lines of the log lost"),
    EventType.UNREADABLE_ROWS: _("rows that cannot be read"),
    EventType.REMOVAL_WAITS: _("removal waits for a person"),
    EventType.REMOVAL_RESUMED: _("removal resumed"),
}

# Of the reasons that /health gives, those that no other part of the dashboard tells.
AILMENTS: Final[Mapping[str, Text]] = {
    "logs": _("The folder of the logs cannot be written to: what happens is kept in the database only."),
    "trackers": _("Some OLTs have runs due in this hour and no quota for them: facho doctor names them."),
    "disk": _("The disk of the database is nearly full."),
    "retention": _(
        "Most of a table would be removed as too old, and waits for an administrator: "
        "look at the clock, then at facho retention show."
    ),
}

# The colours of a badge.
QUOTA_COLOURS: Final[Mapping[str, str]] = {
    QuotaStatus.IN_PROGRESS: "info",
    QuotaStatus.COMPLETED: "success",
    QuotaStatus.PARTIAL: "warning",
    QuotaStatus.QUOTA_NOT_MET: "danger",
    QuotaStatus.FAILED: "danger",
    QuotaStatus.INTERRUPTED: "default",
}
SEVERITY_COLOURS: Final[Mapping[str, str]] = {
    ViolationSeverity.LOW: "info",
    ViolationSeverity.MEDIUM: "warning",
    ViolationSeverity.HIGH: "danger",
    ViolationSeverity.CRITICAL: "danger",
}
LEVEL_COLOURS: Final[Mapping[str, str]] = {
    Level.INFO: "info",
    Level.WARNING: "warning",
    Level.ERROR: "danger",
    Level.CRITICAL: "danger",
}
STATE_COLOURS: Final[Mapping[str, str]] = {
    State.WAITING: "default",
    State.PENDING: "info",
    State.RUNNING: "info",
    State.SUCCESS: "success",
    State.FAILED: "danger",
    State.ABORTED: "warning",
}

OUTCOMES: Final[Mapping[str, Text]] = {
    "success": State.SUCCESS.label,
    "failed": State.FAILED.label,
    "skipped": _("skipped"),
}
FIGURES: Final[Mapping[str, Text | str]] = {
    "rows": _("rows read"),
    "unanswered": _("ONUs without an answer"),
    "onus": "ONUs",
    "requests": _("requests"),
    "timeouts": _("requests without an answer"),
    "varbinds": _("values asked for"),
    "bytes_sent": _("bytes sent"),
    "bytes_received": _("bytes received"),
    "seconds": _("seconds of the OLT"),
}

ONU_STATES: Final[Mapping[str, Text]] = {
    "online": pgettext_lazy("ONU", "online"),
    "starting": pgettext_lazy("ONU", "starting"),
    "los": pgettext_lazy("ONU", "no light"),
    "power_off": pgettext_lazy("ONU", "without power"),
    "auth_failed": pgettext_lazy("ONU", "not let in"),
    "disabled": pgettext_lazy("ONU", "disabled"),
    "offline": pgettext_lazy("ONU", "offline"),
    "unknown": pgettext_lazy("ONU", "unknown"),
}
# Those that are not named are bad.
_NOT_BAD: Final = {"online": "success", "starting": "info", "disabled": "default", "unknown": "default"}
ONU_COLOURS: Final = {state: _NOT_BAD.get(state, "danger") for state in ONU_STATES}
ONU_EVENT_COLOURS: Final[Mapping[str, str]] = {
    EventKind.NEW: "info",
    EventKind.MOVED: "warning",
    EventKind.ONLINE: "success",
    EventKind.OFFLINE: "danger",
    EventKind.ABSENT: "danger",
    EventKind.RETURNED: "success",
    EventKind.DUPLICATE: "warning",
    EventKind.UNPROVISIONED: "info",
    EventKind.WEAK: "warning",
    EventKind.FALLING: "warning",
    EventKind.RECOVERED: "success",
}
DOWN_CAUSES: Final[Mapping[str, Text]] = {
    **ONU_STATES,
    "signal": pgettext_lazy("ONU", "unusable signal"),
    "reboot": pgettext_lazy("ONU", "restarted"),
    "rogue": pgettext_lazy("ONU", "disturbed others"),
    "optics_off": pgettext_lazy("ONU", "transmitter off"),
    "other": pgettext_lazy("ONU", "another cause"),
}
LINK_STATES: Final[Mapping[str, Text]] = {
    "up": pgettext_lazy("port", "up"),
    "down": pgettext_lazy("port", "down"),
    "unknown": pgettext_lazy("port", "unknown"),
}
PORT_CAUSES: Final[Mapping[str, Text]] = {
    "los": pgettext_lazy("port", "no light"),
    "no_module": pgettext_lazy("port", "no optical module"),
    "module_fault": pgettext_lazy("port", "broken optical module"),
    "disabled": pgettext_lazy("port", "disabled"),
    "other": pgettext_lazy("port", "another cause"),
    "unknown": pgettext_lazy("port", "unknown"),
}
PART_STATES: Final[Mapping[str, Text]] = {
    "ok": pgettext_lazy("board", "in service"),
    "standby": pgettext_lazy("board", "standby"),
    "starting": pgettext_lazy("board", "starting"),
    "fault": pgettext_lazy("board", "faulty"),
    "mismatch": pgettext_lazy("board", "another board than configured"),
    "disabled": pgettext_lazy("board", "disabled"),
    "offline": pgettext_lazy("board", "offline"),
    "unknown": pgettext_lazy("board", "unknown"),
}


def waits_for(queued: Queued) -> str:
    """Why it has not started, in a sentence's end."""
    if queued.reason is Reason.RETRY:
        return gettext("retry at %(time)s") % {"time": f"{localtime(queued.since):%H:%M:%S}"}
    if queued.because_of:
        return _WAITS[queued.reason] % {"job": queued.because_of}
    return str(_WAITS_FOR_UNNAMED.get(queued.reason) or _WAITS[queued.reason])


_WAITS: Final[Mapping[Reason, Text]] = {
    Reason.STARTING: _("starting"),
    Reason.OLT_BUSY: _("OLT busy with %(job)s"),
    Reason.BEHIND: _("behind %(job)s on the same OLT"),
    Reason.POLLERS_BUSY: _("all pollers busy"),
    Reason.NO_POLLERS: _("no poller is alive"),
}
# What a person collects by hand belongs to no job.
_WAITS_FOR_UNNAMED: Final[Mapping[Reason, Text]] = {
    Reason.OLT_BUSY: _("OLT busy with a collection by hand"),
    Reason.BEHIND: _("behind another one on the same OLT"),
}


def risk_in_words(left: int, needed: int) -> str:
    text = ngettext("%(left)d slot left, %(needed)d needed", "%(left)d slots left, %(needed)d needed", left)
    return text % {"left": left, "needed": needed}


def run_in_words(run: Run) -> str:
    """`Optics, success, 10:05:00, 3.2 s; 12 s late: OLT busy with discovery`."""
    outcome = gettext("planned") if run.execution_id is None else str(State(run.outcome).label)
    said = [run.job or gettext("by hand"), outcome, f"{localtime(run.start):%H:%M:%S}"]
    if run.length is not None:
        said.append(duration(run.length))
    text = ", ".join(said)
    if not run.late:
        return text
    late = gettext("%(delay)s late") % {"delay": duration(run.delay)}
    return f"{text}; {late}: {_why_late(run)}" if run.why or run.waited_for else f"{text}; {late}"


def _why_late(run: Run) -> str:
    if run.waited_for and run.why in ("", Why.OLT_BUSY):
        return str(_WAITS[Reason.OLT_BUSY] % {"job": run.waited_for})
    return str(WHY.get(run.why, run.why))


def lane_in_words(row: Row) -> str:
    """What the lane shows, to who cannot see it."""
    return gettext(
        "%(olt)s: %(success)d succeeded, %(failed)d failed, %(aborted)d aborted, %(late)d late, "
        "%(planned)d planned"
    ) % {
        "olt": row.olt,
        "success": row.count(State.SUCCESS),
        "failed": row.count(State.FAILED),
        "aborted": row.count(State.ABORTED),
        "late": row.late,
        "planned": row.count("PLANNED"),
    }


def event_in_words(event: OnuEvent) -> str:
    """`optical power fell: -24.5 dBm`, `moved from 0/1/3:12 to 0/1/7:7`, `offline: without power`."""
    kind = str(EventKind(event.kind).label)
    if event.kind == EventKind.MOVED and event.before:
        said = {"before": event.before, "place": event.place}
        return gettext("moved from %(before)s to %(place)s") % said
    return f"{kind}: {details_in_words(event)}" if event.cause else kind


def details_in_words(event: OnuEvent) -> str:
    """What its kind does not say yet: from where it moved, or why it went."""
    if event.kind == EventKind.MOVED and event.before:
        return f"{event.before} → {event.place}"
    return cause_in_words(event.cause) if event.cause else ""


def cause_in_words(cause: str) -> str:
    """Why it went; of its light, how little was left: `-24.5 dBm`."""
    return str(DOWN_CAUSES.get(cause) or localized(cause))


def stretch_name(stretch: Stretch) -> str:
    """`offline: without power`."""
    if stretch.state == Presence.ABSENT:
        return str(Presence.ABSENT.label)
    name = str(ONU_STATES[stretch.state])
    return f"{name}: {cause_in_words(stretch.cause)}" if stretch.cause else name
