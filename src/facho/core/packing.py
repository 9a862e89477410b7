"""Rows of whole numbers in few bytes, where each number is near the one before it in its row.

The first numbers of all rows come first, then for each row the differences of neighbours, so that one row is
one slice. Numbers are split into byte planes, lowest first: the higher planes of differences are mostly 0,
and a plane that is 0 in all rows is left out. The rest is compressed unless that saves too little.

    how        1 byte: how many bytes of each difference there are; plus 128 when the rest is compressed
    check      4 bytes, of all others
    the rest
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from operator import sub
from typing import Final, NamedTuple

# Differences are small and of both signs: with this offset most fit one unsigned byte.
_MIDDLE: Final = 128
_SIGNED: Final = {2: "h", 4: "i", 8: "q"}
_HEAD: Final = struct.Struct("<BI")
_DEFLATED: Final = 128
# Fastest level and a small window: a larger one took most of the time for 1 % fewer bytes.
_DEFLATE: Final = (1, zlib.DEFLATED, -12, 5)
_WORTH_IT: Final = 0.9


class Damaged(Exception):
    """Bytes that differ from what was written."""


def integer_array(width: int, values: Iterable[int]) -> array[int]:
    """Raises OverflowError for what so many bytes do not hold."""
    return array(_SIGNED[width], values)


def pack(columns: Sequence[Sequence[int]], width: int) -> bytes:
    """Columns are all of the same length; row i is the i-th number of each."""
    differences = (_differences(later, earlier) for earlier, later in pairwise(columns))
    return _pack_planes(columns[0], chain.from_iterable(zip(*differences, strict=True)), width)


def pack_row(row: Sequence[int], width: int) -> bytes:
    """The same as columns of one number each."""
    return _pack_planes(row[:1], _differences(row[1:], row), width)


def _differences(later: Iterable[int], earlier: Iterable[int]) -> Iterable[int]:
    return map(_MIDDLE.__add__, map(sub, later, earlier))


def _pack_planes(first: Iterable[int], differences: Iterable[int], width: int) -> bytes:
    planes = _planes(differences, width)
    while len(planes) > 1 and planes[-1].count(0) == len(planes[-1]):
        planes.pop()
    plain = b"".join([*_planes(first, width), *planes])
    deflate = zlib.compressobj(*_DEFLATE)
    deflated = deflate.compress(plain) + deflate.flush()
    if len(deflated) < _WORTH_IT * len(plain):
        how, rest = len(planes) + _DEFLATED, deflated
    else:
        how, rest = len(planes), plain
    return _HEAD.pack(how, zlib.crc32(rest, how)) + rest


def _planes(values: Iterable[int], width: int) -> list[bytes]:
    """Split numbers into byte planes. Bits beyond the width are dropped; the sums need none of them."""
    wide = array("q", values)
    if sys.byteorder == "big":
        wide.byteswap()
    octets = wide.tobytes()
    return [octets[plane :: wide.itemsize] for plane in range(width)]


class PackedRows(NamedTuple):
    """Packed rows; each is decoded when it is read."""

    octets: bytes
    width: int
    rows: int
    columns: int
    # Stored bytes of each difference.
    kept: int

    def first(self) -> array[int]:
        """The first column."""
        return _join_planes([self.octets[k * self.rows : (k + 1) * self.rows] for k in range(self.width)])

    def row(self, position: int) -> list[int]:
        first = self.octets[position : self.width * self.rows : self.rows]
        number = int.from_bytes(first, "little", signed=True)
        row = [number]
        for difference in self._differences(position):
            number += difference - _MIDDLE
            row.append(number)
        half = 1 << (8 * self.width - 1)
        if min(row) >= -half and max(row) < half:
            return row
        # Truncate the sums as the differences were truncated.
        return [((number + half) & (2 * half - 1)) - half for number in row]

    def _differences(self, position: int) -> Sequence[int]:
        further = self.columns - 1
        start, plane = self.width * self.rows + position * further, self.rows * further
        low = self.octets[start : start + further]
        if self.kept == 1:
            return low
        starts = (start + k * plane for k in range(1, self.kept))
        planes = [low, *(self.octets[each : each + further] for each in starts)]
        return _join_planes(planes + [bytes(further)] * (self.width - self.kept))


def unpack(data: bytes, width: int, rows: int, columns: int) -> PackedRows:
    """Raises Damaged."""
    try:
        how, check = _HEAD.unpack_from(data)
    except struct.error as error:
        raise Damaged(str(error)) from None
    octets = data[_HEAD.size :]
    if zlib.crc32(octets, how) != check:
        raise Damaged("its values are not what was written")
    kept = how & ~_DEFLATED
    size = rows * (width + kept * (columns - 1))
    if how & _DEFLATED:
        octets = _inflate(octets, size)
    if not 1 <= kept <= width or len(octets) != size:
        raise Damaged(f"{len(octets)} bytes where {size} belong")
    return PackedRows(octets, width, rows, columns, kept)


def _inflate(data: bytes, size: int) -> bytes:
    try:
        return zlib.decompress(data, wbits=-12, bufsize=size + 1)
    except zlib.error as error:
        raise Damaged(str(error)) from None


def _join_planes(planes: Sequence[bytes]) -> array[int]:
    width = len(planes)
    octets = bytearray(width * len(planes[0]))
    for plane, part in enumerate(planes):
        octets[plane::width] = part
    joined = array(_SIGNED[width], bytes(octets))
    if sys.byteorder == "big":
        joined.byteswap()
    return joined
