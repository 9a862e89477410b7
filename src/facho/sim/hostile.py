"""Answers of hostile agents, which are meant to stall, fill or deceive the client.

A scenario lists attacks by name; the agent takes them in turns, one for each answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, NamedTuple

from facho.core.oid_limits import LARGEST_ARC
from facho.sim.agent import Answer
from facho.sim.pdu import GET, GET_BULK, GET_NEXT, Pdu, encode_response, encode_varbind
from facho.sim.scenario import Attack
from facho.sim.security import Opened, Security
from facho.sim.tables import Layout
from facho.snmp import usm, v3, values
from facho.snmp.message import ErrorStatus, PduType, encode_binding, encode_pdu, iterate_bindings
from facho.snmp.values import Counter32, encode_value

_HUGE: Final = 60_000
# An arc of so many octets has more than the 4,300 digits that Python converts to text.
_LONG: Final = 2_100
# Two of five rows of an ONU table have an index that is no place of an ONU.
_ODD: Final = (3, 4)
_ODD_EVERY: Final = 5
_LONGEST_SHAPE: Final = 90
_FORGED_ENGINE: Final = bytes.fromhex("80001f8804") + b"somebody else"
_FORGED_BOOTS: Final = 0x7FFF_FFFF
_ONE: Final = encode_value(1)
_NO_KEYS: Final = usm.Keys(b"", b"")
_FORGED: Final = (
    v3.Stat.NOT_IN_TIME_WINDOW,
    v3.Stat.UNKNOWN_ENGINE,
    v3.Stat.UNKNOWN_USER,
    v3.Stat.WRONG_DIGEST,
)


class Sent(NamedTuple):
    """A datagram of an attack, and how many values it holds."""

    datagram: bytes
    varbinds: int


class _Rows(NamedTuple):
    """The position of a walk: the column, its first row, and the index after which it asks."""

    prefix: bytes
    first: tuple[int, ...]
    after: tuple[int, ...]


class Attacker:
    """Replaces the honest answers of an OLT by attacks."""

    def __init__(self, attacks: tuple[str, ...], layout: Layout[Any], security: Security, seed: int) -> None:
        self._attacks = attacks
        self._layout = layout
        self._security = security
        self._random = Random(seed)
        self._turn = 0
        # By column, the index after which an invented row was given last.
        self._invented_after: dict[bytes, tuple[int, ...]] = {}

    def answer(self, opened: Opened, pdu: Pdu, honest: Answer) -> list[Sent]:
        """Return the datagrams to send in place of the honest answer, or with it."""
        status = honest.status
        attack = self._attacks[self._turn % len(self._attacks)]
        self._turn += 1
        if attack == Attack.BAD_ROWS and self._fails_at(pdu):
            failed = encode_response(pdu.request_id, ErrorStatus.genErr, 1, b"")
            return [Sent(self._security.seal(opened, failed), 0)]
        changed = _CHANGES[attack](self, pdu, honest.varbinds) if attack in _CHANGES and not status else None
        varbinds = honest.varbinds if changed is None else changed
        answer = encode_response(pdu.request_id, status, honest.error_index, varbinds)
        sealed = self._security.seal(opened, answer)
        if attack == Attack.WRONG_COMMUNITY and opened.asked is None:
            sealed = _in_another_community(opened, answer)
        forged = self._forge_reports(opened) if attack == Attack.FORGED_REPORTS else []
        return [*forged, Sent(sealed, len(pdu.oids))]

    def unsolicited(self) -> bytes:
        """Return an unsolicited datagram: noise, an answer to no request, a report about no message."""
        kind = self._random.randrange(3)
        number = self._random.getrandbits(31)
        if kind == 0:
            return self._random.randbytes(self._random.randrange(1, 200))
        if kind == 1:
            value = encode_varbind(b"\x2b\x06\x01\x02\x01\x01\x03\x00", encode_value(Counter32(number)))
            head = values.encode_integer(1) + values.encode_tlv(values.OCTET_STRING, b"public")
            return values.encode_tlv(values.SEQUENCE, head + encode_response(number, 0, 0, value))
        return _forged_report(number, b"nobody", v3.Stat.UNKNOWN_USER)

    def _forge_reports(self, opened: Opened) -> list[Sent]:
        """Return unsigned reports with the right message id, as of an eavesdropper without keys."""
        asked = opened.asked
        if asked is None:
            return []
        return [Sent(_forged_report(asked.message_id, asked.user, stat), 1) for stat in _FORGED]

    def _change_endless(self, pdu: Pdu, _varbinds: bytes) -> bytes | None:
        rows = self._rows_of(pdu)
        if rows is None:
            return None
        names = _following(rows.after or rows.first)
        count = max(1, min(pdu.second, 1000)) if pdu.tag == GET_BULK else 1
        return b"".join(
            [encode_varbind(rows.prefix + values.encode_arcs(next(names)), _ONE) for _ in range(count)]
        )

    def _change_shape(self, pdu: Pdu, _varbinds: bytes) -> bytes | None:
        """Return one row, whose index has one number more than that of the row before."""
        rows = self._rows_of(pdu)
        if rows is None:
            return None
        after = rows.after or rows.first
        longer = (*after, 1)
        if len(longer) > _LONGEST_SHAPE:
            longer = (*after[: len(rows.first) - 1], min(after[len(rows.first) - 1] + 1, LARGEST_ARC))
        value = encode_value(len(longer)) if len(longer) % 2 else encode_value(bytes(len(longer) % 50))
        return encode_varbind(rows.prefix + values.encode_arcs(longer), value)

    def _change_indexes(self, _pdu: Pdu, varbinds: bytes) -> bytes | None:
        """Return the honest rows, with one number too many in the index of two of five ONU rows."""
        changed: list[bytes] = []
        for name, tag, content in iterate_bindings(varbinds):
            place = self._layout.place(name)
            odd = (
                place.exact
                and self._layout.columns[place.column].index.of_onus
                and (place.row - 1) % _ODD_EVERY in _ODD
            )
            changed.append(encode_varbind(name + b"\x01" * odd, values.encode_tlv(tag, content)))
        return b"".join(changed)

    def _fails_at(self, pdu: Pdu) -> bool:
        """Return whether a walk asks after a real row, or again where it was given an invented one."""
        rows = self._rows_of(pdu)
        if rows is None or not rows.after:
            return False
        return self._layout.place(pdu.oids[0]).exact or self._invented_after.get(rows.prefix) == rows.after

    def _change_after_bad_row(self, pdu: Pdu, varbinds: bytes) -> bytes | None:
        """Return the first row of the column, or a row far away, wherever a walk goes on."""
        rows = self._rows_of(pdu)
        if rows is None:
            return None
        if not rows.after:
            name, tag, content = next(iter(iterate_bindings(varbinds)))
            return encode_varbind(name, values.encode_tlv(tag, content))
        self._invented_after[rows.prefix] = rows.after
        return encode_varbind(rows.prefix + values.encode_arcs((LARGEST_ARC,)), _ONE)

    def _rows_of(self, pdu: Pdu) -> _Rows | None:
        """Return the position of a walk of an ONU table, or None for other requests."""
        if pdu.tag not in (GET_NEXT, GET_BULK) or not pdu.oids:
            return None
        oid = pdu.oids[0]
        for column in self._layout.columns:
            if column.index.of_onus and column.prefix and oid.startswith(column.prefix):
                after = values.decode_arcs(oid[len(column.prefix) :])
                return _Rows(column.prefix, column.index.arcs[0], after)
        return None


def _following(after: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield indexes in order, practically without end."""
    *head, last = after
    while True:
        if last >= LARGEST_ARC:
            head, last = [*head, LARGEST_ARC], -1
        last += 1
        yield (*head, last)


