"""Tables as a walk sees them: columns of rows in index order, each row encoded.

A column's encoded variable bindings lie one after another in one block, so that fifty rows of an answer are
one slice. What is equal for OLTs of one shape (indices, names, the order of columns) is a Layout, and shared.
"""

from __future__ import annotations

import enum
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from facho.snmp import values
from facho.snmp.errors import BerError
from facho.snmp.values import Oid, Value, encode_value

Arcs = tuple[int, ...]
Facts = TypeVar("Facts")
_NULL = b"\x05\x00"
_LONGEST_NAME = 0x7F - 4
_SHORT = [bytes((values.SEQUENCE, length)) for length in range(0x80)]


class Changes(enum.Enum):
    """The occasions on which a column is encoded again."""

    NEVER = "never"
    WITH_STATE = "with the state of the ONUs"
    GROWING = "as often as the OLT updates its counters, if somebody asks"
    ALWAYS = "with every request"


class IndexSpace:
    """The rows that some columns have in common, in index order."""

    def __init__(self, rows: Iterable[Arcs], *, of_onus: bool = False) -> None:
        self.arcs: list[Arcs] = list(rows)
        if self.arcs != sorted(set(self.arcs)):
            raise ValueError("the rows of an index space must be sorted and differ")
        self.suffixes: list[bytes] = [values.encode_arcs(arcs) for arcs in self.arcs]
        self.row_of: dict[bytes, int] = {suffix: row for row, suffix in enumerate(self.suffixes)}
        self.of_onus = of_onus

    def __len__(self) -> int:
        return len(self.arcs)

    def after(self, arcs: Arcs) -> int:
        """Return the first row after this suffix, which need not be a row."""
        return bisect_right(self.arcs, arcs)


@dataclass(frozen=True, slots=True)
class ColumnSpec(Generic[Facts]):
    """A column as data: its OID, its rows, and the function that gives the value of a row."""

    name: str
    oid: str
    index: str
    value: Callable[[Facts, int, float], Value]
    changes: Changes = Changes.NEVER
    # Read from the ONU itself at each request, which is slow on real OLTs.
    optics: bool = False
    # The same for all OLTs of a template.
    of_template: bool = False


class Column(NamedTuple):
    """A column with its values, encoded."""

    block: bytes
    offsets: array[int]
    rows: int
    optics: bool

    def varbind(self, row: int) -> bytes:
        return self.block[self.offsets[row] : self.offsets[row + 1]]

    def varbinds(self, row: int, end: int) -> list[bytes]:
        block, offsets = self.block, self.offsets
        return [block[offsets[at] : offsets[at + 1]] for at in range(row, end)]


class PlacedColumn(Generic[Facts]):
    """A column at its place in the OID tree, for every OLT of one shape."""

    def __init__(self, spec: ColumnSpec[Facts], index: IndexSpace) -> None:
        self.spec = spec
        self.index = index
        self.prefix = Oid.parse(spec.oid).content if spec.oid else b""
        self.prefix_arcs = values.decode_arcs(self.prefix)
        self.first: Arcs = self.prefix_arcs + (index.arcs[0] if len(index) else ())

    @cached_property
    def names(self) -> list[bytes]:
        return [
            values.encode_tlv(values.OBJECT_IDENTIFIER, self.prefix + suffix)
            for suffix in self.index.suffixes
        ]

    def build(self, facts: Facts, now: float) -> Column:
        value = self.spec.value
        parts: list[bytes] = []
        integers: dict[int, bytes] = {}
        for row, name in enumerate(self.names):
            raw = value(facts, row, now)
            # Most values are integers that other rows have too.
            if type(raw) is int:
                encoded = integers.get(raw) or integers.setdefault(raw, encode_value(raw))
            else:
                encoded = encode_value(raw)
            length = len(name) + len(encoded)
            head = _SHORT[length] if length < 0x80 else b"\x30" + values.encode_length(length)
            parts.append(head + name + encoded)
        return column_of(parts, optics=self.spec.optics)


