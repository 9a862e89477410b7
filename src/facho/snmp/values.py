"""The values of agents in Python.

INTEGER is int, OCTET STRING is bytes, NULL is None, IpAddress is ipaddress.IPv4Address. The rest keep their
SNMP type in their Python type, and those that are numbers still count as numbers.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import total_ordering
from ipaddress import IPv4Address
from typing import Final

from facho.core.oid_limits import LARGEST_ARC, MOST_ARCS
from facho.snmp import ber
from facho.snmp.errors import BadOid, BerError

IP_ADDRESS: Final = 0x40
COUNTER32: Final = 0x41
GAUGE32: Final = 0x42
TIME_TICKS: Final = 0x43
OPAQUE: Final = 0x44
COUNTER64: Final = 0x46
UINTEGER32: Final = 0x47
NO_SUCH_OBJECT: Final = 0x80
NO_SUCH_INSTANCE: Final = 0x81
END_OF_MIB_VIEW: Final = 0x82

# Opaque wraps a value of its own: 0x9f, then a tag, a length and an IEEE 754 number.
_OPAQUE_FLOAT: Final = b"\x9f\x78\x04"
_OPAQUE_DOUBLE: Final = b"\x9f\x79\x08"

# Digits of a number in an OID, leading zeros included.
_MOST_DIGITS: Final = 20


@total_ordering
@dataclass(frozen=True, slots=True)
class Oid:
    """An object identifier, held encoded: comparing and joining needs no decoding."""

    content: bytes

    @classmethod
    def parse(cls, text: str) -> Oid:
        """Parse `1.3.6.1.2.1`, with or without a leading dot."""
        parts = text.removeprefix(".").split(".")
        if not all(part.isascii() and part.isdigit() for part in parts):
            raise BadOid(f"'{text}' is not an OID: write it as numbers with dots, such as 1.3.6.1.2.1.1.1.0")
        if max(map(len, parts)) > _MOST_DIGITS:
            raise BadOid(f"'{text[:80]}' is not an OID: a number is over {LARGEST_ARC}")
        return cls.of(map(int, parts))

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Oid:
        arcs = tuple(numbers)
        text = ".".join(map(str, arcs))
        if not 2 <= len(arcs) <= MOST_ARCS:
            raise BadOid(f"'{text}' is not an OID: it needs 2 to {MOST_ARCS} numbers")
        if arcs[0] > 2 or (arcs[0] < 2 and arcs[1] > 39):
            raise BadOid(f"'{text}' is not an OID: it starts with 0.0 to 0.39, 1.0 to 1.39 or 2.x")
        # The first two are encoded as one.
        joined = (arcs[0] * 40 + arcs[1], *arcs[2:])
        if min(arcs) < 0 or max(joined) > LARGEST_ARC:
            raise BadOid(f"'{text}' is not an OID: a number is negative or over {LARGEST_ARC}")
        return cls(ber.encode_arcs(joined))

    @property
    def arcs(self) -> tuple[int, ...]:
        first, *rest = ber.decode_arcs(self.content)
        root = min(first // 40, 2)
        return (root, first - 40 * root, *rest)

    def __str__(self) -> str:
        return ".".join(map(str, self.arcs))

    def __lt__(self, other: Oid) -> bool:
        return ber.decode_arcs(self.content) < ber.decode_arcs(other.content)

    def child(self, *arcs: int) -> Oid:
        return Oid(self.content + ber.encode_arcs(arcs))


class Counter32(int):
    pass


class Gauge32(int):
    pass


class TimeTicks(int):
    """Hundredths of a second; wraps after 497 days."""


class Counter64(int):
    pass


class OpaqueFloat(float):
    pass


class OpaqueDouble(float):
    pass


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of an unknown type, an Opaque that is no number, or a malformed value: kept encoded."""

    tag: int
    content: bytes


class Missing(enum.Enum):
    """The three markers of SNMPv2 for a missing value."""

    NO_SUCH_OBJECT = NO_SUCH_OBJECT
    NO_SUCH_INSTANCE = NO_SUCH_INSTANCE
    END_OF_MIB_VIEW = END_OF_MIB_VIEW


Value = int | float | bytes | None | Oid | IPv4Address | Unknown | Missing


def _octets(content: bytes) -> Value:
    return content


def _null(content: bytes) -> Value:
    if content:
        raise BerError("a NULL has octets")
    return None


