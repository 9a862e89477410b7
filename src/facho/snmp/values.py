"""Values of agents in Python, and their encoding in BER.

INTEGER is int, OCTET STRING is bytes, NULL is None, IpAddress is ipaddress.IPv4Address. The rest keep their
SNMP type in their Python type, and those that are numbers still count as numbers.
"""

from __future__ import annotations

import contextlib
import enum
import math
import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import total_ordering
from ipaddress import IPv4Address
from typing import Final

from facho.core.oid_limits import LARGEST_ARC, MOST_ARCS
from facho.snmp.errors import BadOid, BerError

# Decoding is strict about structure (every length must fit exactly where it stands) and lenient only where
# real agents are known to be wrong without being ambiguous: unsigned values sent with the sign bit set, and
# lengths written longer than needed. Whatever else is wrong raises BerError and no other exception.
_OCTETS_OF_ARC: Final = 5
# A sub-identifier of six octets and more, or one of five octets that is larger than the largest.
_is_too_large: Final = re.compile(rb"[\x80-\xff]{5}|[\x90-\xff][\x80-\xff]{3}").search
_NOT_LAST: Final = bytes(range(0x80, 0x100))
# Octets by their role in a sub-identifier: 0 for its last one, others for those before it; 2 for octets that
# the first of five may not have.
_HIGH: Final = bytes(octet >= 0x80 for octet in range(0x100))
_LARGE: Final = bytes((octet >= 0x80) + (octet >= 0x90) for octet in range(0x100))

INTEGER: Final = 0x02
OCTET_STRING: Final = 0x04
NULL: Final = 0x05
OBJECT_IDENTIFIER: Final = 0x06
SEQUENCE: Final = 0x30


def encode_length(length: int) -> bytes:
    if length < 0x80:
        return bytes((length,))
    size = (length.bit_length() + 7) // 8
    return bytes((0x80 | size,)) + length.to_bytes(size, "big")


