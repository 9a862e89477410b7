"""Reads one answer of a walk: the rows of one column, keyed by the raw index suffix.

This is the inner loop of every collection. Nearly all answers look alike (short lengths, every row in the
column, every index of the same length), and one compiled pattern splits such an answer at once. Where the
pattern stops matching, the strict decoder reads on. Both accept and refuse the same answers, which a test
checks.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import Final, NamedTuple

from facho.snmp import values
from facho.snmp.errors import BerError
from facho.snmp.message import iterate_bindings
from facho.snmp.values import COUNTER32, COUNTER64, END_OF_MIB_VIEW, Value, decode_value

# A binding with a longer name has a length of two octets, which the patterns below do not cover.
LONGEST_NAME: Final = 100
# The longest value that is no string is an Opaque double.
_LONGEST_NUMBER: Final = 11
_SHORTEST_LARGE_ARC: Final = 5
# A pattern is tried at every octet, so it is kept to pages of the usual size.
LONGEST_PAGE: Final = 16_384
# Pages that a shape needs to be compiled, compiled shapes of a column, and shapes that are counted.
_OFTEN: Final = 4
_MOST_SHAPES: Final = 16
_MOST_SEEN: Final = 4096


class End(enum.Enum):
    """The way in which an answer showed the end of the column."""

    LEFT_COLUMN = "the agent went on to another column"
    END_OF_MIB = "the agent said that its MIB ends here"
    WENT_BACK = "the agent went back to before the column"


class Page(NamedTuple):
    """The rows of one answer in the order of the agent; a row may be there twice."""

    indexes: list[bytes]
    values: list[Value]
    end: End | None

    @property
    def last(self) -> bytes:
        return self.indexes[-1] if self.indexes else b""


_COUNTERS: Final = (COUNTER64, COUNTER32)


class _DecodedValues(dict[bytes, Value]):
    """Values by their encoding. Columns repeat values such as states, so that most are decoded once.

    Counters are not kept: they change each time, and would push the others out.
    """

    _LIMIT: Final = 50_000

    def __missing__(self, encoded: bytes) -> Value:
        tag = encoded[0]
        value = decode_value(tag, encoded[2:])
        if tag in _COUNTERS:
            return value
        if len(self) >= self._LIMIT:
            self.clear()
        self[encoded] = value
        return value


decoded_values: Final = _DecodedValues()


class _Shape:
    """Rows of one column whose indexes are equally long and whose values are all strings, or none is.

    A pattern cannot compute with lengths. So each possible length of a value has its own branch, with the
    lengths of the value and of the binding around it: what matches is well-formed. The octets between these
    lengths are the same in all branches; a look-ahead checks them once, because a pattern that repeats them
    takes long to compile.
    """

    def __init__(self, column: bytes, suffix_size: int, strings: bool) -> None:
        name = bytes((values.OBJECT_IDENTIFIER, len(column) + suffix_size)) + column
        tag = b"\\x04" if strings else b"[^\\x04\\x82]"
        row = re.escape(name) + b".{%d}[\\x00-\\x7f]" % (suffix_size - 1) + tag
        around = len(name) + suffix_size + 2
        longest = 127 - around if strings else min(127 - around, _LONGEST_NUMBER)
        between = b".{%d}" % (around - 1)
        branches = [
            re.escape(bytes((around + size,))) + between + re.escape(bytes((size,))) + b".{%d}" % size
            for size in range(longest + 1)
        ]
        pattern = b"\\x30(?=." + row + b")(" + b"|".join(branches) + b")"
        self._rows = re.compile(pattern, re.DOTALL).findall
        start = 1 + len(name)
        self._may_have_large_arc = suffix_size >= _SHORTEST_LARGE_ARC
        self._suffix: Callable[[bytes], bytes] = itemgetter(slice(start, start + suffix_size))
        value = itemgetter(slice(start + suffix_size + (2 if strings else 0), None))
        self._values: Callable[[list[bytes]], Iterable[Value]] = (
            partial(map, value) if strings else lambda rows: map(decoded_values.__getitem__, map(value, rows))
        )

    def read(self, bindings: bytes) -> tuple[list[bytes], list[Value], int]:
        """Return (indexes, values, octets that they fill from the start)."""
        found: list[bytes] = self._rows(bindings)
        size = _size(found)
        if size != len(bindings):
            # Something else is among them, or after them; it is among them if the rows do not fill the start.
            found = self._rows(bindings[:size])
            if _size(found) != size:
                return [], [], 0
        indexes = list(map(self._suffix, found))
        if self._may_have_large_arc and values.has_large_arc(b"".join(indexes)):
            return [], [], 0
        return indexes, list(self._values(found)), size


def _size(rows: list[bytes]) -> int:
    return sum(map(len, rows)) + len(rows)


class Shapes:
    """The compiled shapes of all columns; only frequent ones are compiled.

    An agent with rows of ever other shapes must not make us compile ever other patterns: a column has its few
    compiled shapes for as long as the process runs, and rows of other shapes are read without a pattern.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[bytes, int, bool], int] = {}
        self._compiled: dict[bytes, dict[tuple[int, bool], _Shape]] = {}

    @property
    def compiled(self) -> int:
        """Return how many were compiled so far."""
        return sum(map(len, self._compiled.values()))

    def of(self, column: bytes) -> dict[tuple[int, bool], _Shape]:
        """Return the compiled shapes of a column, by the suffix size and whether the values are strings."""
        return self._compiled.setdefault(column, {})

    def find(self, column: bytes, suffix_size: int, strings: bool) -> _Shape | None:
        """Return the shape, or None while it has not come often enough."""
        compiled = self.of(column)
        shape = compiled.get((suffix_size, strings))
        if shape is None and len(compiled) < _MOST_SHAPES and self._came_often(column, suffix_size, strings):
            shape = compiled[suffix_size, strings] = _Shape(column, suffix_size, strings)
        return shape

    def _came_often(self, column: bytes, suffix_size: int, strings: bool) -> bool:
        shape = column, suffix_size, strings
        times = self._seen.get(shape, 0)
        if times >= _OFTEN:
            return True
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[shape] = times + 1
        return False


