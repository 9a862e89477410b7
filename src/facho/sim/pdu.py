"""Parses and encodes the PDU of a message, without its community or security."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from facho.snmp import values
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
    tag, at, stop = values.read_tlv(data, position, end)
    if stop != end:
        raise BerError("octets are left after the PDU")
    id_start, id_end = values.expect_tlv(data, at, end, values.INTEGER)
    first_start, first_end = values.expect_tlv(data, id_end, end, values.INTEGER)
    second_start, second_end = values.expect_tlv(data, first_end, end, values.INTEGER)
    list_start, list_end = values.expect_tlv(data, second_end, end, values.SEQUENCE)
    if list_end != end:
        raise BerError("octets are left after the variable bindings")
    return Pdu(
        tag,
        values.decode_signed(data[id_start:id_end]),
        values.decode_signed(data[first_start:first_end]),
        values.decode_signed(data[second_start:second_end]),
        _names(data, list_start, list_end),
        data[list_start:list_end],
    )


def _names(data: bytes, position: int, end: int) -> list[bytes]:
    names: list[bytes] = []
    while position < end:
        start, position = values.expect_tlv(data, position, end, values.SEQUENCE)
        name_start, name_end = values.expect_tlv(data, start, position, values.OBJECT_IDENTIFIER)
        if values.read_tlv(data, name_end, position)[2] != position:
            raise BerError("octets are left after a variable binding")
        names.append(data[name_start:name_end])
    return names


def encode_response(request_id: int, status: int, index: int, varbinds: bytes) -> bytes:
    errors = _NO_ERRORS if not status else values.encode_integer(status) + values.encode_integer(index)
    identity = values.encode_integer(request_id)
    size = values.encode_length(len(varbinds))
    whole = values.encode_length(len(identity) + len(errors) + 1 + len(size) + len(varbinds))
    return b"".join((_RESPONSE, whole, identity, errors, _SEQUENCE, size, varbinds))


def encode_request(tag: int, request_id: int, first: int, second: int, oids: Sequence[bytes]) -> bytes:
    varbinds = b"".join([encode_varbind(oid, _NULL) for oid in oids])
    head = values.encode_integer(request_id) + values.encode_integer(first) + values.encode_integer(second)
    return values.encode_tlv(tag, head + values.encode_tlv(values.SEQUENCE, varbinds))


def encode_varbind(oid: bytes, value: bytes) -> bytes:
    return values.encode_tlv(values.SEQUENCE, values.encode_tlv(values.OBJECT_IDENTIFIER, oid) + value)


def value_tag(varbind: bytes) -> int:
    """Return the tag of the value in an encoded variable binding."""
    _, start, end = values.read_tlv(varbind, 0, len(varbind))
    return varbind[values.read_tlv(varbind, start, end)[2]]
