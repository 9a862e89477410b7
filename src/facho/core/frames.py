"""Numeric facts over time, as bytes: sheets of subjects, times and values.

A subject is an ONU or a port, by its number. The sheet of one collection of one OLT is a frame; the sheet of
one port and one hour is what charts are read from. Both are written in the same way:

    head       version; how many facts, times and subjects; the first time
    times      milliseconds after the first one
    directory  for each fact: its code, the size of its block, and which of the times it has
    subjects   packed
    check      of everything up to here
    blocks     one for each fact, packed by itself, so that a chart inflates only what it shows

A value is stored as a whole number of its fact's steps. Subjects and blocks are packed: rows of whole numbers
in few bytes, where each number is near the one before it in its row. The first numbers of all rows come
first, then for each row the differences of neighbours, so that one row is one slice. Numbers are split into
byte planes, lowest first: the higher planes of differences are mostly 0, and a plane that is 0 in all rows is
left out. The rest is compressed unless that saves too little.

    how        1 byte: how many bytes of each difference there are; plus 128 when the rest is compressed
    check      4 bytes, of all others
    the rest
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, compress, pairwise
from operator import sub
from typing import Any, Final, NamedTuple

# Differences are small and of both signs: with this offset most fit one unsigned byte.
_MIDDLE: Final = 128
_SIGNED: Final = {2: "h", 4: "i", 8: "q"}
_PACKED_HEAD: Final = struct.Struct("<BI")
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
    return _PACKED_HEAD.pack(how, zlib.crc32(rest, how)) + rest


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
        how, check = _PACKED_HEAD.unpack_from(data)
    except struct.error as error:
        raise Damaged(str(error)) from None
    octets = data[_PACKED_HEAD.size :]
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


VERSION: Final = 1

_HEAD: Final = struct.Struct("<BBIIIq")
_ENTRY: Final = struct.Struct("<BI")
_CHECK: Final = struct.Struct("<I")
_ID_WIDTH: Final = 8
# Rosters stay the same for many hours, so decoded ones are cached.
_REMEMBERED: Final = 64
_MOST_QUANTISED: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class Fact:
    # Stored code; never reused for another fact.
    code: int
    # Steps per unit: 100 for hundredths.
    steps: int
    # Bytes of a value.
    width: int = 2

    @property
    def nothing(self) -> int:
        """Stands for no value. What is out of range is none either."""
        return -(1 << (8 * self.width - 1))

    def quantised(self, values: Sequence[float | None]) -> array[int]:
        return integer_array(self.width, map(_quantised_values(self).__getitem__, values))

    def quantise(self, value: float | None) -> int:
        try:
            found = self.nothing if value is None else round(value * self.steps)
        except (OverflowError, ValueError):
            return self.nothing
        return found if abs(found) < -self.nothing else self.nothing

    def values(self, quantised: Iterable[int]) -> list[float | None]:
        nothing, steps = self.nothing, self.steps
        return [None if value == nothing else value / steps for value in quantised]


class _QuantisedValues(dict[float | None, int]):
    """The values of a fact in steps. The same few thousand come again and again: each is computed once."""

    def __init__(self, fact: Fact) -> None:
        super().__init__()
        self._fact = fact

    def __missing__(self, value: float | None) -> int:
        if len(self) >= _MOST_QUANTISED:
            self.clear()
        found = self[value] = self._fact.quantise(value)
        return found


@cache
def _quantised_values(fact: Fact) -> _QuantisedValues:
    return _QuantisedValues(fact)


FACTS: Final[Mapping[str, Fact]] = {
    "onu_rx_dbm": Fact(1, 100),
    "onu_tx_dbm": Fact(2, 100),
    "olt_rx_dbm": Fact(3, 100),
    "temperature_c": Fact(4, 10),
    "voltage_v": Fact(5, 100),
    "bias_ma": Fact(6, 10),
    # Some distances exceed 32,767 m.
    "distance_m": Fact(7, 1, 4),
    "tx_dbm": Fact(8, 100),
    "rx_dbm": Fact(9, 100),
    "onus_online": Fact(10, 1),
}
_NAMES: Final = {fact.code: name for name, fact in FACTS.items()}

# Time in milliseconds since 1970 -> quantised value of each subject.
Columns = Mapping[int, Sequence[int]]


class Samples(NamedTuple):
    """The values of one subject and one fact, one for each time."""

    times: Sequence[int]
    values: Sequence[float | None]


class Sheet(NamedTuple):
    """The directory is looked into when something is asked for: charts ask for little of what there is."""

    ids: array[int]
    times: Sequence[int]
    # For each fact: code, size of its block, mask of its times; flat.
    directory: tuple[Any, ...]
    # The mask of a fact that has every time.
    every_time: bytes
    data: bytes
    # Where the blocks begin.
    start: int

    @property
    def facts(self) -> list[str]:
        """Raises Damaged when there are others than we know: a later version wrote it."""
        try:
            return [_NAMES[code] for code in self.directory[::3]]
        except KeyError as error:
            raise Damaged(f"there is no fact {error}") from None

    def samples(self, fact: str, position: int) -> Samples | None:
        """Return the samples of the subject at this position, None if the fact was not collected."""
        if (found := self._rows(fact)) is None:
            return None
        times, rows = found
        return Samples(times, FACTS[fact].values(rows.row(position)))

    def series(self, fact: str, positions: Iterable[int]) -> list[Samples]:
        """The same of several; none of anybody when the fact was not collected."""
        if (found := self._rows(fact)) is None:
            return []
        times, rows = found
        meaning = FACTS[fact]
        return [Samples(times, meaning.values(rows.row(position))) for position in positions]

    def first(self, fact: str) -> list[float | None]:
        """Return the first collected value of every subject; this does not decode the rows."""
        found = self._rows(fact)
        return [] if found is None else FACTS[fact].values(found[1].first())

    def check(self) -> None:
        """Raises Damaged, now and not when something is read."""
        for fact in self.facts:
            self._rows(fact)

    def columns(self, fact: str) -> dict[int, Sequence[int]]:
        if (found := self._rows(fact)) is None:
            return {}
        times, rows = found
        if len(times) == 1:
            return {times[0]: rows.first()}
        columns = zip(*map(rows.row, range(len(self.ids))), strict=True)
        return dict(zip(times, columns, strict=True))

    def _rows(self, fact: str) -> tuple[Sequence[int], PackedRows] | None:
        """Return the times at which the fact was collected, and its packed rows."""
        meaning, codes = FACTS[fact], self.directory[::3]
        if meaning.code not in codes:
            return None
        entry = 3 * codes.index(meaning.code)
        start = self.start + sum(self.directory[1:entry:3])
        size, mask = self.directory[entry + 1 : entry + 3]
        times = self.times if mask == self.every_time else _select_times(self.times, mask)
        data = self.data[start : start + size]
        return times, unpack(data, meaning.width, len(self.ids), len(times))


def write_frame(at: int, ids: Sequence[int], values: Mapping[str, Sequence[float | None]]) -> bytes:
    """Encode one collection. Facts without any value are left out."""
    columns = {
        name: {at: FACTS[name].quantised(column)}
        for name, column in values.items()
        if any(value is not None for value in column)
    }
    return write_sheet(ids, columns)


def write_sheet(ids: Sequence[int], facts: Mapping[str, Columns]) -> bytes:
    """Encode a sheet. Each column has a value for each of `ids`, in their order."""
    times = sorted({at for columns in facts.values() for at in columns})
    names = sorted(facts, key=lambda name: FACTS[name].code) if ids else []
    blocks = [_pack_columns(name, facts[name]) for name in names]
    roster = pack_row(ids, _ID_WIDTH) if ids else b""
    first = times[0] if times else 0
    head = [
        _HEAD.pack(VERSION, len(names), len(times), len(ids), len(roster), first),
        struct.pack(f"<{len(times)}I", *(at - first for at in times)),
        *(_entry(name, facts[name], len(block), times) for name, block in zip(names, blocks, strict=True)),
        roster,
    ]
    checked = b"".join(head)
    return b"".join((checked, _CHECK.pack(zlib.crc32(checked)), *blocks))


def _pack_columns(name: str, columns: Columns) -> bytes:
    return pack([columns[at] for at in sorted(columns)], FACTS[name].width)


def _entry(name: str, columns: Columns, size: int, times: Sequence[int]) -> bytes:
    which = sum(1 << position for position, at in enumerate(times) if at in columns)
    return _ENTRY.pack(FACTS[name].code, size) + _mask(which, len(times))


def _mask(which: int, times: int) -> bytes:
    return which.to_bytes(_mask_size(times), "little")


def _mask_size(times: int) -> int:
    return (times + 7) // 8


def read_sheet(data: bytes) -> Sheet:
    """Raises Damaged."""
    try:
        version, facts, times, subjects, roster_size, first = _HEAD.unpack_from(data)
        if version != VERSION:
            raise Damaged(f"it is of version {version}, and {VERSION} is known")
        if _HEAD.size + 4 * times > len(data):
            raise Damaged(f"{len(data)} bytes do not hold {times} times")
        directory, every_time = _directory(facts, times)
        roster = _HEAD.size + 4 * times + directory.size
        check = roster + roster_size
        if zlib.crc32(data[:check]) != _CHECK.unpack_from(data, check)[0]:
            raise Damaged("its head is not what was written")
        offsets = struct.unpack_from(f"<{times}I", data, _HEAD.size)
    except struct.error as error:
        raise Damaged(str(error)) from None
    entries = directory.unpack_from(data, _HEAD.size + 4 * times)
    start = check + _CHECK.size
    if start + sum(entries[1::3]) != len(data):
        raise Damaged("it has not as many bytes as were written")
    ids = _ids(data[roster:check], subjects)
    return Sheet(ids, [first + offset for offset in offsets], entries, every_time, data, start)


@lru_cache(maxsize=_REMEMBERED)
def _directory(facts: int, times: int) -> tuple[struct.Struct, bytes]:
    """Return the layout of the directory, and the mask of a fact that has every time."""
    return struct.Struct("<" + f"BI{_mask_size(times)}s" * facts), _mask((1 << times) - 1, times)


def _select_times(times: Sequence[int], mask: bytes) -> Sequence[int]:
    which = int.from_bytes(mask, "little")
    return list(compress(times, map(int, reversed(f"{which:b}"))))


@lru_cache(maxsize=_REMEMBERED)
def _ids(roster: bytes, count: int) -> array[int]:
    if not count:
        return array("q")
    return array("q", unpack(roster, _ID_WIDTH, 1, count).row(0))
