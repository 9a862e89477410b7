"""The contents of the columns of a recording, as far as masking is concerned."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from facho.vendors.facts import Entity, Kind
from facho.vendors.schema import Column, IndexLayout, Profile, Rule, Table

Arcs = tuple[int, ...]


class Content(enum.Enum):
    """The kind of content of a column or a value."""

    # Left as it is: numbers, states, dates.
    FIXED = enum.auto()
    # A text that many devices share.
    PUBLIC = enum.auto()
    # Names of interfaces, as long as they are only that.
    NAMES = enum.auto()
    TEXT = enum.auto()
    SERIAL = enum.auto()
    MAC = enum.auto()
    IP = enum.auto()
    # In no profile: each value is classified by heuristics.
    UNKNOWN = enum.auto()


_NO_RULE: Final = Rule()
_WORD: Final = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class ColumnContent:
    content: Content
    rule: Rule = _NO_RULE
    # None where it is not known how its index is built.
    layout: IndexLayout | None = None


UNKNOWN: Final = ColumnContent(Content.UNKNOWN)
SYS_DESCR: Final = (1, 3, 6, 1, 2, 1, 1, 1)
SYS_NAME: Final = (1, 3, 6, 1, 2, 1, 1, 5)

# What an index may hold comes after 1.3.6.1.4.1 and the number of a company.
_UNKNOWN_BEGINS: Final = 7

_EVERYWHERE: Final = {
    SYS_DESCR: Content.PUBLIC,
    # sysObjectID is what a device is recognised by.
    (1, 3, 6, 1, 2, 1, 1, 2): Content.FIXED,
    # sysContact, sysName, sysLocation
    (1, 3, 6, 1, 2, 1, 1, 4): Content.TEXT,
    SYS_NAME: Content.TEXT,
    (1, 3, 6, 1, 2, 1, 1, 6): Content.TEXT,
    # Which MIBs the agent has.
    (1, 3, 6, 1, 2, 1, 1, 9): Content.FIXED,
    # ifDescr, ifPhysAddress, ifName, ifAlias
    (1, 3, 6, 1, 2, 1, 2, 2, 1, 2): Content.NAMES,
    (1, 3, 6, 1, 2, 1, 2, 2, 1, 6): Content.MAC,
    (1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1): Content.NAMES,
    (1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 18): Content.TEXT,
}  # fmt: skip
_BY_KIND: Final = {
    Kind.NUMBER: Content.FIXED,
    Kind.WHOLE: Content.FIXED,
    Kind.WORD: Content.FIXED,
    Kind.DATE: Content.FIXED,
    Kind.SERIAL: Content.SERIAL,
    Kind.MAC: Content.MAC,
    Kind.IP: Content.IP,
}
_PUBLIC_TEXTS: Final = frozenset(
    {"type", "model", "vendor_id", "hw_version", "sw_version", "sw_version_standby", "version", "speed"}
)
# The name of a board or a power supply is its kind, and the description of an OLT is what it says that it is.
_PUBLIC_NAMES: Final = frozenset({(Entity.BOARD, "name"), (Entity.PSU, "name"), (Entity.OLT, "description")})
_INTERFACE_NAMES: Final = frozenset({(Entity.PORT, "name"), (Entity.UPLINK, "name")})


class ColumnContents:
    """The contents of columns by their numbers."""

    def __init__(self, columns: dict[Arcs, list[ColumnContent]], words: frozenset[str]) -> None:
        self._columns = columns
        self._lengths = sorted({len(arcs) for arcs in columns}, reverse=True)
        # The words in the names of interfaces, where an index goes by these names.
        self.words = words

    def find(self, arcs: Arcs, value: object) -> tuple[ColumnContent, int]:
        """Return the content of a row, and the length of its column's OID; the rest is its index."""
        for length in self._lengths:
            if length < len(arcs) and (found := self._columns.get(arcs[:length])) is not None:
                return _select(found, value), length
        return UNKNOWN, _UNKNOWN_BEGINS


def find_contents(profiles: Iterable[Profile]) -> ColumnContents:
    """Return the contents of all columns. Of several profiles that have the same column, the first counts."""
    columns = {arcs: [ColumnContent(content)] for arcs, content in _EVERYWHERE.items()}
    words: frozenset[str] = frozenset()
    for table in (table for profile in profiles for table in profile.tables):
        words |= _interface_words(table)
        for oid, content in _contents_of(table):
            columns.setdefault(tuple(map(int, oid.split("."))), []).append(content)
    return ColumnContents(columns, words)


def _select(contents: Sequence[ColumnContent], value: object) -> ColumnContent:
    """Return the first that fits the value: several facts may share a column, each with its own values."""
    written = value.decode("latin-1") if isinstance(value, bytes) else ""
    for content in contents:
        if content.rule.fits is None or content.rule.fits.fullmatch(written):
            return content
    return ColumnContent(Content.UNKNOWN, layout=contents[0].layout)


def _contents_of(table: Table) -> Iterator[tuple[str, ColumnContent]]:
    if table.index.named is not None:
        yield table.index.named.column, ColumnContent(Content.NAMES)
    sources = [(column, source) for column in table.columns for source in (column.source, *column.otherwise)]
    for column, source in sources:
        yield source.oid, ColumnContent(_content_of(table, column), source.rule or column.rule, table.index)
    # After the columns: one that decides may be a fact of its own.
    for _, source in sources:
        if source.when is not None:
            yield source.when.oid, ColumnContent(Content.FIXED, layout=table.index)
    for when in table.rows:
        # A name that decides must still decide: it is masked as names of interfaces are.
        yield when.oid, ColumnContent(Content.NAMES if when.fits else Content.FIXED, layout=table.index)


def _interface_words(table: Table) -> frozenset[str]:
    if table.index.named is None:
        return frozenset()
    # Without the parts in braces.
    names = " ".join(re.sub(r"\{\w+\}", " ", name) for name in table.index.named.names)
    return frozenset(split_words(names))


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _content_of(table: Table, column: Column) -> Content:
    known = _BY_KIND.get(column.meaning.kind)
    if known is not None:
        return known
    if column.fact in _PUBLIC_TEXTS or (table.entity, column.fact) in _PUBLIC_NAMES:
        return Content.PUBLIC
    return Content.NAMES if (table.entity, column.fact) in _INTERFACE_NAMES else Content.TEXT
