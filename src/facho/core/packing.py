"""Rows of whole numbers in few bytes, where each number is near the one before it in its row.

First come the first numbers of all rows, then for each row how each further number differs from the one
before, so that one row is one slice. All are split into their lowest bytes, their second ones and so on: the
higher ones hardly ever change, and compress to nothing.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import sub
from typing import Final

# Differences are small and of both signs: moved by this, most are one byte without a sign.
_MIDDLE: Final = 128
_SIGNED: Final = {2: "h", 4: "i", 8: "q"}
# The least effort in a small window: most of the time went into making a large one, for 1 % less bytes.
_DEFLATE: Final = (1, zlib.DEFLATED, 12, 5)


class Damaged(Exception):
    """These bytes are not what was written."""


def integers(width: int, values: Iterable[int]) -> array[int]:
    """Raises OverflowError for what so many bytes do not hold."""
    return array(_SIGNED[width], values)


def pack(columns: Sequence[Sequence[int]], width: int) -> bytes:
    """Columns are all of the same length; row i is the i-th number of each."""
    differences = (_differences(later, earlier) for earlier, later in pairwise(columns))
    return _packed(columns[0], chain.from_iterable(zip(*differences, strict=True)), width)


def pack_row(row: Sequence[int], width: int) -> bytes:
    """The same as columns of one number each."""
    return _packed(row[:1], _differences(row[1:], row), width)


def _differences(later: Iterable[int], earlier: Iterable[int]) -> Iterable[int]:
    return map(_MIDDLE.__add__, map(sub, later, earlier))


def _packed(first: Iterable[int], differences: Iterable[int], width: int) -> bytes:
    deflate = zlib.compressobj(*_DEFLATE)
    planes = b"".join([*_planes(first, width), *_planes(differences, width)])
    return deflate.compress(planes) + deflate.flush()


def _planes(values: Iterable[int], width: int) -> list[bytes]:
    """What a difference has beyond its width is cut off: the sum comes out right without it."""
    wide = array("q", values)
    if sys.byteorder == "big":
        wide.byteswap()
    octets = wide.tobytes()
    return [octets[plane :: wide.itemsize] for plane in range(width)]


@dataclass(frozen=True, slots=True)
class Rows:
    """What was packed, inflated; a row is put together when it is asked for."""

    octets: bytes
    width: int
    rows: int
    columns: int

    def first(self) -> array[int]:
        """The first column."""
        return _joined([self.octets[k * self.rows : (k + 1) * self.rows] for k in range(self.width)])

    def row(self, position: int) -> list[int]:
        number = int.from_bytes(
            self.octets[position : self.width * self.rows : self.rows], "little", signed=True
        )
        row = [number]
        for difference in self._differences(position):
            number += difference - _MIDDLE
            row.append(number)
        return self._within(row)

    def _differences(self, position: int) -> Sequence[int]:
        further = self.columns - 1
        if not further:
            return ()
        start, plane = self.width * self.rows + position * further, self.rows * further
        starts = range(start, start + self.width * plane, plane)
        planes = [self.octets[each : each + further] for each in starts]
        return _joined(planes) if any(map(any, planes[1:])) else planes[0]

    def _within(self, row: list[int]) -> list[int]:
        """What was cut off of a difference, cut off of the sums."""
        half = 1 << (8 * self.width - 1)
        if min(row) >= -half and max(row) < half:
            return row
        return [((number + half) & (2 * half - 1)) - half for number in row]


def unpack(data: bytes, width: int, rows: int, columns: int) -> Rows:
    """Raises Damaged."""
    return Rows(_inflated(data, width * rows * columns), width, rows, columns)


def _inflated(data: bytes, size: int) -> bytes:
    try:
        octets = zlib.decompress(data, bufsize=size + 1)
    except zlib.error as error:
        raise Damaged(str(error)) from None
    if len(octets) != size:
        raise Damaged(f"{len(octets)} bytes where {size} belong")
    return octets


def _joined(planes: Sequence[bytes]) -> array[int]:
    width = len(planes)
    octets = bytearray(width * len(planes[0]))
    for plane, part in enumerate(planes):
        octets[plane::width] = part
    joined = array(_SIGNED[width], bytes(octets))
    if sys.byteorder == "big":
        joined.byteswap()
    return joined
