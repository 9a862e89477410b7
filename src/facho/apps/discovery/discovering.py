"""Who is there: the complete discoveries of one collection, brought into the roster.

Several discoveries of one collection count as one. An ONU is judged by the tables that named it: one that a
discovery ever had is missed when the discoveries do not have it. One that only another table named is missed
when that table, read to its end beside a discovery, does not have it; a discovery that never had it does not
count against it, and neither does a table that still has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from facho.apps.discovery import columns
from facho.apps.discovery.columns import IDENTITY, INDEXES, StoredFact
from facho.apps.discovery.finding import Rows
from facho.apps.discovery.models import Presence
from facho.apps.discovery.recognise import NEW, NOBODY, Identities, recognise, shared
from facho.apps.discovery.roster import Roster
from facho.core.presence import after_complete_discovery

PRESENT: Final = Presence.PRESENT.value
ABSENT: Final = Presence.ABSENT.value
# In `named_by`, where it is not the task that named an ONU: discoveries have it.
_DISCOVERY: Final = ""


class Discovering:
    def __init__(self, roster: Roster, discoveries: Sequence[Rows]) -> None:
        self._roster = roster
        self._discoveries = discoveries
        self._seen: set[int] = set()
        self.absent: list[int] = []
        self.returned: list[int] = []

    def place(self) -> None:
        """Everybody at the place that was found."""
        for rows in self._discoveries:
            self._place(rows)
            fill_identity(self._roster, rows)
            self._seen.update(rows.at)

    def _place(self, rows: Rows) -> None:
        at = self._recognise(rows)
        self._leave(rows, at)
        for row in self._unsettled(rows, at):
            place = place_of(rows, row)
            if at[row] == NEW:
                at[row] = self._roster.add(place)
            else:
                self._roster.put(at[row], place)
        rows.at = self._roster.positions(at)

    def _recognise(self, rows: Rows) -> list[int]:
        serials, macs = (self._identity(rows, stored) for stored in IDENTITY)
        present = [each == PRESENT for each in self._roster["presence"]]
        return recognise(Identities(rows.addresses, serials, macs), self._roster.identities, present)

    def _identity(self, rows: Rows, stored: StoredFact) -> list[Any]:
        """As it may be stored, which what is stored already is."""
        told = rows.plain(stored)
        return (
            told if told == self._roster[stored.name] else [value and stored.clean(value) for value in told]
        )

    def _leave(self, rows: Rows, at: list[int]) -> None:
        """Whoever is known at a place that another one has now."""
        if are_at_home(self._roster, rows) and isinstance(self._roster.positions(at), range):
            return
        addresses = self._roster.own("address")
        there = {address: position for position, address in enumerate(addresses) if address}
        for position, address in zip(at, rows.addresses, strict=True):
            holder = there.get(address, position)
            if holder != position and position != NOBODY:
                addresses[holder] = None

    def _unsettled(self, rows: Rows, at: list[int]) -> list[int]:
        """The rows of those that are new, or whose place or index is not the one that is known."""
        known = [self._roster[column] for column in ("address", "raw_index", "technology")]
        found = [rows.addresses, INDEXES.all(rows.facts.indexes), rows.facts.technologies]
        if isinstance(self._roster.positions(at), range) and known == found:
            return []
        moved = {
            row
            for before, now in zip(known, found, strict=True)
            for row, (position, value) in enumerate(zip(at, now, strict=True))
            if position >= 0 and before[position] != value
        }
        return [row for row, position in enumerate(at) if position == NEW or row in moved]

    def count(self, others: Sequence[Rows], absent_after: int) -> None:
        """Count who was missed once more, unless a row could not be read: that may be anybody's.

        Those that are absent already are not counted any further.
        """
        if not self._discoveries or self._is_everybody_here():
            return
        named_by, presences, missed = (self._roster.own(each) for each in ("named_by", "presence", "missed"))
        judging = self._tasks_that_judge(others)
        elsewhere = {position for rows in others for position in rows.at}
        for position in range(self._roster.known):
            if position in self._seen:
                named_by[position] = _DISCOVERY
            elif named_by[position] == _DISCOVERY or position not in elsewhere:
                if presences[position] == PRESENT and named_by[position] in judging:
                    self._miss(position, presences, missed, absent_after)
                continue
            missed[position] = 0
            if presences[position] == ABSENT:
                presences[position] = PRESENT
                self.returned.append(position)

    def _tasks_that_judge(self, others: Sequence[Rows]) -> set[str]:
        """Return the tasks that may say that an ONU is gone: those of which every row could be read."""
        if any(rows.finding.has_gaps for rows in self._discoveries):
            return set()
        return {_DISCOVERY, *(rows.finding.task for rows in others if not rows.finding.has_gaps)}

    def _is_everybody_here(self) -> bool:
        """As they were before: nobody was missed, and nobody is."""
        if any(self._roster["missed"]) or ABSENT in self._roster["presence"] or any(self._roster["named_by"]):
            return False
        return self._seen.issuperset(range(self._roster.known))

    def _miss(self, position: int, presences: list[Any], missed: list[Any], absent_after: int) -> None:
        missed[position], gone = after_complete_discovery(False, missed[position], absent_after=absent_after)
        if gone:
            presences[position] = ABSENT
            self.absent.append(position)

    def doubled(self) -> list[int]:
        """Those whose serial another one has too, of all that were found."""
        serials = self._roster["serial"] if self._discoveries else []
        if not shared(serials):
            return []
        found = sorted(position for position in self._seen if position >= 0)
        twice = shared([serials[position] for position in found])
        return [position for position in found if serials[position] in twice]


def are_at_home(roster: Roster, rows: Rows) -> bool:
    """The usual case, seen at once: the places of the finding are those of the roster, in its order."""
    return rows.addresses == roster["address"]


def place_of(rows: Rows, row: int) -> tuple[Any, ...]:
    facts = rows.facts
    return columns.place(facts.keys[row], facts.indexes[row], facts.technologies[row])


def fill_identity(roster: Roster, rows: Rows) -> None:
    for stored in IDENTITY:
        if rows.tells(stored.name):
            # What recognises an ONU is not forgotten because it was not told once.
            roster.fill(stored, rows.at, rows.plain(stored), keep=True)
