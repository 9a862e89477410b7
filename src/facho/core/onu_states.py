"""States of an ONU: the normalised ones, their changes, and absence after discoveries without it."""

from __future__ import annotations

import enum
from typing import Final

_UNKNOWN: Final = frozenset({"", "unknown"})
# Neither online nor offline: only the state that follows is reported.
_STARTING: Final = "starting"
_ONLINE: Final = "online"
# Offline without a cause.
_OFFLINE: Final = "offline"


class OnuStatus(enum.StrEnum):
    """The state of an ONU as people see it and filter by it: the same for all vendors.

    Some OLTs report a cause as the state: `los` is an ONU that is offline for lack of light.
    """

    ONLINE = "online"
    STARTING = "starting"
    OFFLINE = "offline"
    UNKNOWN = "unknown"


class DownCause(enum.StrEnum):
    """Why an ONU is offline: the same for all vendors."""

    LOS = "los"
    SIGNAL = "signal"
    POWER_OFF = "power_off"
    REBOOT = "reboot"
    DISABLED = "disabled"
    AUTH_FAILED = "auth_failed"
    ROGUE = "rogue"
    OPTICS_OFF = "optics_off"
    OTHER = "other"
    UNKNOWN = "unknown"


# The reported states of an ONU that is offline; all but the first imply their cause.
DOWN_STATES: Final = ("offline", "los", "power_off", "auth_failed", "disabled")


def onu_status(state: str) -> OnuStatus:
    """Return the normalised state for a reported one."""
    if state in DOWN_STATES:
        return OnuStatus.OFFLINE
    return OnuStatus(state) if state in (_ONLINE, _STARTING) else OnuStatus.UNKNOWN


def reported_states(status: str) -> tuple[str, ...]:
    """Return the reported states that a normalised state stands for; any other word is one itself."""
    if status == OnuStatus.OFFLINE:
        return DOWN_STATES
    return ("", "unknown") if status == OnuStatus.UNKNOWN else (status,)


def down_cause(state: str, reported: str) -> str:
    """Return why an ONU is offline; empty unless it is offline, and when the OLT does not say why.

    OLTs report the cause of the last outage also after the ONU has come back.
    """
    if state not in DOWN_STATES:
        return ""
    return offline_cause(reported, state)


class OnlineChange(enum.StrEnum):
    ONLINE = "online"
    OFFLINE = "offline"


def is_known(state: str) -> bool:
    return state not in _UNKNOWN


def online_change(before: str, now: str) -> OnlineChange | None:
    """Return the change between two states. The first state that is known of an ONU is no change."""
    if before in _UNKNOWN or now in _UNKNOWN or now == _STARTING:
        return None
    if now == _ONLINE:
        return None if before == _ONLINE else OnlineChange.ONLINE
    # From one offline state to another is no change.
    return OnlineChange.OFFLINE if before in (_ONLINE, _STARTING) else None


def offline_cause(reported: str, state: str) -> str:
    """Return why an ONU went offline: the cause that the OLT reports, else the one its state implies."""
    if is_known(reported):
        return reported
    return "" if state == _OFFLINE else state


ABSENT_AFTER: Final = 3


def after_complete_discovery(
    seen: bool, missed: int, *, absent_after: int = ABSENT_AFTER
) -> tuple[int, bool]:
    """Return the number of discoveries in a row that missed the ONU, and whether it is absent.

    Only for complete discoveries: one that broke off says nothing about missing ONUs.
    """
    if seen:
        return 0, False
    return missed + 1, missed + 1 >= absent_after
