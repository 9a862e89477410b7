"""Who went and who came in a collection, for who looks at whole ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from facho.apps.discovery.models import EventKind


@dataclass(frozen=True, slots=True)
class Turned:
    """An ONU that went offline, came online, or is not there any more."""

    onu_id: int
    kind: EventKind
    # Empty when its port is not known.
    port: str
    cause: str = ""
    # It worked until now: one that was only starting did not.
    was_online: bool = False


@dataclass(frozen=True, slots=True)
class Turns:
    onus: Sequence[Turned] = ()
    # States were told by a part that did not break off.
    whole: bool = False


@dataclass(frozen=True, slots=True)
class OpticalChange:
    """An ONU whose power crossed a limit."""

    onu_id: int
    kind: EventKind
    # Serial, else MAC, else its place.
    name: str
    port: str
    place: str
    power_dbm: float
    usual_dbm: float | None
