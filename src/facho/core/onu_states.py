"""Changes of an ONU: online or offline between two states, and absent after discoveries without it."""

from __future__ import annotations

import enum
from typing import Final

_UNKNOWN: Final = frozenset({"", "unknown"})
# Neither online nor offline: only the state that follows is reported.
_STARTING: Final = "starting"
_ONLINE: Final = "online"
# Offline without a cause.
_OFFLINE: Final = "offline"


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
