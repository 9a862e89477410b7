"""The elements of a block in the format of snappy, for data whose repetitions are known when it is written.

A block is the size of the data, then elements: a literal, or a copy of what came a certain distance before.
A general compressor looks for repetitions; who writes the same labels again and again knows where they are.
https://github.com/google/snappy/blob/main/format_description.txt
"""

from __future__ import annotations

from typing import Final

_LITERAL: Final = 0
_COPY_NEAR: Final = 2
_COPY_FAR: Final = 3
# Lengths of literals above this one are in bytes of their own.
_SHORT_LITERAL: Final = 60
_LONGEST_COPY: Final = 64
_NEAR: Final = 1 << 16


def varint(number: int) -> bytes:
    """Return a number that is not negative, seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def block(size: int, elements: bytes) -> bytes:
    """Return a whole block. `size` is that of the data which the elements are."""
    return varint(size) + elements


def literal_tag(size: int) -> bytes:
    """Return what comes before the bytes of a literal; nothing for none."""
    if not size:
        return b""
    size -= 1
    if size < _SHORT_LITERAL:
        return bytes([size << 2 | _LITERAL])
    octets = (size.bit_length() + 7) // 8
    return bytes([(_SHORT_LITERAL - 1 + octets) << 2 | _LITERAL]) + size.to_bytes(octets, "little")


def literal(data: bytes) -> bytes:
    return literal_tag(len(data)) + data


def copy(distance: int, size: int) -> bytes:
    """Return the elements that repeat `size` bytes from `distance` before."""
    parts = []
    while size:
        length = min(size, _LONGEST_COPY)
        kind, octets = (_COPY_NEAR, 2) if distance < _NEAR else (_COPY_FAR, 4)
        parts.append(bytes([(length - 1) << 2 | kind]) + distance.to_bytes(octets, "little"))
        size -= length
    return b"".join(parts)
