"""Colours of the badges of statuses, severities, states and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facho.apps.discovery.models import EventKind
from facho.apps.execution_coordinator.models import ViolationSeverity
from facho.apps.executions.models import State
from facho.apps.hosts.health import Health
from facho.core.event_types import EventType, Level
from facho.web.words.states import ONU_STATES

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
    State.ABORTED: "default",
}
HEALTH_COLOURS: Final[Mapping[str, str]] = {
    Health.UNREACHABLE: "danger",
    Health.SUSPENDED: "danger",
    Health.FAILING: "warning",
    Health.DEGRADED: "warning",
    Health.OVERLOADED: "warning",
    Health.FINE: "success",
    Health.NEVER_ASKED: "default",
    Health.MAINTENANCE: "default",
}
# Of ports, boards and fans.
DEVICE_COLOURS: Final[Mapping[str, str]] = {
    "up": "success",
    "ok": "success",
    "standby": "info",
    "starting": "info",
    "offline": "danger",
    "down": "danger",
    "fault": "danger",
    "mismatch": "warning",
}
ONU_COLOURS: Final[Mapping[str, str]] = dict.fromkeys(ONU_STATES, "danger") | {
    "online": "success",
    "starting": "info",
    "disabled": "default",
    "unknown": "default",
}
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
# What has ended well; any other event has the colour of its level.
_EVENT_COLOURS: Final[Mapping[str, str]] = {
    **ONU_EVENT_COLOURS,
    EventType.OLT_BACK: "success",
    EventType.NODE_BACK: "success",
    EventType.SATURATION_ENDS: "success",
    EventType.PORT_OUTAGE_ENDED: "success",
}


def event_colour(what: str, level: str) -> str:
    """Return the colour of an event of an ONU, an OLT or the engine, the same in every list."""
    return _EVENT_COLOURS.get(what) or LEVEL_COLOURS.get(level, "default")
