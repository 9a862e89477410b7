"""Answers the usual requests of SNMPv2c from their octets, without decoding them.

A fleet that is measured against must cost little beside what is measured. What a client sends is nearly
always a GET for rows that exist, or a GETBULK for one column from a row that exists. Such a request is
recognised by comparing octets, and its names are looked up as they came, with their tags and lengths. What is
unusual returns None and is answered by the Agent, which gives the same answers to usual requests too.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from facho.sim.encoded_tables import EncodedTables
from facho.sim.pdu import GET, GET_BULK
from facho.snmp import values

_NO_ERRORS: Final = b"\x02\x01\x00\x02\x01\x00"
_NO_SINGLES: Final = b"\x02\x01\x00\x02"
_LENGTHS: Final = [values.encode_length(length) for length in range(1 << 12)]


class QuickAnswer(NamedTuple):
    tag: int
    request_id: int
    served: int
    datagram: bytes


class QuickAnswers:
    """Answers requests in one community; `room` is for how many octets of bindings."""

    def __init__(self, tables: EncodedTables, header: bytes, room: int) -> None:
        self._tables = tables
        self._header = header
        self._room = room

    def answer(self, data: bytes, now: float) -> QuickAnswer | None:
        """Return the answer, or None for a request that is not a usual one."""
        try:
            return self._answer(data, now)
        except IndexError:
            # It is shorter than any request.
            return None

    def _answer(self, data: bytes, now: float) -> QuickAnswer | None:
        header = self._header
        at = _content(data, 0, values.SEQUENCE)
        pdu = at + len(header)
        if not at or data[at:pdu] != header:
            return None
        tag = data[pdu]
        at = _content(data, pdu, tag)
        if not at or data[at] != values.INTEGER or data[at + 1] > 4:
            return None
        end = at + 2 + data[at + 1]
        identity = data[at:end]
        request_id = int.from_bytes(identity[2:], "big", signed=True)
        # Only a positive id in as few octets as it takes is sent back as it came.
        if request_id <= 0 or len(identity) != request_id.bit_length() // 8 + 3:
            return None
        if tag == GET and data[end : end + 6] == _NO_ERRORS:
            at = _content(data, end + 6, values.SEQUENCE)
            found = self._get(data, at, now) if at else None
        elif tag == GET_BULK and data[end : end + 4] == _NO_SINGLES:
            found = self._bulk(data, end + 4, now)
        else:
            return None
        if found is None or len(found[0]) > self._room:
            return None
        return QuickAnswer(tag, request_id, found[1], _encode(header, identity, found[0]))

    def _get(self, data: bytes, at: int, now: float) -> tuple[bytes, int] | None:
        """Return the bindings of rows that all exist, and how many they are."""
        size, length = len(data), data[at + 1] + 2
        if (size - at) % length:
            return None
        # Nearly always all names are of one length; where they are not, one of these is not found.
        asked = [data[start : start + length] for start in range(at, size, length)]
        places = self._places(asked)
        if places is None:
            return None
        columns = {number: self._tables.column(number, now)[:2] for number in {place[0] for place in places}}
        parts = []
        for number, row in places:
            if row < 0:
                return None
            block, offsets = columns[number]
            parts.append(block[offsets[row] : offsets[row + 1]])
        return b"".join(parts), len(parts)

    def _places(self, asked: list[bytes]) -> list[tuple[int, int]] | None:
        places = self._tables.layout.asked_places
        try:
            return [places[binding] for binding in asked]
        except KeyError:
            if not all(map(self._tables.layout.add_asked_place, asked)):
                return None
            return [places[binding] for binding in asked]

    def _bulk(self, data: bytes, at: int, now: float) -> tuple[bytes, int] | None:
        """Return rows of one column, where it has as many as are asked for."""
        start = at + 1 + data[at]
        rows = int.from_bytes(data[at + 1 : start], "big", signed=True)
        at = _content(data, start, values.SEQUENCE)
        layout = self._tables.layout
        binding = data[at:]
        if not at or rows <= 0 or not (binding in layout.asked_places or layout.add_asked_place(binding)):
            return None
        number, row = layout.asked_places[binding]
        column = self._tables.column(number, now)
        if row + 1 + rows > column.rows:
            return None
        return column.block[column.offsets[row + 1] : column.offsets[row + 1 + rows]], rows


def _content(data: bytes, at: int, tag: int) -> int:
    """Return where the content of an element begins that goes to the end of the data; 0 if it does not."""
    length = data[at + 1]
    if length < 0x80:
        at, tagged = at + 2, data[at]
    elif length == 0x81:
        at, tagged, length = at + 3, data[at], data[at + 2]
    elif length == 0x82:
        at, tagged, length = at + 4, data[at], data[at + 2] << 8 | data[at + 3]
    else:
        return 0
    return at if tagged == tag and at + length == len(data) else 0


def _encode(header: bytes, identity: bytes, bindings: bytes) -> bytes:
    size = _length(len(bindings))
    whole = len(identity) + len(_NO_ERRORS) + 1 + len(size) + len(bindings)
    pdu = _length(whole)
    message = _length(len(header) + 1 + len(pdu) + whole)
    return b"".join((b"\x30", message, header, b"\xa2", pdu, identity, _NO_ERRORS, b"\x30", size, bindings))


def _length(length: int) -> bytes:
    return _LENGTHS[length] if length < len(_LENGTHS) else values.encode_length(length)
