"""Parses and encodes the PDU of a message, without its community or security."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from facho.snmp import ber
from facho.snmp.errors import BerError

GET: Final = 0xA0
GET_NEXT: Final = 0xA1
RESPONSE: Final = 0xA2
SET: Final = 0xA3
GET_BULK: Final = 0xA5

TOO_BIG: Final = 1
NO_SUCH_NAME: Final = 2
GEN_ERR: Final = 5
NOT_WRITABLE: Final = 17

_NULL: Final = b"\x05\x00"
_SEQUENCE: Final = b"\x30"
_RESPONSE: Final = bytes((RESPONSE,))
_NO_ERRORS: Final = b"\x02\x01\x00\x02\x01\x00"


class Pdu(NamedTuple):
    """A request. `first` and `second` are a GETBULK's non-repeaters and max-repetitions, or zero."""

    tag: int
    request_id: int
    first: int
    second: int
    oids: Sequence[bytes]
    # As they came, because an error answer gives them back untouched.
    varbinds: bytes


def parse_pdu(data: bytes, position: int, end: int) -> Pdu:
    tag, at, stop = ber.read_tlv(data, position, end)
    if stop != end:
        raise BerError("octets are left after the PDU")
    id_start, id_end = ber.expect_tlv(data, at, end, ber.INTEGER)
    first_start, first_end = ber.expect_tlv(data, id_end, end, ber.INTEGER)
    second_start, second_end = ber.expect_tlv(data, first_end, end, ber.INTEGER)
    list_start, list_end = ber.expect_tlv(data, second_end, end, ber.SEQUENCE)
    if list_end != end:
        raise BerError("octets are left after the variable bindings")
    return Pdu(
        tag,
        ber.decode_signed(data[id_start:id_end]),
        ber.decode_signed(data[first_start:first_end]),
        ber.decode_signed(data[second_start:second_end]),
        _names(data, list_start, list_end),
        data[list_start:list_end],
    )


def _names(data: bytes, position: int, end: int) -> list[bytes]:
    names: list[bytes] = []
    while position < end:
        start, position = ber.expect_tlv(data, position, end, ber.SEQUENCE)
        name_start, name_end = ber.expect_tlv(data, start, position, ber.OBJECT_IDENTIFIER)
        if ber.read_tlv(data, name_end, position)[2] != position:
            raise BerError("octets are left after a variable binding")
        names.append(data[name_start:name_end])
    return names


def encode_response(request_id: int, status: int, index: int, varbinds: bytes) -> bytes:
    errors = _NO_ERRORS if not status else ber.encode_integer(status) + ber.encode_integer(index)
    identity = ber.encode_integer(request_id)
    size = ber.encode_length(len(varbinds))
    whole = ber.encode_length(len(identity) + len(errors) + 1 + len(size) + len(varbinds))
    return b"".join((_RESPONSE, whole, identity, errors, _SEQUENCE, size, varbinds))


def encode_request(tag: int, request_id: int, first: int, second: int, oids: Sequence[bytes]) -> bytes:
    varbinds = b"".join([encode_varbind(oid, _NULL) for oid in oids])
    head = ber.encode_integer(request_id) + ber.encode_integer(first) + ber.encode_integer(second)
    return ber.encode_tlv(tag, head + ber.encode_tlv(ber.SEQUENCE, varbinds))


def encode_varbind(oid: bytes, value: bytes) -> bytes:
    return ber.encode_tlv(ber.SEQUENCE, ber.encode_tlv(ber.OBJECT_IDENTIFIER, oid) + value)


def value_tag(varbind: bytes) -> int:
    """Return the tag of the value in an encoded variable binding."""
    _, start, end = ber.read_tlv(varbind, 0, len(varbind))
    return varbind[ber.read_tlv(varbind, start, end)[2]]
