"""Stores numbers over time: a frame for each collection, and sheets of hours that are over.

When an hour of an OLT is closed, its frames become a sheet for each port, which is what charts read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations, groupby
from typing import Final

from django.db import IntegrityError, InterfaceError, OperationalError

from facho.apps.db import sql
from facho.apps.db.database import is_embedded
from facho.apps.discovery.models import EventKind, Onu, OnuEvent
from facho.apps.history.facts import declared_facts, history_facts
from facho.apps.history.models import HistoryHour, Subject
from facho.core.frames import Sheet, read_sheet, write_frame
from facho.core.history_facts import Damaged
from facho.core.hours import merge_by_place

log = logging.getLogger(__name__)

# OLT, subject, time and data of a frame.
FrameRow = tuple[int, str, datetime, bytes]


def append_frame(
    olt_id: int,
    at: datetime,
    subject: str,
    ids: Sequence[int],
    columns: Mapping[str, Sequence[float | None]],
) -> None:
    """Store the numbers of a collection, in the caller's transaction."""
    insert_frames(make_frame(olt_id, at, subject, ids, columns))


def make_frame(
    olt_id: int,
    at: datetime,
    subject: str,
    ids: Sequence[int],
    columns: Mapping[str, Sequence[float | None]],
) -> list[FrameRow]:
    """Return the row with the numbers of a collection; none if there is no number.

    Each column has a value for each of `ids`. Facts that have no history are left out.
    """
    kept = {fact: columns[fact] for fact in history_facts(subject) if fact in columns}
    if not any(value is not None for column in kept.values() for value in column):
        return []
    time = milliseconds(at)
    # The row has the time in milliseconds too: a frame that is read twice while its hour is closed has one.
    return [(olt_id, subject, moment_of(time), write_frame(time, ids, kept, declared_facts(subject)))]


def insert_frames(rows: Sequence[FrameRow]) -> None:
    if not rows:
        return
    if is_embedded():
        for olt_id, subject, at, data in rows:
            sql.execute_prepared(_APPEND, [olt_id, subject, sql.db_time(at), data])
    else:
        sql.execute_prepared(_APPEND_ON_SERVER, list(map(list, zip(*rows, strict=True))))


_APPEND: Final = "INSERT INTO onu_history_frames (olt_id, subject, at, data) VALUES (%s, %s, %s, %s)"
_APPEND_ON_SERVER: Final = (
    "INSERT INTO onu_history_frames (olt_id, subject, at, data)"
    " SELECT * FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[], %s::bytea[])"
)


def insert_past_frames(
    rows: Sequence[FrameRow], now: datetime, elsewhere: Mapping[int, str] | None = None
) -> None:
    """Store collections of one OLT that were not stored when they were made, in the caller's transaction.

    Hours that are over are stored closed at once. None of them may have any numbers yet. `elsewhere` are the
    ONUs that were not at the ports where they are now, and their ports.
    """
    over = [row for row in rows if row[2] < hour_of(now)]
    insert_frames([row for row in rows if row[2] >= hour_of(now)])
    ordered = sorted(over, key=lambda row: (row[0], row[1], row[2]))
    for (olt_id, subject), of_subject in groupby(ordered, key=lambda row: (row[0], row[1])):
        places = _places(olt_id, subject)
        if elsewhere and subject == Subject.ONU:
            places = Places({**places, **elsewhere})
        closed = [
            (olt_id, subject, place, sql.db_time(hour), data)
            for hour, frames in groupby(of_subject, key=lambda row: hour_of(row[2]))
            for place, data in merge_by_place(_read_frames(olt_id, [row[3] for row in frames]), places)
        ]
        sql.insert_rows(HistoryHour, ("olt", "subject", "place", "hour", "data"), closed, is_adapted=True)


def close_hours(now: datetime, *, grace: timedelta, most: int) -> int:
    """Close hours that ended longer ago than `grace`, of at most so many OLTs, one hour of each.

    Return how many were closed. Several processes may do this at once.
    """
    closed = 0
    for olt_id, hour in _due_hours(hour_of(now - grace), most):
        try:
            closed += close_hour(olt_id, hour)
        except (OperationalError, InterfaceError):
            # The database is unavailable or full: that is not because of this hour.
            raise
        except Exception:
            # A bug with the data of one OLT must not keep the hours of all others open.
            log.exception("hour not closed", extra={"action": "hour_not_closed", "olt_id": olt_id})
    return closed


def _due_hours(before: datetime, most: int) -> list[tuple[int, datetime]]:
    """Return OLTs that have frames of hours before this one, and the first such hour of each."""
    found = sql.fetch_rows(_DUE, [sql.db_time(before), most])
    return [(olt_id, hour_of(sql.parse_time(at))) for olt_id, at in found]


_DUE: Final = (
    "SELECT olt_id, MIN(at) FROM onu_history_frames WHERE at < %s"
    " GROUP BY olt_id ORDER BY MIN(at), olt_id LIMIT %s"
)


def close_hour(olt_id: int, hour: datetime) -> bool:
    """Return False when another process closed it meanwhile."""
    done = [_close_subject(olt_id, subject, hour) for subject in Subject.values]
    return all(done)


