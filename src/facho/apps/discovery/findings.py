"""The findings of a collection about ONUs: matched with the roster, they fill its columns.

Several complete discoveries of one collection count as one. An ONU is judged by the tables that named it: one
that a discovery ever had is missed when the discoveries do not have it. One that only another table named is
missed when that table, read to its end beside a discovery, does not have it; a discovery that never had it
does not count against it, and neither does a table that still has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from facho.apps.discovery.models import Presence
from facho.apps.discovery.onu_identity import (
    NEW,
    NOBODY,
    Identities,
    first_of_each,
    is_another,
    is_blank,
    match_onus,
    shared,
)
from facho.apps.discovery.roster import (
    ADDRESSES,
    IDENTITY,
    INDEXES,
    PARTS,
    VALUES,
    Positions,
    Roster,
    StoredFact,
    place_columns,
)
from facho.core.onu_states import after_complete_discovery
from facho.vendors import Entity, Facts

ONLINE: Final = "online"
PRESENT: Final = Presence.PRESENT.value
ABSENT: Final = Presence.ABSENT.value
# In `named_by`: discoveries have the ONU, so no task of its own named it.
_DISCOVERY: Final = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """The ONUs that one part of a collection found, and what may be concluded from them."""

    facts: Facts
    # It is a discovery, and read its tables to the end.
    complete_discovery: bool = False
    # Facts whose empty answer says nothing, each with the technology for which that is so; "" is all of them.
    keep_last: frozenset[tuple[str, str]] = frozenset()
    # It is no discovery, but walked its tables, and to the end.
    complete: bool = False
    # It broke off: an ONU that it does not have may still be there.
    broken: bool = False
    # ONUs, by their address, that did not answer all that they were asked.
    unanswered: frozenset[str] = frozenset()
    # Facts for which only online ONUs were asked.
    of_online: frozenset[str] = frozenset()
    # It asked about one ONU only.
    of_one: bool = False
    # The task that it was part of.
    task: str = "table"
    # The customer ports of the ONUs.
    unis: Facts = field(default_factory=lambda: Facts(Entity.UNI))
    # Some rows could not be read: an ONU that is not in it may be in one of those.
    has_gaps: bool = False
    # Serials or MACs may not be read: an ONU that has one, and is not in it, may be in the table of those.
    hides_identities: bool = False

    @property
    def is_whole(self) -> bool:
        """An ONU that is not in it is not in its tables."""
        return self.complete_discovery or self.complete


@dataclass(slots=True)
class FindingRows:
    """A finding, and the positions of its rows in the roster; negative for rows that have none."""

    finding: Finding
    addresses: list[str] = field(init=False)
    positions: Positions = field(default_factory=list)

    def __post_init__(self) -> None:
        self.addresses = ADDRESSES.all(self.facts.keys)

    @property
    def facts(self) -> Facts:
        return self.finding.facts

    def has(self, fact: str) -> bool:
        return fact in self.facts.columns

    def values(self, stored: StoredFact, fact: str = "") -> list[Any]:
        values = self.facts.columns.get(fact or stored.name)
        return [stored.empty] * len(self.facts) if values is None else stored.plain(values)

    def split_by_keeping(self, fact: str) -> Iterable[tuple[bool, Positions]]:
        """Yield whether an empty answer keeps the stored value, with the positions for which that is so."""
        kept = {technology for name, technology in self.finding.keep_last if name == fact}
        unanswered = self.finding.unanswered
        if self.finding.broken or "" in kept or (kept and kept.issuperset(self.facts.technologies)):
            return [(True, self.positions)]
        if not kept and not unanswered:
            return [(False, self.positions)]
        keeps = [
            technology in kept or address in unanswered
            for technology, address in zip(self.facts.technologies, self.addresses, strict=True)
        ]
        return [(True, self._only(keeps)), (False, self._only([not each for each in keeps]))]

    def positions_without_part(self, number: int) -> Positions:
        """Return the positions of rows whose index does not have this part of their place."""
        lacking = [key[number] is None for key in self.facts.keys]
        return self.positions if all(lacking) else self._only(lacking)

    def _only(self, chosen: Iterable[bool]) -> Positions:
        rows = zip(chosen, self.positions, strict=True)
        return [position if is_chosen else NOBODY for is_chosen, position in rows]


def fill_identity(roster: Roster, rows: FindingRows) -> None:
    for stored in IDENTITY:
        if rows.has(stored.name):
            # A serial or MAC is not forgotten because one answer did not have it.
            roster.fill(stored, rows.positions, rows.values(stored), keep=True)


def fill_values(roster: Roster, collection: Sequence[FindingRows], stored: StoredFact) -> None:
    """Fill a column from its first fact. The other facts count where that is empty or was not asked for; a
    finding that broke off may have been asked for it.
    """
    first, *others = stored.facts
    with_first = [rows for rows in collection if rows.has(first)]
    for rows in with_first:
        _fill(roster, rows, stored, first)
    for fact in others:
        for rows in (rows for rows in collection if rows.has(fact)):
            if with_first or rows.finding.broken:
                roster.fill_empty(stored, rows.positions, rows.values(stored, fact))
            else:
                _fill(roster, rows, stored, fact)


def _fill(roster: Roster, rows: FindingRows, stored: StoredFact, fact: str) -> None:
    values = rows.values(stored, fact)
    for keep, positions in rows.split_by_keeping(fact):
        roster.fill(stored, positions, values, keep=keep)


def offline_positions(roster: Roster) -> list[int]:
    return [position for position, state in enumerate(roster["state"]) if state != ONLINE]


def clear_offline(roster: Roster, finding: Finding) -> None:
    """Clear the facts of ONUs that were not asked because they are not online.

    The old value would look as fresh as the values of the others.
    """
    kept = {fact for fact, _ in finding.keep_last}
    offline = offline_positions(roster)
    for stored in VALUES:
        if stored.name in finding.of_online and stored.name not in kept:
            stale = [position for position in offline if roster[stored.name][position] != stored.empty]
            for position in stale:
                roster.editable(stored.name)[position] = stored.empty


def fill_parts(roster: Roster, collection: Sequence[FindingRows]) -> None:
    """Fill the numbers of a place that columns provide and the index does not.

    Another number is a move, which only a table that was read to its end can prove. Any other finding may
    provide a number that was not known.
    """
    for number, part in enumerate(PARTS):
        for rows in (rows for rows in collection if rows.has(part.name)):
            _fill_part(roster, rows, part, number)


def _fill_part(roster: Roster, rows: FindingRows, part: StoredFact, number: int) -> None:
    positions, values = rows.positions_without_part(number), rows.values(part)
    if isinstance(positions, range) and roster[part.name] == values:
        return
    if rows.finding.is_whole:
        # An ONU that is offline and has no port in its table is still where it was.
        roster.fill(part, positions, values, keep=True)
    else:
        roster.fill_empty(part, positions, values)
    roster.mark_told(part.name, positions)


class DiscoveryMatcher:
    """The complete discoveries of one collection: they may add, move and miss ONUs."""

    def __init__(self, roster: Roster, discoveries: Sequence[FindingRows]) -> None:
        self._roster = roster
        self._discoveries = discoveries
        self._seen: set[int] = set()
        self.absent: list[int] = []
        self.returned: list[int] = []

    def match(self) -> None:
        """Put every ONU that was found at the place where it was found."""
        for rows in self._discoveries:
            self._place_rows(rows)
            fill_identity(self._roster, rows)
            self._seen.update(rows.positions)

    def _place_rows(self, rows: FindingRows) -> None:
        positions = self._match_rows(rows)
        self._vacate_places(rows, positions)
        changed = self._new_or_moved(rows, positions)
        new = [row for row in changed if positions[row] == NEW]
        for row in changed:
            if positions[row] != NEW:
                self._roster.move(positions[row], _place_of(rows, row))
        _add_new(self._roster, rows, positions, new)
        rows.positions = self._roster.compact(positions)

    def _match_rows(self, rows: FindingRows) -> list[int]:
        serials, macs = (self._clean_identity(rows, stored) for stored in IDENTITY)
        present = [each == PRESENT for each in self._roster["presence"]]
        return match_onus(Identities(rows.addresses, serials, macs), self._roster.identities, present)

    def _clean_identity(self, rows: FindingRows, stored: StoredFact) -> list[Any]:
        """Return what was found as it may be stored; what is stored is clean already."""
        values = rows.values(stored)
        if values == self._roster[stored.name]:
            return values
        return [value and stored.clean(value) for value in values]

    def _vacate_places(self, rows: FindingRows, positions: list[int]) -> None:
        """Take the place from each known ONU where another one was found."""
        if _is_unmoved(self._roster, rows) and isinstance(self._roster.compact(positions), range):
            return
        addresses = self._roster.editable("address")
        there = {address: position for position, address in enumerate(addresses) if address}
        for position, address in zip(positions, rows.addresses, strict=True):
            holder = there.get(address, position)
            if holder != position and position != NOBODY:
                addresses[holder] = None

    def _new_or_moved(self, rows: FindingRows, positions: list[int]) -> list[int]:
        """Return the rows of ONUs that are new, or whose place or index differs from the known one."""
        known = [self._roster[column] for column in ("address", "raw_index", "technology")]
        found = [rows.addresses, INDEXES.all(rows.facts.indexes), rows.facts.technologies]
        if isinstance(self._roster.compact(positions), range) and known == found:
            return []
        moved = {
            row
            for before, now in zip(known, found, strict=True)
            for row, (position, value) in enumerate(zip(positions, now, strict=True))
            if position >= 0 and before[position] != value
        }
        return [row for row, position in enumerate(positions) if position == NEW or row in moved]

    def count_missed(self, others: Sequence[FindingRows], absent_after: int) -> None:
        """Count another miss for each ONU that was not found, unless a row could not be read: that may be
        anybody's. Absent ONUs are not counted any further.
        """
        if not self._discoveries or self._is_everybody_here():
            return
        named_by, presences, missed = (
            self._roster.editable(each) for each in ("named_by", "presence", "missed")
        )
        judging, hidden = self._tasks_that_judge(others), self._hidden_onus()
        elsewhere = {position for rows in others for position in rows.positions}
        for position in range(self._roster.known):
            if position in self._seen:
                named_by[position] = _DISCOVERY
            elif named_by[position] == _DISCOVERY or position not in elsewhere:
                is_judged = named_by[position] in judging and position not in hidden
                if presences[position] == PRESENT and is_judged:
                    self._miss(position, presences, missed, absent_after)
                continue
            missed[position] = 0
            if presences[position] == ABSENT:
                presences[position] = PRESENT
                self.returned.append(position)

    def _tasks_that_judge(self, others: Sequence[FindingRows]) -> set[str]:
        """Return the tasks that may say that an ONU is gone: those of which every row could be read."""
        if any(rows.finding.has_gaps for rows in self._discoveries):
            return set()
        return {_DISCOVERY, *(rows.finding.task for rows in others if not rows.finding.has_gaps)}

    def _hidden_onus(self) -> set[int]:
        """Return the ONUs that were found in a table which may not be read any more."""
        if not any(rows.finding.hides_identities for rows in self._discoveries):
            return set()
        identities = [self._roster[each.name] for each in IDENTITY]
        return {
            position
            for position in range(self._roster.known)
            if any(column[position] for column in identities)
        }

    def _is_everybody_here(self) -> bool:
        """Return whether nobody was missed before, and nobody is now: the usual case."""
        if any(self._roster["missed"]) or ABSENT in self._roster["presence"] or any(self._roster["named_by"]):
            return False
        return self._seen.issuperset(range(self._roster.known))

    def _miss(self, position: int, presences: list[Any], missed: list[Any], absent_after: int) -> None:
        missed[position], gone = after_complete_discovery(False, missed[position], absent_after=absent_after)
        if gone:
            presences[position] = ABSENT
            self.absent.append(position)

    def duplicates(self) -> list[int]:
        """Return the ONUs that were found whose serial another one of them has too."""
        serials = self._roster["serial"] if self._discoveries else []
        if not shared(serials):
            return []
        found = sorted(position for position in self._seen if position >= 0)
        twice = shared([serials[position] for position in found])
        return [position for position in found if serials[position] in twice]


class TableMatcher:
    """The other findings of a collection: they are about the ONUs that are known at their places.

    Beside a complete discovery, a table that was read to its end also names an ONU at a place where none is
    known: that one is new. Unless its serial or MAC is known elsewhere: only a discovery proves a move.
    """

    def __init__(self, roster: Roster, others: Sequence[FindingRows], *, may_name: bool) -> None:
        self._roster = roster
        # Whole tables first: the others may have values of the ONUs that those name.
        self._others = sorted(others, key=lambda rows: not rows.finding.complete)
        self._may_name = may_name
        # Places at which no ONU is known.
        self.unknown: set[str] = set()
        # Positions at whose places another ONU was found.
        self.strangers: set[int] = set()

    def match(self) -> None:
        for rows in self._others:
            is_unmoved = _is_unmoved(self._roster, rows)
            rows.positions = range(len(rows.addresses)) if is_unmoved else self._find_positions(rows)
            self.strangers.update(self._find_strangers(rows))
        for rows in self._others if self.strangers else ():
            rows.positions = [
                NOBODY if position in self.strangers else position for position in rows.positions
            ]

    def _find_positions(self, rows: FindingRows) -> Positions:
        there = {address: position for position, address in enumerate(self._roster["address"]) if address}
        positions = [
            there.get(address, NEW) if first == NEW else NOBODY
            for first, address in zip(first_of_each(rows.addresses), rows.addresses, strict=True)
        ]
        if NEW in positions and self._may_name and rows.finding.complete:
            self._add_named(rows, positions)
        found = zip(rows.addresses, positions, strict=True)
        self.unknown.update(address for address, position in found if position == NEW)
        return self._roster.compact(positions)

    def _add_named(self, rows: FindingRows, positions: list[int]) -> None:
        serials, macs = (rows.values(stored) for stored in IDENTITY)
        known = self._roster.identities
        elsewhere = {identity for identity in (*known.serials, *known.macs) if not is_blank(identity)}
        new = [
            row
            for row, position in enumerate(positions)
            if position == NEW and elsewhere.isdisjoint((serials[row], macs[row]))
        ]
        for position in _add_new(self._roster, rows, positions, new):
            self._roster.editable("named_by")[position] = rows.finding.task

    def _find_strangers(self, rows: FindingRows) -> set[int]:
        """Return the positions at whose places another ONU is now: its values are its own."""
        if not any(rows.has(each.name) for each in IDENTITY):
            return set()
        known = self._roster.identities
        serials, macs = (rows.values(stored) for stored in IDENTITY)
        elsewhere = set(known.serials)
        return {
            position
            for position, serial, mac in zip(rows.positions, serials, macs, strict=True)
            if position >= 0
            and (serial != known.serials[position] or mac != known.macs[position])
            and (
                is_another(serial, mac, known.serials[position], known.macs[position])
                # It moved here, which only a discovery can prove.
                or (serial != known.serials[position] and serial in elsewhere and not is_blank(serial))
            )
        }


def _is_unmoved(roster: Roster, rows: FindingRows) -> bool:
    """Return whether the places of the finding are those of the roster, in its order: the usual case."""
    return rows.addresses == roster["address"]


def _add_new(roster: Roster, rows: FindingRows, positions: list[int], new: Sequence[int]) -> range:
    """Add the ONUs of these rows to the roster, and set their positions."""
    added = roster.add([_place_of(rows, row) for row in new])
    for row, position in zip(new, added, strict=True):
        positions[row] = position
    return added


def _place_of(rows: FindingRows, row: int) -> tuple[Any, ...]:
    facts = rows.facts
    return place_columns(facts.keys[row], facts.indexes[row], facts.technologies[row])
