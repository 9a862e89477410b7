"""Who the other parts of a collection speak of: whoever is known at their places.

Beside a complete discovery, a table that was read to its end also names who is at a place where nobody is
known: that one is new. Unless its serial or MAC is known elsewhere: only a discovery says that an ONU moved.
"""

from __future__ import annotations

from collections.abc import Sequence

from facho.apps.discovery.columns import IDENTITY
from facho.apps.discovery.discovering import are_at_home, place_of
from facho.apps.discovery.finding import Rows
from facho.apps.discovery.recognise import NEW, NOBODY, first_of_each, is_another, is_blank
from facho.apps.discovery.roster import Roster


class Joining:
    def __init__(self, roster: Roster, others: Sequence[Rows], *, may_name: bool) -> None:
        self._roster = roster
        # Whom a whole table names, the others may speak of.
        self._others = sorted(others, key=lambda rows: not rows.finding.complete)
        self._may_name = may_name
        # Places at which nobody is known.
        self.unknown: set[str] = set()
        # Places at which another ONU is known.
        self.strangers: set[int] = set()

    def run(self) -> None:
        for rows in self._others:
            rows.at = range(len(rows.addresses)) if are_at_home(self._roster, rows) else self._find(rows)
            self.strangers.update(self._find_strangers(rows))
        for rows in self._others if self.strangers else ():
            rows.at = [NOBODY if position in self.strangers else position for position in rows.at]

    def _find(self, rows: Rows) -> list[int] | range:
        there = {address: position for position, address in enumerate(self._roster["address"]) if address}
        at = [
            there.get(address, NEW) if first == NEW else NOBODY
            for first, address in zip(first_of_each(rows.addresses), rows.addresses, strict=True)
        ]
        if NEW in at and self._may_name and rows.finding.complete:
            self._name(rows, at)
        self.unknown.update(a for a, position in zip(rows.addresses, at, strict=True) if position == NEW)
        return self._roster.positions(at)

    def _name(self, rows: Rows, at: list[int]) -> None:
        serials, macs = (rows.plain(stored) for stored in IDENTITY)
        known = self._roster.identities
        elsewhere = {identity for identity in (*known.serials, *known.macs) if not is_blank(identity)}
        for row, position in enumerate(at):
            if position == NEW and elsewhere.isdisjoint((serials[row], macs[row])):
                at[row] = self._roster.add(place_of(rows, row))
                self._roster.own("named_by")[at[row]] = rows.finding.task

    def _find_strangers(self, rows: Rows) -> set[int]:
        """Places where another ONU is now: nothing that was said there is about the one that is known."""
        if not any(rows.tells(each.name) for each in IDENTITY):
            return set()
        known = self._roster.identities
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
