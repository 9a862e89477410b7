"""Samples as the body of a Prometheus remote write request: protobuf, in a block of snappy.

The message is a list of time series, each with its labels and its samples:

    WriteRequest { repeated TimeSeries timeseries = 1 }     Label  { string name = 1, string value = 2 }
    TimeSeries { repeated Label labels = 1; repeated Sample samples = 2 }
    Sample { double value = 1; int64 timestamp = 2 }

The series of one subject have the same labels after their name, and the next subject has the same names. So a
row of values is packed by one layout, in which names and labels that came before are copies (`core.snappy`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from facho.core.snappy import block, copy, literal, literal_tag, varint

# Tags of the fields: their number, and whether a length follows.
_FIRST_BYTES: Final = b"\x0a"
_SECOND_BYTES: Final = b"\x12"
_FIRST_DOUBLE: Final = b"\x09"
_SECOND_VARINT: Final = b"\x10"

NAME: Final = "__name__"
# Of a sample: before its value, and before its time. Times in milliseconds have 6 bytes until the year 2109.
_TIME_SIZE: Final = 6
_SAMPLE_SIZE: Final = 1 + 8 + 1 + _TIME_SIZE
_BEFORE_VALUE: Final = _SECOND_BYTES + bytes([_SAMPLE_SIZE]) + _FIRST_DOUBLE
_SAMPLE_FIELD_SIZE: Final = 2 + _SAMPLE_SIZE
_VALUE: Final = struct.Struct("<d")

Row = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Piece:
    """Series as elements of a block that refer to nothing before them, so that any may follow any other."""

    elements: bytes
    # Of the message that the elements are.
    size: int
    samples: int


def write_request(pieces: Iterable[Piece]) -> bytes:
    whole = _join(list(pieces))
    return block(whole.size, whole.elements)


def encode_labels(labels: Mapping[str, str]) -> bytes:
    """Return labels as they are in a series, after its name. One that is empty is the same as none."""
    return b"".join(_label(name, labels[name]) for name in sorted(labels) if labels[name])


def _label(name: str, value: str) -> bytes:
    content = _text(_FIRST_BYTES, name) + _text(_SECOND_BYTES, value)
    return _FIRST_BYTES + varint(len(content)) + content


def _text(tag: bytes, text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    return tag + varint(len(data)) + data


def encode_rows(
    at: int, names: Sequence[str], labels: Iterable[bytes], rows: Iterable[Row], *, most: int
) -> Iterator[Piece]:
    """Yield the values of one moment: of each subject its labels, and a value or None for each of the names.

    A piece has `most` samples, or a few more.
    """
    pairs = iter(zip(labels, rows, strict=True))
    subjects = max(1, most // len(names))
    while several := list(islice(pairs, subjects)):
        piece = _encode_piece(at, tuple(names), several)
        if piece.samples:
            yield piece


def _encode_piece(at: int, names: tuple[str, ...], rows: Sequence[tuple[bytes, Row]]) -> Piece:
    time = _encode_time(at)
    parts: list[bytes] = []
    size = samples = 0
    before: tuple[tuple[str, ...], int] | None = None
    for own, row in rows:
        present = names
        if None in row:
            present = tuple(name for name, value in zip(names, row, strict=True) if value is not None)
            row = [value for value in row if value is not None]
            if not row:
                continue
        key = present, len(own)
        layout = _layout(*key, repeats=key == before)
        before = key
        parts.append(layout.pack(own, row, time))
        size += layout.size
        samples += len(row)
    return Piece(b"".join(parts), size, samples)


def _encode_time(at: int) -> bytes:
    time = varint(at)
    if len(time) != _TIME_SIZE:
        raise ValueError(f"{at} is no time of this century in milliseconds")
    return _SECOND_VARINT + time


class _Layout:
    """The series of one subject: what is the same for all with these names and as many bytes of labels."""

    def __init__(self, names: tuple[str, ...], labels_size: int, *, repeats: bool) -> None:
        heads = [_head(name, labels_size + _SAMPLE_FIELD_SIZE) for name in names]
        self.size = sum(len(head) + labels_size + _SAMPLE_FIELD_SIZE for head in heads)
        sample = literal_tag(_SAMPLE_FIELD_SIZE) + _BEFORE_VALUE
        fixed = []
        for number, head in enumerate(heads):
            # The subject before has the same series at the same places.
            named = copy(self.size, len(head)) if repeats else literal(head)
            if not number:
                fixed += [named + literal_tag(labels_size), sample]
            else:
                # The labels are those of the series before.
                further = labels_size + _SAMPLE_FIELD_SIZE + len(head)
                fixed.append(named + copy(further, labels_size) + sample)
        time = f"{1 + _TIME_SIZE}s"
        first = f"<{len(fixed[0])}s{labels_size}s{len(fixed[1])}sd{time}"
        self._packer = struct.Struct(first + "".join(f"{len(each)}sd{time}" for each in fixed[2:]))
        self._parts: list[bytes | float] = [fixed[0], b"", fixed[1], 0.0, b""]
        for each in fixed[2:]:
            self._parts += [each, 0.0, b""]

    def pack(self, labels: bytes, row: Row, time: bytes) -> bytes:
        parts = self._parts.copy()
        parts[1] = labels
        parts[3::3] = row  # type: ignore[assignment]  # without None
        parts[4::3] = [time] * len(row)
        return self._packer.pack(*parts)


@lru_cache(maxsize=4096)
def _layout(names: tuple[str, ...], labels_size: int, *, repeats: bool) -> _Layout:
    return _Layout(names, labels_size, repeats=repeats)


def _head(name: str, size_after: int) -> bytes:
    """Return what comes before the labels of a series: its size, and its name."""
    named = _label(NAME, name)
    return _FIRST_BYTES + varint(len(named) + size_after) + named


def encode_series(name: str, labels: bytes, samples: Sequence[tuple[int, float]]) -> Piece:
    """Return one series with samples of several moments, in order."""
    encoded = b"".join(_BEFORE_VALUE + _VALUE.pack(value) + _encode_time(at) for at, value in samples)
    head = _head(name, len(labels) + len(encoded))
    data = b"".join((head, labels, encoded))
    return Piece(literal(data), len(data), len(samples))


def join_pieces(pieces: Iterable[Piece], most: int) -> Iterator[Piece]:
    """Yield pieces with `most` samples, or a few more."""
    several: list[Piece] = []
    samples = 0
    for piece in pieces:
        several.append(piece)
        samples += piece.samples
        if samples >= most:
            yield _join(several)
            several, samples = [], 0
    if several:
        yield _join(several)


def _join(pieces: Sequence[Piece]) -> Piece:
    return Piece(
        b"".join(piece.elements for piece in pieces),
        sum(piece.size for piece in pieces),
        sum(piece.samples for piece in pieces),
    )
