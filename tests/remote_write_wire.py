"""Reads the body of a remote write request: snappy and protobuf as their specifications have them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Series:
    name: str
    labels: dict[str, str]
    samples: list[tuple[int, float]]


def read_request(body: bytes) -> list[Series]:
    return [_series(content) for _, content in _fields(uncompress(body))]


def uncompress(data: bytes) -> bytes:
    size, at = _varint(data, 0)
    found = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                octets = length - 59
                length, at = int.from_bytes(data[at : at + octets], "little"), at + octets
            found += data[at : at + length + 1]
            at += length + 1
        else:
            octets = {2: 2, 3: 4}[tag & 3]
            distance, at = int.from_bytes(data[at : at + octets], "little"), at + octets
            assert 0 < distance <= len(found)
            for _ in range((tag >> 2) + 1):
                found.append(found[-distance])
    assert len(found) == size
    return bytes(found)


def _series(data: bytes) -> Series:
    labels, samples = {}, []
    for field, content in _fields(data):
        if field == 1:
            (_, name), (_, value) = _fields(content)
            labels[name.decode()] = value.decode()
        else:
            assert content[0] == 0x09
            assert content[9] == 0x10
            samples.append((_varint(content, 10)[0], struct.unpack("<d", content[1:9])[0]))
    assert list(labels) == sorted(labels), "receivers require them in order"
    return Series(labels.pop("__name__"), labels, samples)


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of a message that has only bytes."""
    at = 0
    while at < len(data):
        assert data[at] & 7 == 2
        field = data[at] >> 3
        size, at = _varint(data, at + 1)
        yield field, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at
