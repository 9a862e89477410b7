"""Reads series of numbers for charts, from open and closed hours alike."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import Final, NamedTuple

from facho.apps.db import sql
from facho.apps.discovery.extra_facts import onu_facts_of_history_alone
from facho.apps.discovery.models import Onu
from facho.apps.history.models import Subject
from facho.apps.history.store import (
    PORTS_PLACE,
    hour_of,
    milliseconds,
    moment_of,
    places_of_olt,
    places_of_onu,
)
from facho.core.frames import Samples, Sheet, read_sheet
from facho.core.history_facts import Damaged

log = logging.getLogger(__name__)

# The latest numbers of an ONU are looked for in this time.
LATEST_WITHIN: Final = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Series:
    """The numbers of one ONU or port. None where there was no value, so that a chart shows the gap."""

    # Milliseconds since 1970, ascending.
    times: Sequence[int]
    # By fact: a value for each time.
    values: Mapping[str, Sequence[float | None]]
    # By fact: the value at each time at which it was collected itself.
    collected: Mapping[str, Mapping[int, float | None]] = field(default_factory=dict, compare=False)

    def samples(self, fact: str) -> Samples:
        """Return a fact at the times of its own collections, so that others do not make gaps in its line."""
        own = self.collected.get(fact)
        if own is None:
            return Samples(self.times, self.values[fact])
        times = [time for time in self.times if time in own]
        return Samples(times, [own[time] for time in times])

    def moments(self) -> list[datetime]:
        return [moment_of(time) for time in self.times]

    def since(self, start: datetime) -> Series:
        """Return the numbers from `start` on."""
        first = bisect_left(self.times, milliseconds(start))
        values = {fact: column[first:] for fact, column in self.values.items()}
        return Series(self.times[first:], values, self.collected)


class LatestNumber(NamedTuple):
    value: float
    at: datetime


def latest_numbers(onu: Onu, now: datetime) -> dict[str, LatestNumber]:
    """Return the latest value of each fact of an ONU that only the history has, of the last two days."""
    facts = onu_facts_of_history_alone()
    return latest_of_series(onu_series(onu, facts, now - LATEST_WITHIN, now + timedelta(seconds=1)), facts)


def latest_of_series(series: Series, facts: Iterable[str]) -> dict[str, LatestNumber]:
    """Return the latest value of each of these facts that has one."""
    found: dict[str, LatestNumber] = {}
    for fact in facts:
        for time, value in zip(reversed(series.times), reversed(series.values[fact]), strict=True):
            if value is not None:
                found[fact] = LatestNumber(value, moment_of(time))
                break
    return found


def onu_series(onu: Onu, facts: Sequence[str], start: datetime, end: datetime) -> Series:
    """Return the numbers of an ONU from `start` until before `end`, on whichever ports it was."""
    query = _Query(onu.olt_id, Subject.ONU, facts, start, end)
    return _series_of(query, places_of_onu(onu), onu.pk)


def subject_series(
    olt_id: int,
    number: int,
    facts: Sequence[str],
    start: datetime,
    end: datetime,
    *,
    subject: str = Subject.PORT,
) -> Series:
    """Return the numbers of a port itself, or of a part or an uplink."""
    return _series_of(_Query(olt_id, subject, facts, start, end), [PORTS_PLACE], number)


def several_series(
    olt_id: int, subject: str, facts: Sequence[str], start: datetime, end: datetime
) -> dict[int, Series]:
    """Return the numbers of all ports, parts or uplinks of an OLT, by their ids."""
    query = _Query(olt_id, subject, facts, start, end)
    found: dict[int, _SeriesBuilder] = {}
    for sheet in chain(query.open_sheets(), query.closed_sheets([PORTS_PLACE])):
        _add_sheet(found, query, sheet, range(len(sheet.ids)))
    query.log_damages()
    return {number: builder.series(query) for number, builder in sorted(found.items())}


def hourly_series(
    olt_id: int, subject: str, facts: Sequence[str], start: datetime, end: datetime
) -> dict[int, Series]:
    """Return the first number of each closed hour, and all since, by the ids of ports, parts or uplinks.

    That is quicker to read than all numbers, and enough for a small chart of weeks.
    """
    query = _Query(olt_id, subject, facts, start, end)
    found: dict[int, _SeriesBuilder] = {}
    for sheet in query.open_sheets():
        _add_sheet(found, query, sheet, range(len(sheet.ids)))
    for sheet in query.closed_sheets([PORTS_PLACE]):
        _add_first(found, query, sheet)
    query.log_damages()
    return {number: builder.series(query) for number, builder in sorted(found.items())}


def port_series(
    olt_id: int, place: str, facts: Sequence[str], start: datetime, end: datetime
) -> dict[int, Series]:
    """Return the numbers of the ONUs that are or were on this port, by ONU."""
    query = _Query(olt_id, Subject.ONU, facts, start, end)
    here = {onu for onu, its_place in places_of_olt(olt_id).items() if its_place == place}
    found: dict[int, _SeriesBuilder] = {}
    for sheet in query.open_sheets():
        _add_sheet(found, query, sheet, [at for at, onu in enumerate(sheet.ids) if onu in here])
    for sheet in query.closed_sheets([place]):
        _add_sheet(found, query, sheet, range(len(sheet.ids)))
    query.log_damages()
    return {onu: builder.series(query) for onu, builder in sorted(found.items())}


def values_by_hour(
    olt_id: int, place: str, fact: str, start: datetime, end: datetime
) -> dict[int, list[float]]:
    """Return by ONU its first value of each closed hour that has one, at this port."""
    query = _Query(olt_id, Subject.ONU, [fact], start, end)
    found: dict[int, list[float]] = {}
    for sheet in query.closed_sheets([place]):
        try:
            values = sheet.first(fact)
        except Damaged as error:
            query.damages.append(error)
            continue
        for onu, value in zip(sheet.ids, values, strict=False):
            if value is not None:
                found.setdefault(onu, []).append(value)
    query.log_damages()
    return found


@dataclass(frozen=True, slots=True)
class _Query:
    olt_id: int
    subject: str
    facts: Sequence[str]
    start: datetime
    end: datetime
    damages: list[Damaged] = field(default_factory=list)

    def log_damages(self) -> None:
        """Log damaged sheets once for all: a chart of a month reads hundreds."""
        if self.damages:
            log.error(
                "part of the history cannot be read",
                extra={
                    "action": "history_damaged",
                    "olt_id": self.olt_id,
                    "parts": len(self.damages),
                    "error": str(self.damages[0]),
                },
            )

    def open_sheets(self) -> Iterator[Sheet]:
        """Read open hours before closed ones: one that is closed in between is read twice, not never."""
        values = [self.olt_id, self.subject, sql.db_time(self.start), sql.db_time(self.end)]
        return self._sheets(sql.fetch_blobs(_OPEN, values))

    def closed_sheets(self, places: Sequence[str]) -> Iterator[Sheet]:
        marks = ", ".join(["%s"] * len(places))
        hours = [sql.db_time(hour_of(self.start)), sql.db_time(self.end)]
        return self._sheets(
            sql.fetch_blobs(_CLOSED.format(marks), [self.olt_id, self.subject, *places, *hours])
        )

    def _sheets(self, found: list[bytes]) -> Iterator[Sheet]:
        """Yield the sheets that can be read. A damaged one is a gap in the chart."""
        for data in found:
            try:
                sheet = read_sheet(data)
            except Damaged as error:
                self.damages.append(error)
            else:
                yield sheet


_OPEN: Final = (
    "SELECT data FROM onu_history_frames"
    " WHERE olt_id = %s AND subject = %s AND at >= %s AND at < %s ORDER BY at, id"
)
_CLOSED: Final = (
    "SELECT data FROM onu_history"
    " WHERE olt_id = %s AND subject = %s AND place IN ({}) AND hour >= %s AND hour < %s ORDER BY hour"
)


def _series_of(query: _Query, places: Sequence[str], number: int) -> Series:
    builder = _SeriesBuilder(query.facts)
    positions = _PositionFinder(number)
    for sheet in chain(query.open_sheets(), query.closed_sheets(places)):
        position = positions.find(sheet)
        if position is None:
            continue
        for fact in query.facts:
            try:
                if samples := sheet.samples(fact, position):
                    builder.add(fact, samples)
            except Damaged as error:
                query.damages.append(error)
    query.log_damages()
    return builder.series(query)


class _PositionFinder:
    """Finds a subject in each sheet. Sheets with the same subjects mostly share the list of ids."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._ids: Sequence[int] = ()
        self._position: int | None = None

    def find(self, sheet: Sheet) -> int | None:
        if sheet.ids is not self._ids:
            self._ids = sheet.ids
            self._position = sheet.ids.index(self._number) if self._number in sheet.ids else None
        return self._position


