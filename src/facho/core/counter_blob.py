"""Snapshots of counters as bytes: a line of JSON for each, and its columns as they are in memory.

check      4 bytes, of all that follows
size       4 bytes, of the JSON
JSON       for each snapshot its times and counters, and how many subjects it has
arrays     of each snapshot: ids, counters, last rates of narrow counters; 8 bytes a number, little-endian
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

from facho.core.history_facts import Damaged
from facho.core.rates import Counter, CounterReading, Snapshot

_HEAD: Final = struct.Struct("<II")
_WIDTH: Final = 8


def encode_snapshots(snapshots: Sequence[Snapshot]) -> bytes:
    described = json.dumps(list(map(_describe, snapshots)), separators=(",", ":")).encode()
    parts = [described, *(_octets(column) for snapshot in snapshots for column in _columns(snapshot))]
    rest = b"".join(parts)
    return _HEAD.pack(zlib.crc32(rest), len(described)) + rest


def _describe(snapshot: Snapshot) -> list[Any]:
    reading = snapshot.reading
    return [
        reading.at,
        reading.uptime_s,
        snapshot.moved,
        len(reading.ids),
        [list(counter) for counter in reading.columns],
        [list(counter) for counter in snapshot.rates],
        reading.ages_ms,
    ]


def _columns(snapshot: Snapshot) -> Iterator[array[int]]:
    yield snapshot.reading.ids
    yield from snapshot.reading.columns.values()
    yield from snapshot.rates.values()


def _octets(column: array[int]) -> bytes:
    if sys.byteorder == "big":
        column = array("q", column)
        column.byteswap()
    return column.tobytes()


def decode_snapshots(data: bytes) -> list[Snapshot]:
    """Raises Damaged."""
    if not data:
        return []
    if len(data) < _HEAD.size:
        raise Damaged(f"{len(data)} bytes are no counters")
    check, size = _HEAD.unpack_from(data)
    rest = data[_HEAD.size :]
    if zlib.crc32(rest) != check:
        raise Damaged("its counters are not what was written")
    arrays = _Arrays(rest, size)
    return [_snapshot(described, arrays) for described in json.loads(rest[:size])]


class _Arrays:
    """Reads one column after the other."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._start = start

    def read(self, size: int) -> array[int]:
        end = self._start + _WIDTH * size
        column = array("q", self._data[self._start : end])
        self._start = end
        if sys.byteorder == "big":
            column.byteswap()
        return column


def _snapshot(described: list[Any], arrays: _Arrays) -> Snapshot:
    at, uptime_s, moved, size, counters, narrow, *ages_ms = described
    ids = arrays.read(size)
    columns = {Counter(*counter): arrays.read(size) for counter in counters}
    rates = {Counter(*counter): arrays.read(size) for counter in narrow}
    first, last = ages_ms[0] if ages_ms else (0, 0)
    return Snapshot(CounterReading(at, uptime_s, ids, columns, (first, last)), rates, moved)
