"""Under which place an ONU's numbers are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from facho.apps.db import sql
from facho.apps.discovery.models import EventKind, Onu, OnuEvent

# All ports of an OLT are kept together: they are few.
PORTS_PLACE: Final = ""
# ONUs that have no port, by so many.
_TOGETHER: Final = 64
_PORT: Final = re.compile(r"[0-9/]+(?=:|$)")


class Places(dict[int, str]):
    """By the number of an ONU. One that is not known any more is where those without a port are."""

    def __missing__(self, onu: int) -> str:
        return place_without_port(onu)


def places_of_olt(olt_id: int) -> Places:
    rows = sql.fetch_rows("SELECT id, frame, slot, port FROM onu_data WHERE olt_id = %s", [olt_id])
    return Places((onu, place_of(onu, *numbers)) for onu, *numbers in rows)


def place_of(onu: int, frame: int | None, slot: int | None, port: int | None) -> str:
    if port is None:
        return place_without_port(onu)
    return "/".join(str(number) for number in (frame, slot, port) if number is not None)


def place_without_port(onu: int) -> str:
    return f"#{onu // _TOGETHER}"


def places_of_onu(onu: Onu) -> list[str]:
    """All at which its numbers may be: where it is, and where its events say that it was."""
    moves = OnuEvent.objects.filter(onu=onu.pk, kind=EventKind.MOVED).values_list("place", "before")
    ports = (_PORT.match(text) for move in moves for text in move)
    places = {
        place_of(onu.pk, onu.frame, onu.slot, onu.port),
        *(found.group() for found in ports if found),
    }
    less = {each for place in places for each in _with_less_known(place)}
    return sorted({place_without_port(onu.pk), *places, *less})


def _with_less_known(place: str) -> Iterator[str]:
    """Numbers that columns tell come one by one, and that is no move."""
    *others, port = place.split("/")
    for count in range(len(others)):
        yield from ("/".join((*some, port)) for some in combinations(others, count))