# All readers share them: a column has the same shapes on every OLT of a model.
_SHARED: Final = Shapes()


class ColumnReader:
    """Reads the pages of one column."""

    def __init__(self, column: bytes, shapes: Shapes = _SHARED) -> None:
        self.column = column
        self._shapes = shapes
        self._compiled = shapes.of(column)

    def read(self, bindings: bytes) -> Page:
        """Read an answer. Raises BerError when the bindings are not well-formed."""
        shape = self._shape_of_first(bindings)
        indexes, values, size = shape.read(bindings) if shape else ([], [], 0)
        page = Page(indexes, values, None)
        return page if size == len(bindings) else self._read_rest(bindings[size:], page)

    def _shape_of_first(self, bindings: bytes) -> _Shape | None:
        """Return the shape of the first row, which is mostly that of the others too."""
        if (
            not 4 <= len(bindings) <= LONGEST_PAGE
            or bindings[0] != values.SEQUENCE
            or bindings[2] != values.OBJECT_IDENTIFIER
        ):
            return None
        name_size = bindings[3]
        suffix_size = name_size - len(self.column)
        if name_size > LONGEST_NAME or suffix_size < 1 or len(bindings) < 5 + name_size:
            return None
        strings = bindings[4 + name_size] == values.OCTET_STRING
        compiled = self._compiled.get((suffix_size, strings))
        return compiled or self._shapes.find(self.column, suffix_size, strings)

    def _read_rest(self, bindings: bytes, page: Page) -> Page:
        indexes, values, end = page
        for name, tag, content in iterate_bindings(bindings):
            if tag != END_OF_MIB_VIEW and name.startswith(self.column) and len(name) > len(self.column):
                if end is not None:
                    # A row after the end: the end was damage, and accepting it would lose rows.
                    raise BerError("rows of the column come after its end")
                indexes.append(name[len(self.column) :])
                values.append(decode_value(tag, content))
            elif end is None:
                end = self._end_at(name, tag, content)
        return Page(indexes, values, end)

    def _end_at(self, name: bytes, tag: int, content: bytes) -> End:
        if tag == END_OF_MIB_VIEW:
            if content:
                raise BerError("the end of the MIB has a value")
            return End.END_OF_MIB
        arcs = values.decode_arcs(name)
        if values.encode_arcs(arcs) != name:
            # Padded, it would be taken for another column when it is a row of this one.
            raise BerError("an OID has a sub-identifier with octets to spare")
        before = arcs <= values.decode_arcs(self.column)
        return End.WENT_BACK if before else End.LEFT_COLUMN