def _with_longer_oid(octets: bytes) -> Callable[[Attacker, Pdu, bytes], bytes | None]:
    """Return a change that answers a walk with one row with a longer name, and a GET with such OIDs as
    values, as many as fit.
    """

    def change(_attacker: Attacker, pdu: Pdu, _varbinds: bytes) -> bytes | None:
        if not pdu.oids:
            return None
        if pdu.tag != GET:
            return encode_varbind(pdu.oids[0] + octets, _ONE)
        value = values.encode_tlv(values.OBJECT_IDENTIFIER, b"\x2b\x06" + octets)
        fitting = pdu.oids[: max(1, _HUGE // len(value))]
        return b"".join([encode_varbind(name, value) for name in fitting])

    return change


def _change_values(_attacker: Attacker, pdu: Pdu, varbinds: bytes) -> bytes | None:
    """Return one value that is as large as a datagram can carry."""
    name = next((name for name, _, _ in iterate_bindings(varbinds)), None)
    wanted = pdu.oids[0] if pdu.tag == GET and pdu.oids else name
    return None if wanted is None else encode_varbind(wanted, encode_value(b"\xff" * _HUGE))


def _in_another_community(opened: Opened, pdu: bytes) -> bytes:
    head = values.encode_integer(opened.version) + values.encode_tlv(
        values.OCTET_STRING, b"another community"
    )
    return values.encode_tlv(values.SEQUENCE, head + pdu)


def _forged_report(message_id: int, user: bytes, stat: v3.Stat) -> bytes:
    counter = encode_binding(stat.oid, encode_value(Counter32(1)))
    outgoing = v3.Outgoing(message_id, _FORGED_ENGINE, _FORGED_BOOTS, _FORGED_BOOTS, user, reportable=False)
    pdu = encode_pdu(PduType.REPORT, 0, 0, 0, counter)
    return v3.seal(outgoing, None, _NO_KEYS, 0, v3.encode_scoped(_FORGED_ENGINE, b"", pdu))


_CHANGES: Final[dict[str, Callable[[Attacker, Pdu, bytes], bytes | None]]] = {
    Attack.ENDLESS_TABLE: Attacker._change_endless,
    Attack.HUGE_OIDS: _with_longer_oid(b"\xff" * (_HUGE - 1) + b"\x7f"),
    Attack.LONG_OIDS: _with_longer_oid(b"\xff" * (_LONG - 1) + b"\x7f"),
    Attack.LARGE_ARCS: _with_longer_oid(values.encode_arc(LARGEST_ARC + 1)),
    Attack.NEW_SHAPES: Attacker._change_shape,
    Attack.ODD_INDEXES: Attacker._change_indexes,
    Attack.BAD_ROWS: Attacker._change_after_bad_row,
    Attack.HUGE_VALUES: _change_values,
}
