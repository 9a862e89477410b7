"""What a collection said about ONUs, brought into their rows.

Only a discovery that read its table to the end may say who is new, who moved and who is gone. Everything else
brings values of ONUs that are known at their places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import connection

from facho.apps import sql
from facho.apps.discovery import columns
from facho.apps.discovery.columns import ADDRESSES, IDENTITY, INDEXES, VALUES, StoredFact
from facho.apps.discovery.models import Presence
from facho.apps.discovery.recognise import (
    NEW,
    NOBODY,
    Identities,
    first_of_each,
    is_another,
    is_blank,
    recognise,
)
from facho.apps.discovery.roster import Positions, Roster
from facho.core.presence import ABSENT_AFTER, after_complete_discovery
from facho.vendors import Facts

PRESENT, ABSENT = Presence.PRESENT.value, Presence.ABSENT.value
_LONGEST_DATUM = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """What one part of a collection said about ONUs."""

    facts: Facts
    # It was a discovery, and it read its tables to the end.
    complete_discovery: bool = False
    # Facts of which an empty answer says nothing.
    keep_last: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Stored:
    new: int = 0
    moved: int = 0
    # ONUs about which something else is known now, other than their place and presence.
    changed: int = 0
    absent: int = 0
    returned: int = 0
    # Places at which nobody is known.
    unknown: int = 0
    # Places at which another ONU is known: what was said is not about that one.
    other: int = 0
    # ONUs of this OLT that are present.
    onus: int = 0


def store_findings(
    olt_id: int, findings: Sequence[Finding], now: datetime, *, absent_after: int = ABSENT_AFTER
) -> Stored:
    """All findings of one collection, in the caller's transaction; who calls it is the OLT's only writer."""
    assert connection.in_atomic_block, "ONU rows and what else the collection leaves are stored together"
    storing = _Storing(olt_id, findings)
    storing.discover(absent_after)
    storing.join()
    storing.fill()
    storing.roster.write(now)
    return storing.counts()


def note_collected(olt_id: int, data: Iterable[str], now: datetime) -> None:
    """That these were collected in full."""
    rows = sorted({datum[:_LONGEST_DATUM] for datum in data})
    if rows:
        when = sql.written(now)
        given = ", ".join(["(%s, %s, %s)"] * len(rows))
        sql.change(_COLLECTED.format(given), [value for datum in rows for value in (olt_id, datum, when)])


_COLLECTED: Final = (
    "INSERT INTO olt_collected (olt_id, datum, collected_at) VALUES {}"
    " ON CONFLICT (olt_id, datum) DO UPDATE SET collected_at = excluded.collected_at"
)


@dataclass(slots=True)
class _Rows:
    """A finding, and the positions of its rows in the roster; negative for those that have none."""

    finding: Finding
    addresses: list[str]
    at: Positions = field(default_factory=list)

    @property
    def facts(self) -> Facts:
        return self.finding.facts

    def plain(self, stored: StoredFact, fact: str = "") -> list[Any]:
        values = self.facts.columns.get(fact or stored.name)
        return [stored.empty] * len(self.facts) if values is None else stored.plain(values)


class _Storing:
    def __init__(self, olt_id: int, findings: Sequence[Finding]) -> None:
        self._all = [_Rows(each, ADDRESSES.all(each.facts.keys)) for each in findings]
        self._complete = [rows for rows in self._all if rows.finding.complete_discovery]
        told = {fact for each in findings for fact in each.facts.columns}
        self._values = [each for each in VALUES if told.intersection(each.facts)]
        names = [each.name for each in self._values]
        if self._complete or any(each.name in told for each in IDENTITY):
            names += [each.name for each in IDENTITY]
        if self._complete:
            names += ["raw_index", "technology", "missed"]
        self.roster = Roster(olt_id, names)
        self._new = self._absent = self._returned = 0
        self._unknown: set[str] = set()
        self._other: set[int] = set()

    def discover(self, absent_after: int) -> None:
        """Who is there. Several discoveries of one collection count as one."""
        seen: set[int] = set()
        for rows in self._complete:
            self._place(rows)
            self._fill_identity(rows)
            seen.update(rows.at)
        if self._complete:
            self._count(seen, absent_after)

    def _recognise(self, rows: _Rows) -> list[int]:
        serials, macs = (self._identity(rows, stored) for stored in IDENTITY)
        present = [each == PRESENT for each in self.roster["presence"]]
        return recognise(Identities(rows.addresses, serials, macs), self.roster.identities, present)

    def _identity(self, rows: _Rows, stored: StoredFact) -> list[Any]:
        """As it may be stored, which what is stored already is."""
        told = rows.plain(stored)
        return told if told == self.roster[stored.name] else [value and stored.clean(value) for value in told]

    def _are_at_home(self, rows: _Rows) -> bool:
        """The usual case, seen at once: the places of the finding are those of the roster, in its order."""
        return rows.addresses == self.roster["address"]

    def _place(self, rows: _Rows) -> None:
        at = self._recognise(rows)
        self._leave(rows, at)
        facts = rows.facts
        for row in self._unsettled(rows, at):
            if at[row] == NEW:
                at[row] = self.roster.add()
                self._new += 1
            place = columns.place(facts.keys[row], facts.indexes[row], facts.technologies[row])
            self.roster.put(at[row], place)
        rows.at = self.roster.positions(at)

    def _leave(self, rows: _Rows, at: list[int]) -> None:
        """Whoever is known at a place that another one has now."""
        if self._are_at_home(rows) and isinstance(self.roster.positions(at), range):
            return
        addresses = self.roster.own("address")
        there = {address: position for position, address in enumerate(addresses) if address}
        for position, address in zip(at, rows.addresses, strict=True):
            holder = there.get(address, position)
            if holder != position and position != NOBODY:
                addresses[holder] = None

    def _unsettled(self, rows: _Rows, at: list[int]) -> list[int]:
        """The rows of those that are new, or whose place or index is not the one that is known."""
        known = [self.roster[column] for column in ("address", "raw_index", "technology")]
        found = [rows.addresses, INDEXES.all(rows.facts.indexes), rows.facts.technologies]
        if isinstance(self.roster.positions(at), range) and known == found:
            return []
        moved = {
            row
            for before, now in zip(known, found, strict=True)
            for row, (position, value) in enumerate(zip(at, now, strict=True))
            if position >= 0 and before[position] != value
        }
        return [row for row, position in enumerate(at) if position == NEW or row in moved]

    def _is_everybody_here(self, seen: set[int]) -> bool:
        """As they were before: nobody was missed, and nobody is."""
        if any(self.roster["missed"]) or ABSENT in self.roster["presence"]:
            return False
        return seen.issuperset(range(self.roster.known))

    def _count(self, seen: set[int], absent_after: int) -> None:
        """Who was missed once more. Those that are absent already are not counted any further."""
        if self._is_everybody_here(seen):
            return
        presences, missed = self.roster.own("presence"), self.roster.own("missed")
        for position in range(self.roster.known):
            if position in seen:
                missed[position] = 0
                if presences[position] == ABSENT:
                    presences[position] = PRESENT
                    self._returned += 1
            elif presences[position] == PRESENT:
                missed[position], gone = after_complete_discovery(
                    False, missed[position], absent_after=absent_after
                )
                if gone:
                    presences[position] = ABSENT
                    self._absent += 1

    def join(self) -> None:
        """Who is known at the places of the other findings."""
        others = [rows for rows in self._all if not rows.finding.complete_discovery]
        for rows in others:
            rows.at = range(len(rows.addresses)) if self._are_at_home(rows) else self._find(rows)
            self._other.update(self._strangers(rows))
        for rows in others if self._other else ():
            rows.at = [NOBODY if position in self._other else position for position in rows.at]

    def _find(self, rows: _Rows) -> Positions:
        there = {address: position for position, address in enumerate(self.roster["address"]) if address}
        at = [
            there.get(address, NEW) if first == NEW else NOBODY
            for first, address in zip(first_of_each(rows.addresses), rows.addresses, strict=True)
        ]
        self._unknown.update(a for a, position in zip(rows.addresses, at, strict=True) if position == NEW)
        return self.roster.positions(at)

    def _strangers(self, rows: _Rows) -> set[int]:
        """Places where another ONU is now: nothing that was said there is about the one that is known."""
        if not any(each.name in rows.facts.columns for each in IDENTITY):
            return set()
        known = self.roster.identities
        serials, macs = (rows.plain(stored) for stored in IDENTITY)
        elsewhere = set(known.serials)
        return {
            position
            for position, serial, mac in zip(rows.at, serials, macs, strict=True)
            if position >= 0
            and (serial != known.serials[position] or mac != known.macs[position])
            and (
                is_another(serial, mac, known.serials[position], known.macs[position])
                # It moved here, which only a discovery can say.
                or (serial != known.serials[position] and serial in elsewhere and not is_blank(serial))
            )
        }

    def fill(self) -> None:
        for rows in self._all:
            if not rows.finding.complete_discovery:
                self._fill_identity(rows)
        for stored in self._values:
            self._fill(stored)

    def _fill_identity(self, rows: _Rows) -> None:
        for stored in IDENTITY:
            if stored.name in rows.facts.columns:
                # What recognises an ONU is not forgotten because it was not told once.
                self.roster.fill(stored, rows.at, rows.plain(stored), keep=True)

    def _fill(self, stored: StoredFact) -> None:
        """From the first fact; the others count where it is empty, or where it was not asked for."""
        first, *others = stored.facts
        told = [rows for rows in self._all if first in rows.facts.columns]
        for rows in told:
            keep = first in rows.finding.keep_last
            self.roster.fill(stored, rows.at, rows.plain(stored, first), keep=keep)
        for fact in others:
            for rows in (rows for rows in self._all if fact in rows.facts.columns):
                values = rows.plain(stored, fact)
                if told:
                    self.roster.fill_empty(stored, rows.at, values)
                else:
                    self.roster.fill(stored, rows.at, values, keep=fact in rows.finding.keep_last)

    def counts(self) -> Stored:
        return Stored(
            new=self._new,
            moved=self.roster.moved,
            changed=len(self.roster.changed),
            absent=self._absent,
            returned=self._returned,
            unknown=len(self._unknown),
            other=len(self._other),
            onus=self.roster["presence"].count(PRESENT),
        )
