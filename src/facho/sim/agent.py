"""Answers the PDUs of requests by the tables of an OLT, at a given time.

It follows RFC 3416 for GET, GETNEXT and GETBULK (RFC 1157 for SNMPv1), limits answers to the size of a
datagram, and applies the row faults of the scenario.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import Final, NamedTuple

from facho.sim.encoded_tables import EncodedTables
from facho.sim.pdu import (
    GEN_ERR,
    GET,
    GET_BULK,
    GET_NEXT,
    NO_SUCH_NAME,
    NOT_WRITABLE,
    SET,
    TOO_BIG,
    Pdu,
    encode_varbind,
    value_tag,
)
from facho.sim.row_faults import NO_FAULTS, RowFaults
from facho.sim.security import V1
from facho.sim.tables import Column
from facho.snmp.errors import BerError
from facho.snmp.values import COUNTER64

_NO_SUCH_OBJECT: Final = b"\x80\x00"
_NO_SUCH_INSTANCE: Final = b"\x81\x00"
_END_OF_MIB_VIEW: Final = b"\x82\x00"


class Answer(NamedTuple):
    varbinds: bytes
    served: int = 0
    # The values that were read from the ONUs themselves.
    optics: int = 0
    status: int = 0
    error_index: int = 0


class _Refused(Exception):
    """Ends the request in an error status; `index` is the binding at fault, from 1."""

    def __init__(self, status: int, index: int) -> None:
        self.status = status
        self.index = index


class _Silence(Exception):
    """Ends the request without an answer: the agent hangs on this row."""


class Row(NamedTuple):
    """A row found by a walk; a column one past the last is the end of the MIB."""

    column: int
    row: int


class Agent:
    def __init__(self, tables: EncodedTables) -> None:
        self.tables = tables
        self.faults: RowFaults = NO_FAULTS
        self.hang_on_zero_repetitions = False

    def answer(self, version: int, pdu: Pdu, room: int, now: float) -> Answer | None:
        """Return the answer, or None for silence. `room` is for how many octets of bindings."""
        try:
            return self._answer(version, pdu, room, now)
        except _Refused as refused:
            return self._error(version, pdu, refused.status, refused.index)
        except _Silence:
            return None

    def _answer(self, version: int, pdu: Pdu, room: int, now: float) -> Answer | None:
        if pdu.tag == GET_BULK and version != V1:
            if pdu.second <= 0 and self.hang_on_zero_repetitions:
                return None
            if pdu.first <= 0 < pdu.second and len(pdu.oids) == 1 and self.faults is NO_FAULTS:
                return self._bulk_of_one(pdu, room, now)
            if pdu.first <= 0 < pdu.second and self.faults is NO_FAULTS:
                answer = self._bulk_side_by_side(pdu, room, now)
                if answer is not None:
                    return answer
            return self._bulk(pdu, room, now)
        if pdu.tag == GET:
            return self._join([self._get(version, pdu, at, now) for at in range(len(pdu.oids))], room)
        if pdu.tag == GET_NEXT:
            return self._join([self._next(version, pdu, at, now) for at in range(len(pdu.oids))], room)
        if pdu.tag == SET:
            raise _Refused(NO_SUCH_NAME if version == V1 else NOT_WRITABLE, 1)
        raise BerError(f"a PDU of type 0x{pdu.tag:02x} is not a request")

    @staticmethod
    def _error(version: int, pdu: Pdu, status: int, index: int) -> Answer:
        if status == TOO_BIG and version != V1:
            return Answer(b"", status=TOO_BIG)
        return Answer(pdu.varbinds, status=status, error_index=index)

    def too_big(self, version: int, pdu: Pdu) -> Answer:
        return self._error(version, pdu, TOO_BIG, 0)

    @staticmethod
    def _join(found: list[tuple[bytes, bool]], room: int) -> Answer:
        varbinds = b"".join([varbind for varbind, _ in found])
        if len(varbinds) > room:
            raise _Refused(TOO_BIG, 0)
        return Answer(varbinds, len(found), sum(optics for _, optics in found))

    def _get(self, version: int, pdu: Pdu, at: int, now: float) -> tuple[bytes, bool]:
        oid = pdu.oids[at]
        number, after, exact = self.tables.layout.place(oid)
        if exact and not self._is_hidden(number, after - 1):
            varbind, optics = self._read(number, after - 1, at, now)
            if version != V1 or value_tag(varbind) != COUNTER64:
                return varbind, optics
        if version == V1:
            raise _Refused(NO_SUCH_NAME, at + 1)
        known = self.tables.layout.has_object(oid) and not (exact and self._is_lacking(number))
        return encode_varbind(oid, _NO_SUCH_INSTANCE if known else _NO_SUCH_OBJECT), False

    def _next(self, version: int, pdu: Pdu, at: int, now: float) -> tuple[bytes, bool]:
        oid = pdu.oids[at]
        place = self.tables.layout.place(oid)
        row = self._next_row(place.column, place.row)
        while row.column < len(self.tables.layout.columns):
            found = self._read(row.column, row.row, at, now)
            if version != V1 or value_tag(found[0]) != COUNTER64:
                return found
            row = self._next_row(row.column, row.row + 1)
        if version == V1:
            raise _Refused(NO_SUCH_NAME, at + 1)
        return encode_varbind(oid, _END_OF_MIB_VIEW), False

    def _bulk_of_one(self, pdu: Pdu, room: int, now: float) -> Answer:
        """Answer the usual request of a walk: rows that are one slice of a column's block."""
        number, row, _ = self.tables.layout.place(pdu.oids[0])
        wanted = pdu.second
        if number < len(self.tables.layout.columns):
            column = self.tables.column(number, now)
            if row + wanted <= column.rows:
                start, end = column.offsets[row], column.offsets[row + wanted]
                if end - start <= room:
                    return Answer(column.block[start:end], wanted, wanted if column.optics else 0)
        return self._bulk_across(pdu, number, row, room, now)

    def _bulk_across(self, pdu: Pdu, number: int, row: int, room: int, now: float) -> Answer:
        """Answer where the rows go past the end of a column, of the MIB or of the datagram."""
        parts: list[bytes] = []
        served = optics = 0
        while served < pdu.second:
            if number >= len(self.tables.layout.columns):
                ending = encode_varbind(self._last_name() if served else pdu.oids[0], _END_OF_MIB_VIEW)
                if len(ending) <= room:
                    parts.append(ending)
                    served += 1
                break
            column = self.tables.column(number, now)
            end = min(row + pdu.second - served, column.rows)
            taken = _end_of_fitting(column, row, end, room)
            parts.append(column.block[column.offsets[row] : column.offsets[taken]])
            room -= len(parts[-1])
            served += taken - row
            optics += taken - row if column.optics else 0
            if taken < end:
                break
            number, row = number + 1, 0
        if not served and pdu.second > 0:
            raise _Refused(TOO_BIG, 0)
        return Answer(b"".join(parts), served, optics)

    def _bulk_side_by_side(self, pdu: Pdu, room: int, now: float) -> Answer | None:
        """Answer for several columns; None when one ends within the answer or it is too long."""
        pieces: list[list[bytes]] = []
        optics = 0
        for oid in pdu.oids:
            number, row, _ = self.tables.layout.place(oid)
            if number >= len(self.tables.layout.columns):
                return None
            column = self.tables.column(number, now)
            if row + pdu.second > column.rows:
                return None
            pieces.append(column.varbinds(row, row + pdu.second))
            optics += pdu.second if column.optics else 0
        varbinds = b"".join(chain.from_iterable(zip(*pieces, strict=True)))
        if len(varbinds) > room:
            return None
        return Answer(varbinds, pdu.second * len(pieces), optics)

    def _last_name(self) -> bytes:
        column = self.tables.layout.columns[-1]
        return column.prefix + column.index.suffixes[-1]

    def _bulk(self, pdu: Pdu, room: int, now: float) -> Answer | None:
        singles = min(max(pdu.first, 0), len(pdu.oids))
        found = [self._next(V1 + 1, pdu, at, now) for at in range(singles)]
        if sum(len(varbind) for varbind, _ in found) > room:
            raise _Refused(TOO_BIG, 0)
        walkers = [_Walker(self, pdu.oids[at], at) for at in range(singles, len(pdu.oids))]
        left = room - sum(len(varbind) for varbind, _ in found)
        for _ in range(max(pdu.second, 0) if walkers else 0):
            repetition = [walker.step(now) for walker in walkers]
            size = sum(len(varbind) for varbind, _ in repetition)
            if size > left:
                found.extend(_first_that_fit(repetition, left) if len(found) == singles else [])
                break
            found.extend(repetition)
            left -= size
            if all(walker.ended for walker in walkers):
                break
        if not found and pdu.oids and pdu.second > 0:
            raise _Refused(TOO_BIG, 0)
        return self._join(found, room)

    def _is_hidden(self, number: int, row: int) -> bool:
        return self.faults is not NO_FAULTS and self.faults.hides(self.tables.layout.columns[number], row)

    def _is_lacking(self, number: int) -> bool:
        return self.faults is not NO_FAULTS and self.faults.lacks(self.tables.layout.columns[number])

    def _read(self, number: int, row: int, at: int, now: float) -> tuple[bytes, bool]:
        if self.faults is not NO_FAULTS:
            placed = self.tables.layout.columns[number]
            if self.faults.hangs(placed, row):
                raise _Silence
            if self.faults.fails(placed, row):
                raise _Refused(GEN_ERR, at + 1)
        column = self.tables.column(number, now)
        return column.varbind(row), column.optics

    def _next_row(self, number: int, row: int) -> Row:
        """Return the row that a walk is given in place of `row`."""
        columns = self.tables.layout.columns
        while number < len(columns):
            placed = columns[number]
            if self.faults is not NO_FAULTS:
                row = self.faults.next_row(placed, row)
            if row < len(placed.index):
                return Row(number, row)
            number, row = number + 1, 0
        return Row(number, 0)


