"""What a change of an ONU's state means to who serves the customer."""

from __future__ import annotations

import enum
from typing import Final

_SAY_NOTHING: Final = frozenset({"", "unknown"})
# Neither online nor offline: only the state that follows is reported.
_STARTING: Final = "starting"
_ONLINE: Final = "online"
# Offline without a cause.
_OFFLINE: Final = "offline"


class Turn(enum.StrEnum):
    ONLINE = "online"
    OFFLINE = "offline"


def says_something(state: str) -> bool:
    return state not in _SAY_NOTHING


def turn(before: str, now: str) -> Turn | None:
    """What happened between two states. The first one ever known is where a story begins, not an event."""
    if before in _SAY_NOTHING or now in _SAY_NOTHING or now == _STARTING:
        return None
    if now == _ONLINE:
        return None if before == _ONLINE else Turn.ONLINE
    # From one offline state to another is no change.
    return Turn.OFFLINE if before in (_ONLINE, _STARTING) else None


def cause(told: str, state: str) -> str:
    """Why it went offline: what the OLT tells of it now, else what its state says by itself."""
    if says_something(told):
        return told
    return "" if state == _OFFLINE else state
