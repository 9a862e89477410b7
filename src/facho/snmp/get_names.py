"""The names that a GET asks for, as requests hold them, and the fast reading of an answer to them.

Positions number the names. An answer nearly always has the names that were asked for, in the same order and
with short lengths. One compiled pattern splits such an answer at once, and its names are compared with those
asked for. Any other answer is left to the strict decoder. Both read the same values, which a test checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Final, NamedTuple, Protocol

from facho.snmp import values
from facho.snmp.message import MOST_BINDINGS, encode_names
from facho.snmp.page import LONGEST_NAME, LONGEST_PAGE, decoded_values
from facho.snmp.values import Value

_NULL: Final = b"\x05\x00"
# The largest length of one octet.
_SHORT: Final = 0x7F


class GetNames(Protocol):
    @property
    def unit(self) -> int:
        """Return how many names belong together; they are put in one request where it has room for them."""

    def encode(self, positions: Sequence[int]) -> bytes:
        """Return the bindings of a request."""

    def names(self, positions: Sequence[int]) -> list[bytes]: ...

    def read(self, positions: Sequence[int], bindings: bytes) -> list[Value] | None:
        """Return the values of an answer, or None where the strict decoder must read it."""


class NameList:
    """Names without any order."""

    unit = 1

    def __init__(self, contents: Sequence[bytes]) -> None:
        self._contents = contents

    def encode(self, positions: Sequence[int]) -> bytes:
        return encode_names(self.names(positions))

    def names(self, positions: Sequence[int]) -> list[bytes]:
        return [self._contents[position] for position in positions]

    def read(self, _positions: Sequence[int], _bindings: bytes) -> list[Value] | None:
        return None


class RowNames:
    """The names of some columns of many rows, row by row."""

    def __init__(self, columns: Sequence[bytes], suffixes: Sequence[bytes]) -> None:
        """`columns` are the OIDs, and `suffixes` the indexes, as they are encoded."""
        self._columns = tuple(columns)
        self._suffixes = suffixes
        self.unit = len(columns)

    def __len__(self) -> int:
        return self.unit * len(self._suffixes)

    def encode(self, positions: Sequence[int]) -> bytes:
        suffixes = self._suffixes_of(positions)
        alike = self._alike(suffixes)
        if alike is None:
            return encode_names(self.names(positions))
        return b"".join([suffix.join(alike.request) for suffix in suffixes])

    def names(self, positions: Sequence[int]) -> list[bytes]:
        rows = (divmod(position, self.unit) for position in positions)
        return [self._columns[column] + self._suffixes[row] for row, column in rows]

    def read(self, positions: Sequence[int], bindings: bytes) -> list[Value] | None:
        suffixes = self._suffixes_of(positions)
        alike = self._alike(suffixes)
        if alike is None or len(positions) > MOST_BINDINGS or len(bindings) > LONGEST_PAGE:
            return None
        names, found = alike.split(bindings)
        # All names are equally long, so that they are equal one by one if they are so joined.
        return found if names == b"".join([suffix.join(alike.names) for suffix in suffixes]) else None

    def _suffixes_of(self, positions: Sequence[int]) -> Sequence[bytes]:
        """Return the suffixes of rows that follow one another with all their columns; none for others."""
        if not isinstance(positions, range) or positions.start % self.unit or positions.stop % self.unit:
            return ()
        return self._suffixes[positions.start // self.unit : positions.stop // self.unit]

    def _alike(self, suffixes: Sequence[bytes]) -> _NamesAlike | None:
        sizes = {*map(len, suffixes)}
        return _names_alike(self._columns, sizes.pop()) if len(sizes) == 1 else None


# Splits bindings into their names, joined, and their values.
_Split = Callable[[bytes], tuple[bytes, list[Value]]]


class _NamesAlike(NamedTuple):
    """The octets before and after the suffix in the names of a row, when all names have the same size.

    `suffix.join(request)` is the row with all its columns, so that a row costs one call. `names` is the same
    with tag, length and name only.
    """

    request: list[bytes]
    names: list[bytes]
    split: _Split


# As many as jobs have sets of columns, for some sizes of indexes.
@lru_cache(maxsize=1024)
def _names_alike(columns: tuple[bytes, ...], suffix_size: int) -> _NamesAlike | None:
    sizes = {len(column) + suffix_size for column in columns}
    size = sizes.pop()
    if sizes or size > LONGEST_NAME:
        return None
    names = [bytes((values.OBJECT_IDENTIFIER, size)) + column for column in columns]
    starts = [bytes((values.SEQUENCE, 2 + size + len(_NULL))) + name for name in names]
    request = [starts[0], *(_NULL + start for start in starts[1:]), _NULL]
    return _NamesAlike(request, [*names, b""], _splitter(size))


@lru_cache(maxsize=LONGEST_NAME)
def _splitter(name_size: int) -> _Split:
    """Compile the pattern of bindings with names of one size and values of any short length.

    As in a page, each length of a value has its own branch with the length of the binding around it.
    """
    name = bytes((values.OBJECT_IDENTIFIER, name_size))
    around = len(name) + name_size + 2
    between = b".{%d}" % (around - 1)
    branches = [
        re.escape(bytes((around + size,))) + between + re.escape(bytes((size,))) + b".{%d}" % size
        for size in range(_SHORT + 1 - around)
    ]
    pattern = b"\\x30(?=." + re.escape(name) + b")(" + b"|".join(branches) + b")"
    find = re.compile(pattern, re.DOTALL).findall
    name_of: Callable[[bytes], bytes] = itemgetter(slice(1, 1 + len(name) + name_size))
    value_of: Callable[[bytes], bytes] = itemgetter(slice(1 + len(name) + name_size, None))

    def split(bindings: bytes) -> tuple[bytes, list[Value]]:
        rows: list[bytes] = find(bindings)
        if sum(map(len, rows)) + len(rows) != len(bindings):
            return b"", []
        return b"".join(map(name_of, rows)), list(map(decoded_values.__getitem__, map(value_of, rows)))

    return split
