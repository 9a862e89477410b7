"""What each column of a recording holds, as far as masking is concerned."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from facho.vendors.schema import Column, IndexLayout, Profile, Rule, Source, Table
from facho.vendors.vocabulary import Entity, Kind

Arcs = tuple[int, ...]


class Holds(enum.Enum):
    """FIXED is left as it is: numbers, states, dates. PUBLIC is a text that many devices share."""

    FIXED = enum.auto()
    PUBLIC = enum.auto()
    # Names of interfaces, as long as they are only that.
    NAMES = enum.auto()
    TEXT = enum.auto()
    SERIAL = enum.auto()
    MAC = enum.auto()
    IP = enum.auto()
    # Nobody knows: each value is judged by its looks.
    UNKNOWN = enum.auto()


_NO_RULE: Final = Rule()


@dataclass(frozen=True, slots=True)
class Holding:
    what: Holds
    rule: Rule = _NO_RULE
    # None where nobody knows how its index is built.
    layout: IndexLayout | None = None


UNKNOWN: Final = Holding(Holds.UNKNOWN)
SYS_DESCR: Final = (1, 3, 6, 1, 2, 1, 1, 1)
SYS_NAME: Final = (1, 3, 6, 1, 2, 1, 1, 5)

# What an index may hold comes after 1.3.6.1.4.1 and the number of a company.
_UNKNOWN_BEGINS: Final = 7

_EVERYWHERE: Final = {
    SYS_DESCR: Holds.PUBLIC,
    # sysObjectID is what a device is recognised by.
    (1, 3, 6, 1, 2, 1, 1, 2): Holds.FIXED,
    # sysContact, sysName, sysLocation
    (1, 3, 6, 1, 2, 1, 1, 4): Holds.TEXT,
    SYS_NAME: Holds.TEXT,
    (1, 3, 6, 1, 2, 1, 1, 6): Holds.TEXT,
    # Which MIBs the agent has.
    (1, 3, 6, 1, 2, 1, 1, 9): Holds.FIXED,
    # ifDescr, ifPhysAddress, ifName, ifAlias
    (1, 3, 6, 1, 2, 1, 2, 2, 1, 2): Holds.NAMES,
    (1, 3, 6, 1, 2, 1, 2, 2, 1, 6): Holds.MAC,
    (1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1): Holds.NAMES,
    (1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 18): Holds.TEXT,
}  # fmt: skip
_BY_KIND: Final = {
    Kind.NUMBER: Holds.FIXED,
    Kind.WHOLE: Holds.FIXED,
    Kind.WORD: Holds.FIXED,
    Kind.DATE: Holds.FIXED,
    Kind.SERIAL: Holds.SERIAL,
    Kind.MAC: Holds.MAC,
    Kind.IP: Holds.IP,
}
_PUBLIC_TEXTS: Final = frozenset(
    {"type", "model", "vendor_id", "hw_version", "sw_version", "sw_version_standby", "version", "speed"}
)


class Holdings:
    """By the number of the column. Of several profiles that have the same one, the first counts."""

    def __init__(self, profiles: Iterable[Profile]) -> None:
        self._columns: dict[Arcs, list[Holding]] = {
            arcs: [Holding(what)] for arcs, what in _EVERYWHERE.items()
        }
        # Those that interfaces are called by, where an index goes by their names.
        self.words: frozenset[str] = frozenset()
        for profile in profiles:
            for table in profile.tables:
                self.words |= _words_of(table)
                for oid, holding in _of_table(table):
                    self._columns.setdefault(oid, []).append(holding)
        self._lengths = sorted({len(arcs) for arcs in self._columns}, reverse=True)

    def of(self, arcs: Arcs, value: object) -> tuple[Holding, int]:
        """What the row holds, and how many of its numbers are its column's; the rest is its index."""
        for length in self._lengths:
            if length < len(arcs) and (found := self._columns.get(arcs[:length])) is not None:
                return _fitting(found, value), length
        return UNKNOWN, _UNKNOWN_BEGINS


def _fitting(holdings: Sequence[Holding], value: object) -> Holding:
    """Several facts may share a column, each with the values that are its own."""
    written = value.decode("latin-1") if isinstance(value, bytes) else ""
    for holding in holdings:
        if holding.rule.fits is None or holding.rule.fits.fullmatch(written):
            return holding
    return Holding(Holds.UNKNOWN, layout=holdings[0].layout)


def _of_table(table: Table) -> Iterator[tuple[Arcs, Holding]]:
    if table.index.named is not None:
        yield arcs_of(table.index.named.column), Holding(Holds.NAMES)
    for column in table.columns:
        what = _held_by(table, column)
        for source in (column.source, *column.otherwise):
            yield arcs_of(source.oid), Holding(what, source.rule or column.rule, table.index)
    # After the columns: one that decides may be a fact of its own.
    for source in _sources(table):
        if source.when is not None:
            yield arcs_of(source.when.oid), Holding(Holds.FIXED, layout=table.index)


def _words_of(table: Table) -> frozenset[str]:
    if table.index.named is None:
        return frozenset()
    # Without the parts in braces.
    names = " ".join(re.sub(r"\{\w+\}", " ", name) for name in table.index.named.names)
    return frozenset(re.findall(r"[^\W\d_]+", names.casefold()))


def _sources(table: Table) -> Iterator[Source]:
    for column in table.columns:
        yield from (column.source, *column.otherwise)


def _held_by(table: Table, column: Column) -> Holds:
    known = _BY_KIND.get(table.fact(column).kind)
    if known is not None:
        return known
    if column.fact in _PUBLIC_TEXTS or (table.entity, column.fact) in _PUBLIC_NAMES:
        return Holds.PUBLIC
    return Holds.NAMES if (table.entity, column.fact) == (Entity.PORT, "name") else Holds.TEXT


# The name of a board is its kind, and the description of an OLT is what it says that it is.
_PUBLIC_NAMES: Final = frozenset({(Entity.BOARD, "name"), (Entity.OLT, "description")})


def arcs_of(oid: str) -> Arcs:
    return tuple(map(int, oid.strip(".").split(".")))
