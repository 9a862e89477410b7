"""Reading one answer of a walk: the rows of one column, keyed by the raw index suffix.

This is the inner loop of everything. Nearly all answers look alike (short lengths, every row in the column,
every index of the same length), and for those one compiled pattern splits the whole answer at once. What the
pattern does not take to the last octet goes through the strict decoder instead: the two agree on every input
that both take, and a test holds them to it.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from facho.snmp import ber
from facho.snmp.message import iterate_bindings
from facho.snmp.values import END_OF_MIB_VIEW, Value, decode_value


class End(enum.Enum):
    """How an answer showed that the column has no more rows."""

    LEFT_COLUMN = "the agent went on to another column"
    END_OF_MIB = "the agent said that its MIB ends here"
    WENT_BACK = "the agent went back to before the column"


@dataclass(frozen=True, slots=True)
class Page:
    """The rows that one answer brought, in the agent's order; `repeated` when a row came twice in it."""

    rows: dict[bytes, Value]
    last: bytes
    end: End | None
    repeated: bool


# A value as tag, short length and that many octets. The length cannot be computed in a pattern, so each has
# its branch.
_VALUE: Final = (
    b"([\\x00-\\xff](?:\\x00|"
    + b"|".join(
        re.escape(bytes((size,))) + b"." * min(size, 2) + (b"{%d}" % (size - 1) if size > 2 else b"")
        for size in range(1, 0x80)
    )
    + b"))"
)


@lru_cache(maxsize=1024)
def _pattern(column: bytes, suffix_size: int) -> re.Pattern[bytes]:
    """Matches a row of the column, or failing that any one octet, so that nothing is skipped unseen."""
    name = bytes((len(column) + suffix_size,)) + column
    suffix = b"(" + b"." * (suffix_size - 1) + b"[\\x00-\\x7f])"
    return re.compile(b"\\x30(.)\\x06" + re.escape(name) + suffix + _VALUE + b"|.", re.DOTALL)


class _DecodedValues(dict[bytes, Value]):
    """Values by their encoding. Columns repeat themselves (states, powers): most are decoded once."""

    _LIMIT: Final = 50_000

    def __missing__(self, encoded: bytes) -> Value:
        if len(self) >= self._LIMIT:
            self.clear()
        value = self[encoded] = decode_value(encoded[0], encoded[2:])
        return value


_decoded: Final = _DecodedValues()


class ColumnReader:
    """Reads the pages of one column."""

    def __init__(self, column: bytes) -> None:
        self.column = column
        self._suffix_size = 0

    def read(self, bindings: bytes) -> Page:
        """Raises BerError when the bindings are not well-formed."""
        return self._read_uniform(bindings) or self._read_any(bindings)

    def _read_uniform(self, bindings: bytes) -> Page | None:
        if not self._suffix_size and not self._learn_suffix_size(bindings):
            return None
        overhead = len(self.column) + self._suffix_size + 2
        rows: dict[bytes, Value] = {}
        found = _pattern(self.column, self._suffix_size).findall(bindings)
        suffix = b""
        for size, suffix, value in found:
            # An octet outside of any row has no groups.
            if not size or size[0] != overhead + len(value) or value[0] == END_OF_MIB_VIEW:
                self._suffix_size = 0
                return None
            rows[suffix] = value[2:] if value[0] == ber.OCTET_STRING else _decoded[value]
        return Page(rows, suffix, None, len(rows) != len(found)) if rows else None

    def _learn_suffix_size(self, bindings: bytes) -> bool:
        """The first row's index length is the next rows' too, more often than not."""
        head = bindings[:4]
        if len(head) == 4 and head[0] == ber.SEQUENCE and head[2] == ber.OBJECT_IDENTIFIER and head[3] < 0x80:
            self._suffix_size = max(0, head[3] - len(self.column))
        return self._suffix_size > 0

    def _read_any(self, bindings: bytes) -> Page:
        rows: dict[bytes, Value] = {}
        count, suffix, end = 0, b"", None
        for name, tag, content in iterate_bindings(bindings):
            # What follows the end is read only to see that it is well-formed.
            if end is None:
                end = self._end_at(name, tag)
                if end is None:
                    suffix = name[len(self.column) :]
                    rows[suffix] = decode_value(tag, content)
                    count += 1
        return Page(rows, suffix, end, len(rows) != count)

    def _end_at(self, name: bytes, tag: int) -> End | None:
        if tag == END_OF_MIB_VIEW:
            return End.END_OF_MIB
        if name.startswith(self.column) and len(name) > len(self.column):
            return None
        before = ber.decode_arcs(name) <= ber.decode_arcs(self.column)
        return End.WENT_BACK if before else End.LEFT_COLUMN
