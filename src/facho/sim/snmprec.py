"""Reads, writes and replays recordings of agents, a value a line: `OID|type|value`.

A type is the tag of the value in the protocol. With an `x` after it the value is written as its octets.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

from facho.sim.families.family import SCALAR, UPTIME
from facho.sim.model import OltModel
from facho.sim.tables import ColumnSpec, IndexSpace, Layout
from facho.snmp import values
from facho.snmp.errors import BadOid
from facho.snmp.values import (
    Counter32,
    Counter64,
    Gauge32,
    Oid,
    TimeTicks,
    Value,
    content_of,
    decode_value,
)

_UPTIME_OID: Final = Oid.parse("1.3.6.1.2.1.1.3.0")
_ESCAPE: Final = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_IN_OCTETS: Final = re.compile(r"(\d{1,3})x", re.ASCII)
_LARGEST_TAG: Final = 255
_ESCAPED: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0"}


class BadRecording(ValueError):
    """A recording that cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Record:
    oid: Oid
    value: Value


def _unsigned(kind: type[int], bits: int) -> Callable[[str], Value]:
    def parse(text: str) -> Value:
        number = int(text)
        if not 0 <= number < 1 << bits:
            raise ValueError(f"{number} does not fit into {bits} bits")
        return kind(number)

    return parse


def _integer(text: str) -> Value:
    number = int(text)
    if not -(1 << 31) <= number < 1 << 32:
        raise ValueError(f"{number} does not fit into 32 bits")
    return number


def _unescape(text: str) -> Value:
    def plain(match: re.Match[bytes]) -> bytes:
        if match[1] is not None:
            return bytes((int(match[1], 16),))
        return _ESCAPED.get(match[2], match[2])

    return _ESCAPE.sub(plain, _octets(text))


def _octets(text: str) -> bytes:
    """Return the octets of a line, which may not be UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _null(text: str) -> Value:
    if text:
        raise ValueError("a NULL has no value")
    return None


_PARSERS: Final[Mapping[str, Callable[[str], Value]]] = {
    "2": _integer,
    "4": _octets,
    "4e": _unescape,
    "5": _null,
    "6": Oid.parse,
    "64": IPv4Address,
    "65": _unsigned(Counter32, 32),
    "66": _unsigned(Gauge32, 32),
    "67": _unsigned(TimeTicks, 32),
    "70": _unsigned(Counter64, 64),
}


def parse_line(line: str) -> Record:
    """Parse a line. Raises ValueError with a sentence."""
    parts = line.split("|", 2)
    if len(parts) != 3:
        raise ValueError("expected OID|type|value")
    oid, kind, value = parts
    parse = _PARSERS.get(kind) or _parser_of_octets(kind)
    if parse is None:
        raise ValueError(f"type '{kind}' is not one of {', '.join(_PARSERS)}, or such a number with an x")
    return Record(Oid.parse(oid), parse(value))


def _parser_of_octets(kind: str) -> Callable[[str], Value] | None:
    match = _IN_OCTETS.fullmatch(kind)
    if match is None or int(match[1]) > _LARGEST_TAG:
        return None
    tag = int(match[1])
    return lambda text: decode_value(tag, bytes.fromhex(text))


def line_of(record: Record) -> str:
    """Return the line of a record. Raises BadOid for an OID that no line can have."""
    oid = str(record.oid)
    Oid.parse(oid)
    kind, text = _format_value(record.value)
    return f"{oid}|{kind}|{text}"


def _format_value(value: Value) -> tuple[str, str]:
    """Return type and value of a line: readable where nothing is lost, else in octets."""
    if isinstance(value, bytes):
        return ("4", value.decode()) if _is_readable(value) else ("4x", value.hex())
    tag, content = content_of(value)
    plain = "" if value is None else str(value)
    parse = _PARSERS.get(str(tag))
    if parse is not None:
        with contextlib.suppress(ValueError, BadOid):
            again = parse(plain)
            if (again, type(again)) == (value, type(value)):
                return str(tag), plain
    return f"{tag}x", content.hex()


def _is_readable(octets: bytes) -> bool:
    try:
        return octets.decode().isprintable()
    except UnicodeDecodeError:
        return False


def read(path: Path) -> list[Record]:
    """Return the records of a file sorted by OID; of one that comes twice, the last."""
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise BadRecording(f"{path}: {error.strerror}") from error
    return sort(_records(path, text.split("\n")))


def _records(path: Path, lines: Iterable[str]) -> Iterable[Record]:
    for number, line in enumerate(lines, start=1):
        line = line.removesuffix("\r")
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield parse_line(line)
        except (ValueError, BadOid) as error:
            raise BadRecording(f"{path}, line {number}: {error}") from error


def write(path: Path, records: Iterable[Record]) -> None:
    """Write the records to a file, sorted by OID."""
    lines = "".join(f"{line_of(record)}\n" for record in sort(records))
    path.write_bytes(lines.encode())


def sort(records: Iterable[Record]) -> list[Record]:
    latest = {record.oid.content: record for record in records}
    return [latest[content] for content in sorted(latest, key=values.decode_arcs)]


def layout(records: Iterable[Record]) -> Layout[OltModel]:
    """Return a recording as tables. sysUpTime is not replayed but runs, so that agents can restart."""
    rows = [record for record in records if record.oid != _UPTIME_OID]
    before = [record for record in rows if record.oid < _UPTIME_OID]
    after = rows[len(before) :]
    return Layout(
        (_replayed("before", before), UPTIME, _replayed("after", after)),
        {"scalar": SCALAR, "before": _space(before), "after": _space(after, of_onus=True)},
    )


def _replayed(name: str, records: list[Record]) -> ColumnSpec[OltModel]:
    return ColumnSpec(name, "", name, lambda _olt, row, _now: records[row].value)


def _space(records: list[Record], *, of_onus: bool = False) -> IndexSpace:
    """Return the rows; which are of ONUs is not recorded, so all after sysUpTime count as such."""
    return IndexSpace((values.decode_arcs(record.oid.content) for record in records), of_onus=of_onus)
