"""Values of an operator's own OIDs, as the JSON result of an execution can hold them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from itertools import islice
from typing import Final

from facho.core.reasons import NO_REASON, Reason
from facho.snmp import Missing, Value
from facho.snmp.values import Unknown
from facho.vendors.errors import BadIndex
from facho.vendors.index import split_arcs

MOST_ROWS: Final = 10_000
_LONGEST: Final = 1_000

Raw = dict[str, dict[str, object]]


def plain(value: Value) -> int | float | str | None:
    """Octets that are no readable text are written 0x.. in hexadecimal; a number keeps its value, not its
    SNMP type.
    """
    match value:
        case bytes():
            return _cut(_text(value))
        case Missing():
            return None
        case Unknown():
            return _cut("0x" + value.content.hex())
        case float() if not math.isfinite(value):
            return str(value)
        case float():
            return float(value)
        case int():
            return int(value)
        case None:
            return None
        case _:
            return str(value)


def _text(octets: bytes) -> str:
    with contextlib.suppress(UnicodeDecodeError):
        text = octets.decode()
        # A text that looks like our hexadecimal is written in hexadecimal, so that each has one reading.
        if all(letter.isprintable() or letter in "\r\n\t" for letter in text) and not text.startswith("0x"):
            return text
    return "0x" + octets.hex()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def dotted(suffix: bytes) -> str:
    try:
        return ".".join(map(str, split_arcs(suffix))) if suffix else ""
    except BadIndex:
        return "0x" + suffix.hex()


def raw_rows(own: Mapping[str, Mapping[bytes, Value]], most: int = MOST_ROWS) -> tuple[Raw, Reason]:
    """Return name -> index in dots -> value, and the reason if not all of it was kept."""
    raw: Raw = {}
    room = most
    for name, rows in own.items():
        raw[name] = {dotted(suffix): plain(value) for suffix, value in islice(rows.items(), room)}
        room -= len(raw[name])
    came = sum(map(len, own.values()))
    kept = sum(map(len, raw.values()))
    cut = Reason.of("own_rows_cut", total=came, number=kept) if kept < came else NO_REASON
    return raw, cut