def _oid(content: bytes) -> Value:
    if not content:
        raise BerError("an OID is empty")
    ber.check_arcs(content)
    return Oid(content)


def _ip_address(content: bytes) -> Value:
    if len(content) != 4:
        raise BerError(f"an IpAddress has {len(content)} octets")
    return IPv4Address(content)


def _opaque(content: bytes) -> Value:
    if len(content) == 7 and content.startswith(_OPAQUE_FLOAT):
        return OpaqueFloat(struct.unpack(">f", content[3:])[0])
    if len(content) == 11 and content.startswith(_OPAQUE_DOUBLE):
        return OpaqueDouble(struct.unpack(">d", content[3:])[0])
    return Unknown(OPAQUE, content)


def _marker(marker: Missing) -> Callable[[bytes], Value]:
    def decode(content: bytes) -> Value:
        if content:
            raise BerError(f"a {marker.name} marker has octets")
        return marker

    return decode


_DECODERS: Final[dict[int, Callable[[bytes], Value]]] = {
    ber.INTEGER: ber.decode_signed,
    ber.OCTET_STRING: _octets,
    ber.NULL: _null,
    ber.OBJECT_IDENTIFIER: _oid,
    IP_ADDRESS: _ip_address,
    COUNTER32: lambda content: Counter32(ber.decode_unsigned(content, 32)),
    GAUGE32: lambda content: Gauge32(ber.decode_unsigned(content, 32)),
    UINTEGER32: lambda content: Gauge32(ber.decode_unsigned(content, 32)),
    TIME_TICKS: lambda content: TimeTicks(ber.decode_unsigned(content, 32)),
    COUNTER64: lambda content: Counter64(ber.decode_unsigned(content, 64)),
    OPAQUE: _opaque,
    **{marker.value: _marker(marker) for marker in Missing},
}


def decode_value(tag: int, content: bytes) -> Value:
    """Decode a value. Never fails: a malformed value must cost only its own row, and is kept encoded."""
    decoder = _DECODERS.get(tag)
    try:
        return Unknown(tag, content) if decoder is None else decoder(content)
    except BerError:
        return Unknown(tag, content)


def encode_value(value: Value) -> bytes:
    """Return the TLV of a value: the inverse of decode_value."""
    match value:
        case None:
            return b"\x05\x00"
        case bytes():
            return ber.encode_tlv(ber.OCTET_STRING, value)
        case Missing():
            return bytes((value.value, 0))
        case Oid():
            return ber.encode_tlv(ber.OBJECT_IDENTIFIER, value.content)
        case IPv4Address():
            return ber.encode_tlv(IP_ADDRESS, value.packed)
        case Unknown():
            return ber.encode_tlv(value.tag, value.content)
        case float():
            return ber.encode_tlv(OPAQUE, _encode_float(value))
        case _:
            return ber.encode_integer(value, _INTEGER_TAGS.get(type(value), ber.INTEGER))


def content_of(value: Value) -> tuple[int, bytes]:
    """Return the tag and the content octets of a value."""
    encoded = encode_value(value)
    tag, start, end = ber.read_tlv(encoded, 0, len(encoded))
    return tag, encoded[start:end]


def _encode_float(value: float) -> bytes:
    if isinstance(value, OpaqueDouble):
        return _OPAQUE_DOUBLE + struct.pack(">d", value)
    return _OPAQUE_FLOAT + struct.pack(">f", value)


_INTEGER_TAGS: Final[dict[type[int], int]] = {
    Counter32: COUNTER32,
    Gauge32: GAUGE32,
    TimeTicks: TIME_TICKS,
    Counter64: COUNTER64,
}

_TYPE_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (Counter32, "Counter32"),
    (Gauge32, "Gauge32"),
    (TimeTicks, "TimeTicks"),
    (Counter64, "Counter64"),
    (int, "INTEGER"),
    (bytes, "OCTET STRING"),
    (OpaqueDouble, "Opaque double"),
    (float, "Opaque float"),
    (Oid, "OBJECT IDENTIFIER"),
    (IPv4Address, "IpAddress"),
    (Unknown, "Opaque"),
)


def type_name(value: Value) -> str:
    """Return the name of the type of a value, as in MIBs."""
    if isinstance(value, Missing):
        return {"NO_SUCH_OBJECT": "noSuchObject", "NO_SUCH_INSTANCE": "noSuchInstance"}.get(
            value.name, "endOfMibView"
        )
    return next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "NULL")
