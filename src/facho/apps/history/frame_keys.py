"""Where numbers of the history are kept: by the place of an ONU, and by hours and milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Final

from facho.apps.db import sql
from facho.apps.discovery.models import EventKind, Onu, OnuEvent

# All ports of an OLT are kept together: they are few.
PORTS_PLACE: Final = ""
HOUR: Final = timedelta(hours=1)
# So many ONUs without a port are kept together.
_GROUP_SIZE: Final = 64
_PORT: Final = re.compile(r"[0-9/]+(?=:|$)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class Places(dict[int, str]):
    """Places by the id of an ONU. One that is not stored any more is among those without a port."""

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
    return f"#{onu // _GROUP_SIZE}"


def places_of_onu(onu: Onu) -> list[str]:
    """Return all places at which its numbers may be: where it is, and where its events say that it was."""
    moves = OnuEvent.objects.filter(onu=onu.pk, kind=EventKind.MOVED).values_list("place", "before")
    ports = (_PORT.match(text) for move in moves for text in move)
    places = {
        place_of(onu.pk, onu.frame, onu.slot, onu.port),
        *(found.group() for found in ports if found),
    }
    partial = {each for place in places for each in _partial_places(place)}
    return sorted({place_without_port(onu.pk), *places, *partial})


def _partial_places(place: str) -> Iterator[str]:
    """Yield the place with fewer numbers: columns may provide them one by one, which is no move."""
    *others, port = place.split("/")
    for count in range(len(others)):
        yield from ("/".join((*some, port)) for some in combinations(others, count))


def milliseconds(moment: datetime) -> int:
    """Return the milliseconds since 1970, as frames have times."""
    return (moment - _EPOCH) // _MILLISECOND


def moment_of(time: int) -> datetime:
    return _EPOCH + time * _MILLISECOND


def hour_of(moment: datetime) -> datetime:
    """Return the beginning of the hour, in UTC, that this moment is in."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