def encode_tlv(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    return bytes((tag,)) + encode_length(length) + content


def encode_signed(value: int) -> bytes:
    """Return the content octets of an INTEGER: two's complement, as short as possible."""
    magnitude = value if value >= 0 else ~value
    return value.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def encode_integer(value: int, tag: int = INTEGER) -> bytes:
    if 0 <= value < 0x80:
        return bytes((tag, 1, value))
    return encode_tlv(tag, encode_signed(value))


def encode_arc(arc: int) -> bytes:
    """Return a sub-identifier in base 128, the high bit set on all octets but the last."""
    if arc < 0x80:
        return bytes((arc,))
    octets = [arc & 0x7F]
    arc >>= 7
    while arc:
        octets.append(0x80 | (arc & 0x7F))
        arc >>= 7
    octets.reverse()
    return bytes(octets)


def encode_arcs(arcs: tuple[int, ...]) -> bytes:
    return b"".join([encode_arc(arc) for arc in arcs])


def check_arcs(content: bytes) -> None:
    """Raise BerError for an invalid OID, in a time that an agent cannot make long."""
    size = len(content)
    if size and content[-1] & 0x80:
        raise BerError("an OID ends in the middle of a sub-identifier")
    if size > MOST_ARCS * _OCTETS_OF_ARC:
        raise BerError(f"an OID has {size} octets")
    if size >= _OCTETS_OF_ARC and _is_too_large(content):
        raise BerError(f"an OID has a sub-identifier over {LARGEST_ARC}")
    if size > MOST_ARCS and len(content.translate(None, _NOT_LAST)) > MOST_ARCS:
        raise BerError(f"an OID has more than {MOST_ARCS} sub-identifiers")


def has_large_arc(contents: bytes) -> bool:
    """Return whether one of several concatenated OIDs, or parts of OIDs, has a number that is too large.

    Each must end between two numbers.
    """
    high = contents.translate(_HIGH)
    if b"\1" * 4 not in high:
        return False
    if b"\1" * 5 not in high and b"\0\2" not in (b"\0" + contents).translate(_LARGE):
        # No number has six octets, and none begins as one of five octets that is too large would.
        return False
    return _is_too_large(contents) is not None


def decode_arcs(content: bytes) -> tuple[int, ...]:
    """Return the sub-identifiers of the content of an OID, or of a part that has whole ones."""
    check_arcs(content)
    arcs: list[int] = []
    arc = 0
    for octet in content:
        arc = (arc << 7) | (octet & 0x7F)
        if not octet & 0x80:
            arcs.append(arc)
            arc = 0
    return tuple(arcs)


def read_tlv(data: bytes, position: int, end: int) -> tuple[int, int, int]:
    """Return (tag, start, end) of the content of the TLV at `position`, which must end by `end`."""
    start = position + 2
    if start > end:
        raise BerError("a value is cut off before its length")
    length = data[position + 1]
    if length >= 0x80:
        size = length & 0x7F
        if not 1 <= size <= 4:
            raise BerError("a length is indefinite or of more than 4 octets")
        length = int.from_bytes(data[start : start + size], "big")
        start += size
    if start + length > end:
        raise BerError("a value is longer than what holds it")
    return data[position], start, start + length


def expect_tlv(data: bytes, position: int, end: int, tag: int) -> tuple[int, int]:
    """Return (start, end) of the content of the TLV at `position`, which must have `tag`."""
    found, start, stop = read_tlv(data, position, end)
    if found != tag:
        raise BerError(f"expected tag 0x{tag:02x}, found 0x{found:02x}")
    return start, stop


def decode_signed(content: bytes) -> int:
    if not 1 <= len(content) <= 8:
        raise BerError(f"an integer has {len(content)} octets")
    return int.from_bytes(content, "big", signed=True)


def decode_unsigned(content: bytes, bits: int) -> int:
    """Return a counter, gauge or time. Some agents send it as a negative number of full width, which is taken
    for its unsigned value.
    """
    octets = bits // 8
    if not 1 <= len(content) <= octets + 1 or (len(content) > octets and content[0]):
        raise BerError(f"an unsigned value of {bits} bits has {len(content)} octets")
    return int.from_bytes(content, "big")


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

_OCTETS_OF_64_BITS: Final = 8

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
        return cls(encode_arcs(joined))

    @property
    def arcs(self) -> tuple[int, ...]:
        first, *rest = decode_arcs(self.content)
        root = min(first // 40, 2)
        return (root, first - 40 * root, *rest)

    def __str__(self) -> str:
        return ".".join(map(str, self.arcs))

    def __lt__(self, other: Oid) -> bool:
        return decode_arcs(self.content) < decode_arcs(other.content)

    def child(self, *arcs: int) -> Oid:
        return Oid(self.content + encode_arcs(arcs))


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
    check_arcs(content)
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


def _counter64(content: bytes) -> Counter64:
    """Decode a counter. All that are usual take as few calls as possible: each is decoded every time."""
    if 1 <= len(content) <= _OCTETS_OF_64_BITS:
        return Counter64(int.from_bytes(content, "big"))
    return Counter64(decode_unsigned(content, 64))


_DECODERS: Final[dict[int, Callable[[bytes], Value]]] = {
    INTEGER: decode_signed,
    OCTET_STRING: _octets,
    NULL: _null,
    OBJECT_IDENTIFIER: _oid,
    IP_ADDRESS: _ip_address,
    COUNTER32: lambda content: Counter32(decode_unsigned(content, 32)),
    GAUGE32: lambda content: Gauge32(decode_unsigned(content, 32)),
    UINTEGER32: lambda content: Gauge32(decode_unsigned(content, 32)),
    TIME_TICKS: lambda content: TimeTicks(decode_unsigned(content, 32)),
    COUNTER64: _counter64,
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
            return encode_tlv(OCTET_STRING, value)
        case Missing():
            return bytes((value.value, 0))
        case Oid():
            return encode_tlv(OBJECT_IDENTIFIER, value.content)
        case IPv4Address():
            return encode_tlv(IP_ADDRESS, value.packed)
        case Unknown():
            return encode_tlv(value.tag, value.content)
        case float():
            return encode_tlv(OPAQUE, _encode_float(value))
        case _:
            return encode_integer(value, _INTEGER_TAGS.get(type(value), INTEGER))


def content_of(value: Value) -> tuple[int, bytes]:
    """Return the tag and the content octets of a value."""
    encoded = encode_value(value)
    tag, start, end = read_tlv(encoded, 0, len(encoded))
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


def json_value(value: Value) -> int | float | str | None:
    """Return the value for JSON; octets that are no readable text as hexadecimal 0x..."""
    match value:
        case bytes():
            return _readable_text(value)
        case Unknown():
            return "0x" + value.content.hex()
        case Missing() | None:
            return None
        case float() if not math.isfinite(value):
            return str(value)
        case float():
            return float(value)
        case int():
            return int(value)
        case _:
            return str(value)


def _readable_text(octets: bytes) -> str:
    with contextlib.suppress(UnicodeDecodeError):
        text = octets.decode()
        # A text that begins with 0x is written in hexadecimal too, or the two could not be told apart.
        if all(letter.isprintable() or letter in "\r\n\t" for letter in text) and not text.startswith("0x"):
            return text
    return "0x" + octets.hex()
