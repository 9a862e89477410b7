"""The findings of a collection about ONUs: they fill the columns of the roster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from facho.apps.discovery.onu_columns import ADDRESSES, IDENTITY, PARTS, VALUES, StoredFact
from facho.apps.discovery.onu_identity import NOBODY
from facho.apps.discovery.roster import Positions, Roster
from facho.vendors import Facts

ONLINE: Final = "online"


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
    # Some rows could not be read: an ONU that is not in it may be in one of those.
    has_gaps: bool = False

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


def clear_offline(roster: Roster, finding: Finding) -> None:
    """Clear the facts of ONUs that were not asked because they are not online.

    The old value would look as fresh as the values of the others.
    """
    kept = {fact for fact, _ in finding.keep_last}
    offline = [position for position, state in enumerate(roster["state"]) if state != ONLINE]
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