class _SeriesBuilder:
    """Collects the samples of one subject."""

    def __init__(self, facts: Sequence[str]) -> None:
        self._facts: dict[str, dict[int, float | None]] = {fact: {} for fact in facts}

    def add(self, fact: str, samples: Samples) -> None:
        """Add samples. Of a time that comes twice, a value counts more than none."""
        known = self._facts[fact]
        if known.keys().isdisjoint(samples.times):
            known.update(zip(*samples, strict=True))
            return
        for time, value in zip(*samples, strict=True):
            if value is not None or time not in known:
                known[time] = value

    def series(self, query: _Query) -> Series:
        every = sorted(set().union(*self._facts.values()))
        times = every[
            bisect_left(every, milliseconds(query.start)) : bisect_left(every, milliseconds(query.end))
        ]
        values = {fact: list(map(known.get, times)) for fact, known in self._facts.items()}
        return Series(times, values, self._facts)


def _add_first(found: dict[int, _SeriesBuilder], query: _Query, sheet: Sheet) -> None:
    for fact in query.facts:
        try:
            values = sheet.first(fact)
        except Damaged as error:
            query.damages.append(error)
            continue
        for number, value in zip(sheet.ids, values, strict=False):
            builder = found.setdefault(number, _SeriesBuilder(query.facts))
            builder.add(fact, Samples(sheet.times[:1], [value]))


def _add_sheet(
    found: dict[int, _SeriesBuilder], query: _Query, sheet: Sheet, positions: Sequence[int]
) -> None:
    for fact in query.facts:
        try:
            series = sheet.series(fact, positions)
        except Damaged as error:
            query.damages.append(error)
            continue
        for position, samples in zip(positions, series, strict=False):
            number = sheet.ids[position]
            if number not in found:
                found[number] = _SeriesBuilder(query.facts)
            found[number].add(fact, samples)
