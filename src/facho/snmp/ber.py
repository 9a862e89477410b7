"""BER as SNMP uses it: definite lengths, one-byte tags, and nothing else.

Decoding is strict about structure (every length must fit exactly where it stands) and lenient only where real
agents are known to be wrong without being ambiguous: unsigned values sent with the sign bit set, and lengths
written longer than needed. Whatever else is wrong raises BerError and no other exception.
"""

from __future__ import annotations

import re
from typing import Final

from facho.core.oid_limits import LARGEST_ARC, MOST_ARCS
from facho.snmp.errors import BerError

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
