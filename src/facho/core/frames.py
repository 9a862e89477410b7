"""Numeric facts over time, as bytes: sheets of subjects, times and values.

A subject is an ONU or a port, by its number. The sheet of one collection of one OLT is a frame; the sheet of
one port and one hour is what charts are read from. Both are written in the same way:

    head       version; how many facts, times and subjects; the first time
    times      milliseconds after the first one
    directory  for each fact: its code, the size of its block, and which of the times it has
    subjects   packed
    check      of everything up to here
    blocks     one for each fact, packed by itself, so that a chart inflates only what it shows

A value is written as a whole number of its fact's smallest steps.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import Final, NamedTuple

from facho.core.packing import Damaged, Rows, integers, pack, pack_row, unpack

VERSION: Final = 1

_HEAD: Final = struct.Struct("<BBIIIq")
_ENTRY: Final = struct.Struct("<BI")
_CHECK: Final = struct.Struct("<I")
_ID_WIDTH: Final = 8
# The subjects of a port or an OLT are the same for many hours.
_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class Fact:
    # As it is written; never given to another fact.
    code: int
    # Of one unit: 100 for hundredths.
    steps: int
    # Bytes of a value.
    width: int = 2

    @property
    def nothing(self) -> int:
        """Stands for no value. What is out of range is none either."""
        return -(1 << (8 * self.width - 1))

    def quantised(self, values: Sequence[float | None]) -> array[int]:
        nothing, steps = self.nothing, self.steps
        try:
            return integers(
                self.width, [nothing if value is None else round(value * steps) for value in values]
            )
        except (OverflowError, ValueError):
            return integers(self.width, map(self._quantised, values))

    def _quantised(self, value: float | None) -> int:
        """For a column in which something is too large, or not a number."""
        try:
            found = self.nothing if value is None else round(value * self.steps)
        except (OverflowError, ValueError):
            return self.nothing
        return found if abs(found) < -self.nothing else self.nothing

    def values(self, quantised: Iterable[int]) -> list[float | None]:
        nothing, steps = self.nothing, self.steps
        return [None if value == nothing else value / steps for value in quantised]


FACTS: Final[Mapping[str, Fact]] = {
    "onu_rx_dbm": Fact(1, 100),
    "onu_tx_dbm": Fact(2, 100),
    "olt_rx_dbm": Fact(3, 100),
    "temperature_c": Fact(4, 10),
    "voltage_v": Fact(5, 100),
    "bias_ma": Fact(6, 10),
    # Some reach further than 32,767 m.
    "distance_m": Fact(7, 1, 4),
    "tx_dbm": Fact(8, 100),
    "rx_dbm": Fact(9, 100),
    "onus_online": Fact(10, 1),
}
_NAMES: Final = {fact.code: name for name, fact in FACTS.items()}

# By time, in milliseconds since 1970: the quantised value of each subject.
Columns = Mapping[int, Sequence[int]]


class Block(NamedTuple):
    """A fact's values as they are written, and when they were collected."""

    times: Sequence[int]
    data: bytes


@dataclass(frozen=True, slots=True)
class Sheet:
    ids: array[int]
    blocks: Mapping[str, Block]

    def times(self, fact: str) -> Sequence[int]:
        """None at all for a fact that was not collected."""
        block = self.blocks.get(fact)
        return () if block is None else block.times

    def series(self, fact: str, positions: Iterable[int]) -> Iterator[list[float | None]]:
        """Of the subjects at these positions, one after the other: a value for each of the fact's times."""
        meaning, rows = FACTS[fact], self._rows(fact)
        return (meaning.values(rows.row(position)) for position in positions)

    def check(self) -> None:
        """Raises Damaged, now and not when something is read."""
        for fact in self.blocks:
            self._rows(fact)

    def columns(self, fact: str) -> dict[int, Sequence[int]]:
        times, rows = self.blocks[fact].times, self._rows(fact)
        if len(times) == 1:
            return {times[0]: rows.first()}
        columns = zip(*map(rows.row, range(len(self.ids))), strict=True)
        return dict(zip(times, columns, strict=True))

    def _rows(self, fact: str) -> Rows:
        block = self.blocks[fact]
        return unpack(block.data, FACTS[fact].width, len(self.ids), len(block.times))


def write_frame(at: int, ids: Sequence[int], values: Mapping[str, Sequence[float | None]]) -> bytes:
    """One collection. Facts of which there is no value at all are left out."""
    columns = {
        name: {at: FACTS[name].quantised(column)}
        for name, column in values.items()
        if any(value is not None for value in column)
    }
    return write_sheet(ids, columns)


def write_sheet(ids: Sequence[int], facts: Mapping[str, Columns]) -> bytes:
    """Each column has a value for each of `ids`, in their order, which may be any."""
    times = sorted({at for columns in facts.values() for at in columns})
    names = sorted(facts, key=lambda name: FACTS[name].code) if ids else []
    blocks = [_packed(name, facts[name]) for name in names]
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


def _packed(name: str, columns: Columns) -> bytes:
    return pack([columns[at] for at in sorted(columns)], FACTS[name].width)


def _entry(name: str, columns: Columns, size: int, times: Sequence[int]) -> bytes:
    which = sum(1 << position for position, at in enumerate(times) if at in columns)
    return _ENTRY.pack(FACTS[name].code, size) + which.to_bytes(_mask_size(len(times)), "little")


def _mask_size(times: int) -> int:
    return (times + 7) // 8


def read_sheet(data: bytes) -> Sheet:
    """Raises Damaged."""
    try:
        return _read(data)
    except (struct.error, KeyError, IndexError, OverflowError) as error:
        raise Damaged(str(error)) from None


def _read(data: bytes) -> Sheet:
    version, facts, time_count, id_count, roster_size, first = _HEAD.unpack_from(data)
    if version != VERSION:
        raise Damaged(f"it is of version {version}, and {VERSION} is known")
    mask_size = _mask_size(time_count)
    directory = _HEAD.size + 4 * time_count
    roster = directory + facts * (_ENTRY.size + mask_size)
    check = roster + roster_size
    if zlib.crc32(data[:check]) != _CHECK.unpack_from(data, check)[0]:
        raise Damaged("its head is not what was written")
    times = [first + offset for offset in struct.unpack_from(f"<{time_count}I", data, _HEAD.size)]
    blocks = {}
    start = check + _CHECK.size
    for entry in range(directory, roster, _ENTRY.size + mask_size):
        code, size = _ENTRY.unpack_from(data, entry)
        mask = data[entry + _ENTRY.size : entry + _ENTRY.size + mask_size]
        blocks[_NAMES[code]] = Block(_chosen(times, mask), data[start : start + size])
        start += size
    if start != len(data):
        raise Damaged(f"{len(data)} bytes where {start} belong")
    return Sheet(_ids(data[roster:check], id_count), blocks)


def _chosen(times: Sequence[int], mask: bytes) -> Sequence[int]:
    which = int.from_bytes(mask, "little")
    if which.bit_count() == len(times):
        return times
    return list(compress(times, map(int, reversed(f"{which:b}"))))


@lru_cache(maxsize=_REMEMBERED)
def _ids(roster: bytes, count: int) -> array[int]:
    if not count:
        return array("q")
    return array("q", unpack(roster, _ID_WIDTH, 1, count).row(0))
