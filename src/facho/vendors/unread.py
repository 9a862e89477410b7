"""From a fact back to the raw value that a device would send, and from a place back to its index: what the
simulator serves, and what a GET asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from facho.vendors import octets
from facho.vendors.index import POSITIONS, Arcs, Key
from facho.vendors.rules import Said
from facho.vendors.schema import (
    Bits,
    IndexLayout,
    Named,
    OctetsPart,
    Only,
    Packed,
    Plain,
    Rule,
    Skip,
    TextPart,
)
from facho.vendors.vocabulary import Fact, Kind

Raw = int | bytes


def encode_fact(fact: Fact, rule: Rule, value: object) -> Raw | None:
    """The raw value of a fact; of None, its first marker. None when the vendor has no way to say it."""
    if value is None:
        return _nothing(fact, rule)
    match fact.kind:
        case Kind.NUMBER | Kind.WHOLE if isinstance(value, int | float):
            return _number(fact, rule, value)
        case Kind.WORD:
            meaning = value.meaning if isinstance(value, Said) else str(value)
            return _word(rule, meaning)
        case Kind.SERIAL:
            return _serial(rule, str(value))
        case Kind.MAC:
            return bytes.fromhex(str(value).replace(":", ""))
        case Kind.DATE if isinstance(value, datetime):
            return octets.date_octets(value)
        case _:
            return str(value).encode()


def _nothing(fact: Fact, rule: Rule) -> Raw | None:
    if rule.no_value:
        return _octets_or_number(rule.no_value[0])
    if fact.kind is Kind.WORD:
        return _word(rule, None)
    if fact.kind is Kind.DATE:
        return bytes(8)
    return None if fact.kind in (Kind.NUMBER, Kind.WHOLE) else b""


def _number(fact: Fact, rule: Rule, value: float) -> Raw:
    if rule.milliwatts:
        return round(10 ** (value / 10) / rule.milliwatts)
    if rule.number_in_text is not None:
        where = rule.number_in_text
        before = where.before or f" {fact.unit}"
        return f"{where.after}{(value - rule.offset) / rule.text_scale:.2f}{before}".encode()
    # Without a scale nothing is computed: 64-bit counters do not fit into a float.
    raw = round((value - rule.offset) / rule.scale if rule.scale != 1.0 or rule.offset else value)
    return raw & (1 << rule.signed) - 1 if rule.signed else raw


def _serial(rule: Rule, written: str) -> bytes:
    """As octets, unless the vendor writes it out."""
    packed = octets.serial_octets(written)
    if rule.fits is None or rule.fits.fullmatch(packed.decode("latin-1")):
        return packed
    return written.encode()


def _word(rule: Rule, meaning: str | None) -> Raw | None:
    """The first number with this meaning; else one that says less."""
    for wanted in (meaning, *(("unknown", "other") if meaning is None else ("other", "offline", "unknown"))):
        for word in rule.enum:
            if word.meaning == wanted:
                return _octets_or_number(word.raw)
    return None


def _octets_or_number(raw: int | str) -> Raw:
    return raw.encode() if isinstance(raw, str) else raw


def encode_index(layout: IndexLayout, key: Key, numbers: Mapping[Key, int] | None = None) -> Arcs:
    """The index of a place, the inverse of decoding. `numbers` are those of places that are known by name."""
    arcs: list[int] = []
    for part in layout.parts:
        match part:
            case Plain():
                arcs.append(_whole(key, part.part) - part.plus)
            case Packed():
                arcs.append(pack(part.packings[0], key))
            case Named() if part.packings:
                arcs.append(pack(part.packings[0], key))
            case Named():
                arcs.append((numbers or {})[key])
            case Only():
                arcs.append(part.value)
            case Skip():
                arcs.append(1)
            case OctetsPart():
                arcs.extend(bytes.fromhex(str(key.extra).replace(":", "")))
            case TextPart():
                arcs.extend((len(str(key.extra)), *str(key.extra).encode()))
    return tuple(arcs)


def pack(bits: Bits, key: Key) -> int:
    number = bits.value & bits.fixed
    for field in bits.fields:
        number |= (_whole(key, field.part) - field.plus << field.at) & field.mask
    return number


def write_name(named: Named, key: Key) -> str:
    parts = {part: key[position] for part, position in POSITIONS.items()}
    return named.names[0].replace("*", "").format(**parts)


def _whole(key: Key, part: str) -> int:
    value = key[POSITIONS[part]]
    return value if isinstance(value, int) else 0
