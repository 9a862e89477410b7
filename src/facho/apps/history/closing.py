"""Closing an hour of an OLT: its frames become a sheet for each port, which is what charts read."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import IntegrityError

from facho.apps.db import sql
from facho.apps.history.frame_keys import PORTS_PLACE, places_of_olt
from facho.apps.history.models import HistoryHour, Subject
from facho.apps.history.times import HOUR
from facho.core.frames import Sheet, read_sheet
from facho.core.hours import merge_by_place
from facho.core.packing import Damaged

log = logging.getLogger(__name__)


def close_hour(olt_id: int, hour: datetime) -> bool:
    """False when somebody else did it meanwhile."""
    done = [_close(olt_id, subject, hour) for subject in Subject.values]
    return all(done)


@dataclass(frozen=True, slots=True)
class _Closed:
    """An hour of an OLT, ready to be written."""

    olt_id: int
    subject: str
    hour: datetime
    frames: Sequence[int]
    new: Mapping[str, bytes]
    # By place: as it is, and as it is to be.
    changed: Mapping[str, tuple[bytes, bytes]]


def _close(olt_id: int, subject: str, hour: datetime) -> bool:
    """Everything is read and worked out before the transaction that writes, so that others hardly wait."""
    values = [olt_id, subject, sql.db_time(hour), sql.db_time(hour + HOUR)]
    frames = sql.fetch_rows(_FRAMES, values)
    if not frames:
        return True
    sheets = _readable(olt_id, [bytes(data) for _, data in frames])
    found = _by_place(olt_id, subject, sheets)
    known = _known(olt_id, subject, hour, found)
    changed = {place: (data, _merged(olt_id, place, data, found[place])) for place, data in known.items()}
    new = {place: data for place, data in found.items() if place not in known}
    try:
        _write(_Closed(olt_id, subject, hour, [number for number, _ in frames], new, changed))
    except (_Lost, IntegrityError):
        return False
    return True


_FRAMES: Final = (
    "SELECT id, data FROM onu_history_frames"
    " WHERE olt_id = %s AND subject = %s AND at >= %s AND at < %s ORDER BY at, id"
)


def _by_place(olt_id: int, subject: str, sheets: Sequence[Sheet]) -> dict[str, bytes]:
    if subject == Subject.ONU:
        return dict(merge_by_place(sheets, places_of_olt(olt_id)))
    return dict(merge_by_place(sheets, dict.fromkeys(_ids(sheets), PORTS_PLACE)))


def _ids(sheets: Iterable[Sheet]) -> set[int]:
    return {number for sheet in sheets for number in sheet.ids}


def _readable(olt_id: int, frames: Iterable[bytes]) -> list[Sheet]:
    """Those that can be read in full. The others never will be, and go with them."""
    sheets = []
    for data in frames:
        try:
            sheet = read_sheet(data)
            sheet.check()
            sheets.append(sheet)
        except Damaged as error:
            _tell_damage("a frame of history is lost", olt_id, error)
    return sheets


def _tell_damage(what: str, olt_id: int, error: Damaged) -> None:
    log.error(what, extra={"action": "history_damaged", "olt_id": olt_id, "error": str(error)})


def _known(olt_id: int, subject: str, hour: datetime, places: Iterable[str]) -> dict[str, bytes]:
    """The hour is closed already, and these frames come late."""
    if not (wanted := list(places)):
        return {}
    marks = ", ".join(["%s"] * len(wanted))
    found = sql.fetch_rows(_KNOWN.format(marks), [olt_id, subject, sql.db_time(hour), *wanted])
    return {place: bytes(data) for place, data in found}


_KNOWN: Final = (
    "SELECT place, data FROM onu_history WHERE olt_id = %s AND subject = %s AND hour = %s AND place IN ({})"
)


def _merged(olt_id: int, place: str, known: bytes, late: bytes) -> bytes:
    """All of them stay at this place, wherever they have moved meanwhile."""
    try:
        sheets = [read_sheet(known), read_sheet(late)]
        return dict(merge_by_place(sheets, dict.fromkeys(_ids(sheets), place)))[place]
    except Damaged as error:
        # A later version of facho may be able to read it.
        _tell_damage("late values are lost, for their hour cannot be read", olt_id, error)
        return known


class _Lost(Exception):
    """Somebody else closed this hour, or a part of it, since we looked."""


def _write(closed: _Closed) -> None:
    """All of it or nothing, and nothing unless all is still as it was read."""
    with sql.write_transaction():
        marks = ", ".join(["%s"] * len(closed.frames))
        if sql.execute(_TAKE.format(marks), closed.frames) != len(closed.frames):
            raise _Lost
        key = [closed.olt_id, closed.subject, sql.db_time(closed.hour)]
        for place, (before, after) in closed.changed.items():
            if sql.execute(_REPLACE, [after, *key, place, before]) != 1:
                raise _Lost
        HistoryHour.objects.bulk_create(_rows(closed))


_TAKE: Final = "DELETE FROM onu_history_frames WHERE id IN ({})"
_REPLACE: Final = (
    "UPDATE onu_history SET data = %s"
    " WHERE olt_id = %s AND subject = %s AND hour = %s AND place = %s AND data = %s"
)


def _rows(closed: _Closed) -> list[HistoryHour]:
    return [
        HistoryHour(olt_id=closed.olt_id, subject=closed.subject, place=place, hour=closed.hour, data=data)
        for place, data in closed.new.items()
    ]
