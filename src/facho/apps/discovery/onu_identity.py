"""Identifies the ONUs that a discovery found among those that are known. No database.

An ONU is identified by its serial, else its MAC, else its place. Real OLTs have a serial at two places, or no
serial at all, or one of zeros: such a serial identifies nobody, and the MAC or the place decides. A place
counts only if what is known there does not contradict: another serial, or else another MAC, is another ONU.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

NEW: Final = -1
# The row of an address that another row of the same discovery has already.
NOBODY: Final = -2


@dataclass(frozen=True, slots=True)
class Identities:
    """Columns of equal length, empty where an ONU has no value. An address is None if another ONU took it."""

    addresses: Sequence[str | None]
    serials: Sequence[str]
    macs: Sequence[str]


def is_blank(identity: str) -> bool:
    return not identity.strip("0:")


def differ(one: str, other: str) -> bool:
    """Return whether both are known, and not the same."""
    return one != other and not is_blank(one) and not is_blank(other)


def is_another(serial: str, mac: str, known_serial: str, known_mac: str) -> bool:
    """Return whether the ONU that was found cannot be the one that is known at the same place."""
    if is_blank(serial) or is_blank(known_serial):
        return differ(mac, known_mac)
    return serial != known_serial


def shared(identities: Sequence[str]) -> set[str]:
    """Return the identities that several have, without blank ones."""
    if len(set(identities)) == len(identities):
        return set()
    return {each for each, times in Counter(identities).items() if times > 1 and not is_blank(each)}


def first_of_each(addresses: Sequence[str | None]) -> list[int]:
    """Return NEW for the first row of each address, NOBODY for others: two indexes may be one place."""
    if len(set(addresses)) == len(addresses):
        return [NEW] * len(addresses)
    first = {address: row for row, address in reversed(list(enumerate(addresses)))}
    return [NEW if first[address] == row else NOBODY for row, address in enumerate(addresses)]


def match_onus(found: Identities, known: Identities, present: Sequence[bool]) -> list[int]:
    """Return for each row that was found its number among the known ones, NEW or NOBODY."""
    if _is_unchanged(found, known):
        return list(range(len(found.addresses)))
    return _Matching(found, known, present).run()


def _is_unchanged(found: Identities, known: Identities) -> bool:
    """Return whether all are where they were, and nothing that was found contradicts: the usual case."""
    return found.addresses == known.addresses and all(
        now == before or not any(now)
        for now, before in ((found.serials, known.serials), (found.macs, known.macs))
    )


class _Matching:
    def __init__(self, found: Identities, known: Identities, present: Sequence[bool]) -> None:
        self._found, self._known, self._present = found, known, present
        self._at = first_of_each(found.addresses)
        self._taken: set[int] = set()
        self._serials, self._macs = _unique(found.serials), _unique(found.macs)
        self._there: dict[str | None, int] = {
            address: number for number, address in enumerate(known.addresses) if address
        }

    def run(self) -> list[int]:
        self._take_unmoved()
        for rule in (self._by_serial, self._by_mac, self._by_place):
            left = [row for row, number in enumerate(self._at) if number == NEW]
            choose = rule() if left else None
            for row in left:
                number = choose(row) if choose is not None else None
                if number is not None:
                    self._at[row] = number
                    self._taken.add(number)
        return self._at

    def _take_unmoved(self) -> None:
        """Match rows with the serial that is known at their place: nearly all."""
        there, serials, usable, at = self._there, self._known.serials, self._serials, self._at
        for row, (address, serial) in enumerate(zip(self._found.addresses, self._found.serials, strict=True)):
            number = there.get(address)
            if number is not None and serials[number] == serial and serial in usable and at[row] == NEW:
                at[row] = number
        self._taken.update(number for number in at if number >= 0)

    def _by_serial(self) -> Callable[[int], int | None]:
        known, found = _numbers(self._known.serials), self._found

        def choose(row: int) -> int | None:
            serial = found.serials[row]
            return self._best(row, known.get(serial, ())) if serial in self._serials else None

        return choose

    def _by_mac(self) -> Callable[[int], int | None]:
        known, found, serials = _numbers(self._known.macs), self._found, self._known.serials

        def choose(row: int) -> int | None:
            mac, serial = found.macs[row], found.serials[row]
            if mac not in self._macs:
                return None
            same = [number for number in known.get(mac, ()) if not differ(serial, serials[number])]
            return self._best(row, same)

        return choose

    def _by_place(self) -> Callable[[int], int | None]:
        found, known = self._found, self._known

        def choose(row: int) -> int | None:
            number = self._there.get(found.addresses[row])
            if number is None or number in self._taken:
                return None
            other = is_another(found.serials[row], found.macs[row], known.serials[number], known.macs[number])
            return None if other else number

        return choose

    def _best(self, row: int, numbers: Iterable[int]) -> int | None:
        """Choose one of several of an identity: the one at this place, then with this MAC, then present."""
        free = [number for number in numbers if number not in self._taken]
        found, known = self._found, self._known
        return min(
            free,
            key=lambda number: (
                known.addresses[number] != found.addresses[row],
                known.macs[number] != found.macs[row],
                not self._present[number],
            ),
            default=None,
        )


def _unique(identities: Iterable[str]) -> set[str]:
    """Return the identities that identify an ONU: not blank, and of one row only."""
    return {each for each, rows in Counter(identities).items() if rows == 1 and not is_blank(each)}


def _numbers(identities: Iterable[str]) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, identity in enumerate(identities):
        numbers[identity].append(number)
    return numbers
