"""What a page of a walk holds, read the slow and obvious way: the fast reader is held to it."""

from __future__ import annotations

from collections.abc import Callable

from facho.snmp import values
from facho.snmp.errors import BerError
from facho.snmp.message import iterate_bindings
from facho.snmp.page import End, Page
from facho.snmp.values import END_OF_MIB_VIEW, Value, decode_value

Outcome = str | tuple[list[tuple[bytes, str, str]], bytes, End | None]


def read_strictly(column: bytes, bindings: bytes) -> Page:
    rows: list[tuple[bytes, Value]] = []
    end: End | None = None
    for name, tag, content in list(iterate_bindings(bindings)):
        ended = _end_at(column, name, tag)
        if end is None and ended is not None:
            _check_end(ended, name, content)
        if ended is None and end is not None:
            raise BerError("rows after the end")
        end = end or ended
        if end is None:
            rows.append((name[len(column) :], decode_value(tag, content)))
    return Page([suffix for suffix, _ in rows], [value for _, value in rows], end)


def _end_at(column: bytes, name: bytes, tag: int) -> End | None:
    if tag == END_OF_MIB_VIEW:
        return End.END_OF_MIB
    if name != column and name[: len(column)] == column:
        return None
    return End.LEFT_COLUMN if values.decode_arcs(name) > values.decode_arcs(column) else End.WENT_BACK


def _check_end(end: End, name: bytes, content: bytes) -> None:
    if end is End.END_OF_MIB:
        if content:
            raise BerError("an end with a value")
    elif values.encode_arcs(values.decode_arcs(name)) != name:
        raise BerError("a padded name")


def outcome(read: Callable[[bytes], Page], bindings: bytes) -> Outcome:
    """What a reader made of an answer, such that NaN equals NaN and 1 does not equal Counter32(1)."""
    try:
        page = read(bindings)
    except BerError:
        return "refused"
    rows = zip(page.indexes, page.values, strict=True)
    return [(suffix, type(value).__name__, repr(value)) for suffix, value in rows], page.last, page.end
