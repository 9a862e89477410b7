"""Groups events that are one incident to a person: of one OLT, one kind and one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class EventKey(NamedTuple):
    """All events of one collection have the same time."""

    olt_id: int
    kind: str
    at: datetime


@dataclass(frozen=True, slots=True)
class EventGroup(Generic[T]):
    key: EventKey
    # In the order in which they were given.
    events: Sequence[T]
    # Each port once; an event without a port adds none.
    ports: Sequence[str]


def group_events(
    events: Iterable[T], key_of: Callable[[T], EventKey], place_of: Callable[[T], str]
) -> list[EventGroup[T]]:
    """Return the groups in the order of their first events."""
    found: dict[EventKey, list[T]] = {}
    for event in events:
        found.setdefault(key_of(event), []).append(event)
    return [EventGroup(key, members, _ports(map(place_of, members))) for key, members in found.items()]


def _ports(places: Iterable[str]) -> list[str]:
    return [port for port in dict.fromkeys(map(port_of_place, places)) if port]


def port_of_place(place: str) -> str:
    """Return the port of the place of an ONU: 0/1/3 for 0/1/3:12."""
    return place.partition(":")[0]
