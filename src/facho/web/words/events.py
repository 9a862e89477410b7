"""Names of events and health problems, and the details of an ONU's event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from facho.apps.discovery.models import EventKind, OnuEvent
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.core.event_types import EventType
from facho.engine.events.sentences import reader_sentence
from facho.web.words.states import cause_name

if TYPE_CHECKING:
    # It becomes a string in the reader's language.
    from django.utils.functional import _StrPromise as Text

EVENTS: Final[Mapping[str, Text]] = {
    EventType.TASK_ADDED: _("job added"),
    EventType.TASK_REMOVED: _("job removed"),
    EventType.TASK_INTERVAL_CHANGED: _("job interval changed"),
    EventType.OLT_ENABLED: _("OLT enabled"),
    EventType.OLT_DISABLED: _("OLT disabled"),
    EventType.CONFIG_CHANGED: _("configuration changed"),
    EventType.PLAN_ADJUSTED: _("plan adjusted"),
    EventType.PLAN_INFEASIBLE: _("more work than fits in an hour"),
    EventType.EMERGENCY_REPLAN: _("emergency replan"),
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
    EventType.PORT_OUTAGE: _("port outage"),
    EventType.PORT_OUTAGE_ENDED: _("port outage ended"),
    EventType.ENGINE_WAS_STOPPED: _("the engine was stopped"),
    EventType.CLOCK_CHANGED: _("clock changed"),
    EventType.MAINTENANCE_BEGINS: _("maintenance begins"),
    EventType.MAINTENANCE_ENDS: _("maintenance ends"),
    EventType.LOG_LOST: _("log lines lost"),
    EventType.UNREADABLE_ROWS: _("unreadable rows"),
    EventType.REMOVAL_WAITS: _("removal waits for confirmation"),
    EventType.REMOVAL_RESUMED: _("removal resumed"),
}
# The problems of /health that no other part of the dashboard shows.
HEALTH_PROBLEMS: Final[Mapping[str, Text]] = {
    "logs": _("The log folder is not writable: events are kept in the database only."),
    "trackers": _("Some OLTs have runs this hour without a quota: facho doctor lists them."),
    "disk": _("The disk of the database is almost full."),
    "retention": _(
        "The retention would remove most of a table and waits for an administrator: "
        "check the clock, then run facho retention show."
    ),
}


def log_message(log: CoordinatorLog) -> str:
    """Return what an entry of the coordinator log says, in the reader's language and time zone."""
    olt = None if log.olt is None else (log.olt.id, log.olt.name)
    return reader_sentence(log.event_type, log.details, log.timestamp, olt, log.message)


def describe_onu_event(event: OnuEvent) -> str:
    """Return `optical power fell: -24.5 dBm`, `moved from 0/1/3:12 to 0/1/7:7` or `offline: no power`."""
    kind = str(EventKind(event.kind).label)
    if event.kind == EventKind.MOVED and event.before:
        values = {"before": event.before, "place": event.place}
        return gettext("moved from %(before)s to %(place)s") % values
    return f"{kind}: {onu_event_details(event)}" if event.cause else kind


def onu_event_details(event: OnuEvent) -> str:
    """Return what the kind does not say: where it moved, or the cause."""
    if event.kind == EventKind.MOVED and event.before:
        return f"{event.before} → {event.place}"
    return cause_name(event.cause) if event.cause else ""