@dataclass(frozen=True, slots=True)
class _ClosedHour:
    """An hour of an OLT, ready to be written."""

    olt_id: int
    subject: str
    hour: datetime
    frames: Sequence[int]
    new: Mapping[str, bytes]
    # By place: the sheet as it is, and as it is to be.
    changed: Mapping[str, tuple[bytes, bytes]]


def _close_subject(olt_id: int, subject: str, hour: datetime) -> bool:
    """Everything is read and computed before the transaction that writes, which is short for that."""
    values = [olt_id, subject, sql.db_time(hour), sql.db_time(hour + HOUR)]
    frames = sql.fetch_rows(_FRAMES, values)
    if not frames:
        return True
    sheets = _read_frames(olt_id, [bytes(data) for _, data in frames])
    found = _sheets_by_place(olt_id, subject, sheets)
    known = _known_sheets(olt_id, subject, hour, found)
    changed = {place: (data, _add_late(olt_id, place, data, found[place])) for place, data in known.items()}
    new = {place: data for place, data in found.items() if place not in known}
    try:
        _write(_ClosedHour(olt_id, subject, hour, [number for number, _ in frames], new, changed))
    except (_ClosedElsewhere, IntegrityError):
        return False
    return True


_FRAMES: Final = (
    "SELECT id, data FROM onu_history_frames"
    " WHERE olt_id = %s AND subject = %s AND at >= %s AND at < %s ORDER BY at, id"
)


def _sheets_by_place(olt_id: int, subject: str, sheets: Sequence[Sheet]) -> dict[str, bytes]:
    return dict(merge_by_place(sheets, _places(olt_id, subject)))


def _places(olt_id: int, subject: str) -> Mapping[int, str]:
    return places_of_olt(olt_id) if subject == Subject.ONU else _OnePlace()


class _OnePlace(dict[int, str]):
    """All ports of an OLT are kept together, and so are its parts and its uplinks."""

    def __missing__(self, number: int) -> str:
        return PORTS_PLACE


def _ids(sheets: Iterable[Sheet]) -> set[int]:
    return {number for sheet in sheets for number in sheet.ids}


def _read_frames(olt_id: int, frames: Iterable[bytes]) -> list[Sheet]:
    """Return the frames that can be read in full. The others never will be, and are removed with them."""
    sheets = []
    for data in frames:
        try:
            sheet = read_sheet(data)
            sheet.check()
            sheets.append(sheet)
        except Damaged as error:
            _log_damage("frame of history lost", olt_id, error)
    return sheets


def _log_damage(message: str, olt_id: int, error: Damaged) -> None:
    log.error(message, extra={"action": "history_damaged", "olt_id": olt_id, "error": str(error)})


def _known_sheets(olt_id: int, subject: str, hour: datetime, places: Iterable[str]) -> dict[str, bytes]:
    """Return the sheets of an hour that is closed already, and to which late frames are added."""
    if not (wanted := list(places)):
        return {}
    marks = ", ".join(["%s"] * len(wanted))
    found = sql.fetch_rows(_KNOWN.format(marks), [olt_id, subject, sql.db_time(hour), *wanted])
    return {place: bytes(data) for place, data in found}


_KNOWN: Final = (
    "SELECT place, data FROM onu_history WHERE olt_id = %s AND subject = %s AND hour = %s AND place IN ({})"
)


def _add_late(olt_id: int, place: str, known: bytes, late: bytes) -> bytes:
    """Return the sheet with late values. All of them stay at this place, wherever the ONUs are by now."""
    try:
        sheets = [read_sheet(known), read_sheet(late)]
        return dict(merge_by_place(sheets, dict.fromkeys(_ids(sheets), place)))[place]
    except Damaged as error:
        # A later version of facho may be able to read it.
        _log_damage("late values of history lost, their hour cannot be read", olt_id, error)
        return known


class _ClosedElsewhere(Exception):
    """Another process closed this hour, or a part of it, since it was read."""


def _write(closed: _ClosedHour) -> None:
    """Write all or nothing, and nothing unless all is still as it was read."""
    with sql.write_transaction():
        marks = ", ".join(["%s"] * len(closed.frames))
        if sql.execute(_TAKE.format(marks), closed.frames) != len(closed.frames):
            raise _ClosedElsewhere
        key = [closed.olt_id, closed.subject, sql.db_time(closed.hour)]
        for place, (before, after) in closed.changed.items():
            if sql.execute(_REPLACE, [after, *key, place, before]) != 1:
                raise _ClosedElsewhere
        HistoryHour.objects.bulk_create(_hour_rows(closed))


_TAKE: Final = "DELETE FROM onu_history_frames WHERE id IN ({})"
_REPLACE: Final = (
    "UPDATE onu_history SET data = %s"
    " WHERE olt_id = %s AND subject = %s AND hour = %s AND place = %s AND data = %s"
)


def _hour_rows(closed: _ClosedHour) -> list[HistoryHour]:
    return [
        HistoryHour(olt_id=closed.olt_id, subject=closed.subject, place=place, hour=closed.hour, data=data)
        for place, data in closed.new.items()
    ]


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