def _encode_requested(name: bytes) -> bytes:
    """Encode the binding of a request; all names that are too long for one octet of length are the same."""
    if len(name) > _LONGEST_NAME:
        return b""
    return _SHORT[len(name) + 4] + bytes((values.OBJECT_IDENTIFIER, len(name))) + name + _NULL


def column_of(varbinds: Sequence[bytes], *, optics: bool = False) -> Column:
    offsets = array("I", accumulate(map(len, varbinds), initial=0))
    return Column(b"".join(varbinds), offsets, len(varbinds), optics)


class Place(NamedTuple):
    """The position of an OID: its column and the first row after it; `exact` when the OID is a row."""

    column: int
    row: int
    exact: bool


class Layout(Generic[Facts]):
    """Every column of a shape of OLT, in OID order."""

    def __init__(self, specs: Iterable[ColumnSpec[Facts]], spaces: Mapping[str, IndexSpace]) -> None:
        placed = [PlacedColumn(spec, spaces[spec.index]) for spec in specs]
        self.columns = sorted((column for column in placed if len(column.index)), key=lambda each: each.first)
        self.of_template = frozenset(n for n, each in enumerate(self.columns) if each.spec.of_template)
        # The column and row of bindings that were asked for, and of all others of their columns.
        self.asked_places: dict[bytes, tuple[int, int]] = {}
        self._firsts = [column.first for column in self.columns]
        self._by_prefix = {column.prefix: number for number, column in enumerate(self.columns)}
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix}, reverse=True)

    def changing(self, changes: Changes) -> frozenset[int]:
        return frozenset(number for number, each in enumerate(self.columns) if each.spec.changes is changes)

    def add_asked_place(self, binding: bytes) -> bool:
        """Learn the places of a column by the binding of one row, or of none: then a walk begins there.

        Return False for anything else, and for columns that change with every request.
        """
        name = binding[4:-2]
        if binding != _encode_requested(name):
            return False
        try:
            number, _, exact = self.place(name)
        except BerError:
            return False
        if number >= len(self.columns) or self.columns[number].spec.changes is Changes.ALWAYS:
            return False
        column = self.columns[number]
        if exact:
            for row, suffix in enumerate(column.index.suffixes):
                self.asked_places[_encode_requested(column.prefix + suffix)] = number, row
        elif name and name == column.prefix:
            # The row before the first: only a walk may ask for it.
            self.asked_places[binding] = number, -1
        return binding in self.asked_places

    def place(self, oid: bytes) -> Place:
        """Return where a walk goes on after this OID; column and row may be one past the last."""
        by_prefix = self._by_prefix
        for length in self._lengths:
            number = by_prefix.get(oid[:length])
            if number is not None:
                row = self.columns[number].index.row_of.get(oid[length:])
                if row is not None:
                    return Place(number, row + 1, True)
                if len(oid) == length and length:
                    return Place(number, 0, False)
        return self._search(values.decode_arcs(oid))

    def _search(self, arcs: Arcs) -> Place:
        number = bisect_right(self._firsts, arcs) - 1
        if number < 0:
            return Place(0, 0, False)
        column = self.columns[number]
        size = len(column.prefix_arcs)
        if arcs[:size] != column.prefix_arcs:
            return Place(number + 1, 0, False)
        row = column.index.after(arcs[size:])
        return Place(number, row, row > 0 and column.index.arcs[row - 1] == arcs[size:])

    def has_object(self, oid: bytes) -> bool:
        """Return whether the OID belongs to a column that exists, whatever its rows."""
        return any(length and oid[:length] in self._by_prefix for length in self._lengths) or (
            self._has_sibling(values.decode_arcs(oid))
        )

    def _has_sibling(self, arcs: Arcs) -> bool:
        """Return whether a row differs from it in the last number only, where columns are not known."""
        number, row, _ = self._search(arcs)
        if number >= len(self.columns) or self.columns[number].prefix:
            return False
        return any(
            near[:-1] == arcs[:-1] for near in self.columns[number].index.arcs[max(row - 1, 0) : row + 1]
        )
