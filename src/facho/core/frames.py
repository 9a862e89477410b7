"""Numeric facts over time, as bytes: sheets of subjects, times and values.

A subject is an ONU or a port, by its number. The sheet of one collection of one OLT is a frame; the sheet of
one port and one hour is what charts are read from. Both are written in the same way:

    head       version; how many facts, times and subjects; the first time
    times      milliseconds after the first one
    directory  for each fact: its code, the size of its block, and which of the times it has;
               last, with the code 255, the dictionary of the facts that have no fixed code
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
from functools import lru_cache
from itertools import chain, compress, pairwise
from operator import sub
from typing import Any, Final, NamedTuple

from facho.core.history_facts import (
    DICTIONARY,
    FACTS,
    NO_FACTS,
    Damaged,
    Fact,
    assign_codes,
    decode_dictionary,
    encode_dictionary,
    join_planes,
    name_of_code,
)

# Differences are small and of both signs: with this offset most fit one unsigned byte.
_MIDDLE: Final = 128
_PACKED_HEAD: Final = struct.Struct("<BI")
_DEFLATED: Final = 128
# Fastest level and a small window: a larger one took most of the time for 1 % fewer bytes.
_DEFLATE: Final = (1, zlib.DEFLATED, -12, 5)
_WORTH_IT: Final = 0.9


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
        return join_planes([self.octets[k * self.rows : (k + 1) * self.rows] for k in range(self.width)])

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
        return join_planes(planes + [bytes(further)] * (self.width - self.kept))


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


VERSION: Final = 1

_HEAD: Final = struct.Struct("<BBIIIq")
_ENTRY: Final = struct.Struct("<BI")
_CHECK: Final = struct.Struct("<I")
_ID_WIDTH: Final = 8
# Rosters stay the same for many hours, so decoded ones are cached.
_REMEMBERED: Final = 64


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
    # Facts without a fixed code, as the dictionary of the sheet has them.
    declared: Mapping[str, Fact] = NO_FACTS

    @property
    def facts(self) -> list[str]:
        """Raises Damaged when there are others than we know: a later version wrote it."""
        names = {fact.code: name for name, fact in self.declared.items()}
        codes = (code for code in self.directory[::3] if code != DICTIONARY)
        return [names.get(code) or name_of_code(code) for code in codes]

    def meaning(self, fact: str) -> Fact | None:
        return FACTS.get(fact) or self.declared.get(fact)

    def samples(self, fact: str, position: int) -> Samples | None:
        """Return the samples of the subject at this position, None if the fact was not collected."""
        if (found := self._rows(fact)) is None:
            return None
        times, rows, meaning = found
        return Samples(times, meaning.values(rows.row(position)))

    def series(self, fact: str, positions: Iterable[int]) -> list[Samples]:
        """The same of several; none of anybody when the fact was not collected."""
        if (found := self._rows(fact)) is None:
            return []
        times, rows, meaning = found
        return [Samples(times, meaning.values(rows.row(position))) for position in positions]

    def first(self, fact: str) -> list[float | None]:
        """Return the first collected value of every subject; this does not decode the rows."""
        found = self._rows(fact)
        return [] if found is None else found[2].values(found[1].first())

    def check(self) -> None:
        """Raises Damaged, now and not when something is read."""
        for fact in self.facts:
            self._rows(fact)

    def columns(self, fact: str) -> dict[int, Sequence[int]]:
        if (found := self._rows(fact)) is None:
            return {}
        times, rows, _ = found
        if len(times) == 1:
            return {times[0]: rows.first()}
        columns = zip(*map(rows.row, range(len(self.ids))), strict=True)
        return dict(zip(times, columns, strict=True))

    def _rows(self, fact: str) -> tuple[Sequence[int], PackedRows, Fact] | None:
        """Return the times at which the fact was collected, its packed rows, and how they are to be read."""
        meaning, codes = self.meaning(fact), self.directory[::3]
        if meaning is None or meaning.code not in codes:
            return None
        entry = 3 * codes.index(meaning.code)
        start = self.start + sum(self.directory[1:entry:3])
        size, mask = self.directory[entry + 1 : entry + 3]
        times = self.times if mask == self.every_time else _select_times(self.times, mask)
        data = self.data[start : start + size]
        return times, unpack(data, meaning.width, len(self.ids), len(times)), meaning


def count_values(sheet: Sheet, after: int) -> int:
    """Return how many values a sheet has after this time; a missing one counts as one."""
    which = sum(1 << position for position, time in enumerate(sheet.times) if time > after)
    entries = zip(sheet.directory[::3], sheet.directory[2::3], strict=True)
    masks = [mask for code, mask in entries if code != DICTIONARY]
    return len(sheet.ids) * sum((int.from_bytes(mask, "little") & which).bit_count() for mask in masks)


def write_frame(
    at: int,
    ids: Sequence[int],
    values: Mapping[str, Sequence[float | None]],
    declared: Mapping[str, Fact] = NO_FACTS,
) -> bytes:
    """Encode one collection. Facts without any value are left out."""
    meanings = {**declared, **FACTS}
    columns = {
        name: {at: meanings[name].quantised(column)}
        for name, column in values.items()
        if any(value is not None for value in column)
    }
    return write_sheet(ids, columns, declared)


def write_sheet(
    ids: Sequence[int], facts: Mapping[str, Columns], declared: Mapping[str, Fact] = NO_FACTS
) -> bytes:
    """Encode a sheet. Each column has a value for each of `ids`, in their order.

    `declared` are the facts that have no fixed code; the sheet itself says what they are.
    """
    times = sorted({at for columns in facts.values() for at in columns})
    meanings = assign_codes(facts, declared) if ids else {}
    names = sorted(meanings, key=lambda name: meanings[name].code)
    blocks = [_pack_columns(facts[name], meanings[name]) for name in names]
    entries = [
        _entry(meanings[name].code, facts[name], len(block), times)
        for name, block in zip(names, blocks, strict=True)
    ]
    if dictionary := encode_dictionary(meanings):
        blocks.append(dictionary)
        entries.append(_entry(DICTIONARY, {}, len(dictionary), times))
    roster = pack_row(ids, _ID_WIDTH) if ids else b""
    first = times[0] if times else 0
    head = [
        _HEAD.pack(VERSION, len(entries), len(times), len(ids), len(roster), first),
        struct.pack(f"<{len(times)}I", *(at - first for at in times)),
        *entries,
        roster,
    ]
    checked = b"".join(head)
    return b"".join((checked, _CHECK.pack(zlib.crc32(checked)), *blocks))


def _pack_columns(columns: Columns, meaning: Fact) -> bytes:
    return pack([columns[at] for at in sorted(columns)], meaning.width)


def _entry(code: int, columns: Columns, size: int, times: Sequence[int]) -> bytes:
    which = sum(1 << position for position, at in enumerate(times) if at in columns)
    return _ENTRY.pack(code, size) + _mask(which, len(times))


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
    declared = NO_FACTS
    if entries and entries[-3] == DICTIONARY:
        declared = decode_dictionary(data[len(data) - entries[-2] :])
    ids = _ids(data[roster:check], subjects)
    return Sheet(ids, [first + offset for offset in offsets], entries, every_time, data, start, declared)


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
