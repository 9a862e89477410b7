"""Reading numbers back, for charts: what is closed and what is not, as one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from facho.apps import sql
from facho.apps.discovery.models import Onu
from facho.apps.history.models import Subject
from facho.apps.history.places import PORTS_PLACE, places_of_olt, places_of_onu
from facho.apps.history.times import hour_of, milliseconds, moment_of
from facho.core.frames import Sheet, read_sheet
from facho.core.packing import Damaged

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Series:
    """Of one ONU or port. None where there was no value, so that a chart shows the gap."""

    # Milliseconds since 1970, ascending.
    times: Sequence[int]
    # By fact: a value for each time.
    values: Mapping[str, Sequence[float | None]]

    def moments(self) -> list[datetime]:
        return [moment_of(time) for time in self.times]


def onu_series(onu: Onu, facts: Sequence[str], start: datetime, end: datetime) -> Series:
    """From `start` until before `end`, on whichever ports it was."""
    asked = _Asked(onu.olt_id, Subject.ONU, facts, start, end)
    return _series_of(asked, places_of_onu(onu), onu.pk)


def subject_series(olt_id: int, port_id: int, facts: Sequence[str], start: datetime, end: datetime) -> Series:
    """A port's own numbers."""
    return _series_of(_Asked(olt_id, Subject.PORT, facts, start, end), [PORTS_PLACE], port_id)


def port_series(
    olt_id: int, place: str, facts: Sequence[str], start: datetime, end: datetime
) -> dict[int, Series]:
    """By ONU: of those that are or were on this port, what they said there."""
    asked = _Asked(olt_id, Subject.ONU, facts, start, end)
    here = {onu for onu, its_place in places_of_olt(olt_id).items() if its_place == place}
    found: dict[int, _Gathered] = {}
    for sheet in asked.open_sheets():
        _gather(found, asked, sheet, [at for at, onu in enumerate(sheet.ids) if onu in here])
    for sheet in asked.closed_sheets([place]):
        _gather(found, asked, sheet, range(len(sheet.ids)))
    return {onu: gathered.series(asked) for onu, gathered in sorted(found.items())}


@dataclass(frozen=True, slots=True)
class _Asked:
    olt_id: int
    subject: str
    facts: Sequence[str]
    start: datetime
    end: datetime

    def open_sheets(self) -> Iterator[Sheet]:
        """Read before the closed ones: an hour that is closed in between is then read twice, not never."""
        values = [self.olt_id, self.subject, sql.written(self.start), sql.written(self.end)]
        return self._sheets(sql.rows(_OPEN, values))

    def closed_sheets(self, places: Sequence[str]) -> Iterator[Sheet]:
        marks = ", ".join(["%s"] * len(places))
        hours = [sql.written(hour_of(self.start)), sql.written(self.end)]
        return self._sheets(sql.rows(_CLOSED.format(marks), [self.olt_id, self.subject, *places, *hours]))

    def _sheets(self, rows: list[sql.Row]) -> Iterator[Sheet]:
        """A damaged one is a gap in the chart, and no reason to show none."""
        for (data,) in rows:
            try:
                yield read_sheet(bytes(data))
            except Damaged as error:
                _tell_damage(self.olt_id, error)


_OPEN: Final = (
    "SELECT data FROM onu_history_frames"
    " WHERE olt_id = %s AND subject = %s AND at >= %s AND at < %s ORDER BY at, id"
)
_CLOSED: Final = (
    "SELECT data FROM onu_history"
    " WHERE olt_id = %s AND subject = %s AND place IN ({}) AND hour >= %s AND hour < %s ORDER BY hour"
)


def _tell_damage(olt_id: int, error: Damaged) -> None:
    log.error(
        "a part of the history cannot be read",
        extra={"action": "history_damaged", "olt_id": olt_id, "error": str(error)},
    )


def _series_of(asked: _Asked, places: Sequence[str], number: int) -> Series:
    gathered = _Gathered(asked.facts)
    found = {number: gathered}
    for sheets in (asked.open_sheets(), asked.closed_sheets(places)):
        for sheet in sheets:
            if number in sheet.ids:
                _gather(found, asked, sheet, [sheet.ids.index(number)])
    return gathered.series(asked)


class _Gathered:
    """What was found about one subject."""

    def __init__(self, facts: Sequence[str]) -> None:
        self._facts: dict[str, dict[int, float | None]] = {fact: {} for fact in facts}

    def add(self, fact: str, times: Sequence[int], values: Sequence[float | None]) -> None:
        known = self._facts[fact]
        for time, value in zip(times, values, strict=True):
            if value is not None or time not in known:
                known[time] = value

    def series(self, asked: _Asked) -> Series:
        first, end = milliseconds(asked.start), milliseconds(asked.end)
        all_times = sorted(set().union(*self._facts.values()))
        times = [time for time in all_times if first <= time < end]
        return Series(times, {fact: list(map(known.get, times)) for fact, known in self._facts.items()})


def _gather(found: dict[int, _Gathered], asked: _Asked, sheet: Sheet, positions: Sequence[int]) -> None:
    for fact in asked.facts:
        if not (times := sheet.times(fact)):
            continue
        try:
            all_values = sheet.series(fact, positions)
        except Damaged as error:
            _tell_damage(asked.olt_id, error)
            continue
        for position, values in zip(positions, all_values, strict=True):
            number = sheet.ids[position]
            if number not in found:
                found[number] = _Gathered(asked.facts)
            found[number].add(fact, times, values)