class _Walker:
    """The walk of one repeating variable of a GETBULK."""

    def __init__(self, agent: Agent, oid: bytes, at: int) -> None:
        self._agent = agent
        self._at = at
        self._oid = oid
        self._place = agent.tables.layout.place(oid)[:2]
        self.ended = False

    def step(self, now: float) -> tuple[bytes, bool]:
        agent = self._agent
        number, row = agent._next_row(*self._place)
        if number >= len(agent.tables.layout.columns):
            self.ended = True
            return encode_varbind(self._oid, _END_OF_MIB_VIEW), False
        placed = agent.tables.layout.columns[number]
        found = agent._read(number, row, self._at, now)
        self._oid = placed.prefix + placed.index.suffixes[row]
        self._place = (number, row + 1)
        return found


def _end_of_fitting(column: Column, row: int, end: int, room: int) -> int:
    """Return the end of the rows from `row` that fit into `room` octets."""
    offsets = column.offsets
    limit = offsets[row] + room
    if offsets[end] <= limit:
        return end
    return bisect_right(offsets, limit, row, end + 1) - 1


def _first_that_fit(repetition: list[tuple[bytes, bool]], room: int) -> list[tuple[bytes, bool]]:
    fitting: list[tuple[bytes, bool]] = []
    for varbind, optics in repetition:
        room -= len(varbind)
        if room < 0:
            break
        fitting.append((varbind, optics))
    return fitting
