"""Encodes facts as raw values and places as indexes: the inverse of decoding.

The simulator serves the values; a GET asks for the indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from itertools import chain, product

from facho.vendors import rules
from facho.vendors.errors import BadIndex
from facho.vendors.facts import Fact, Kind
from facho.vendors.index import (
    POSITIONS,
    Arcs,
    CompiledIndex,
    Key,
    compile_index,
    join_arcs,
    split_arcs,
)
from facho.vendors.rules import State
from facho.vendors.schema import (
    Bits,
    IndexLayout,
    IndexPart,
    Named,
    OctetsPart,
    Only,
    Packed,
    Plain,
    Rule,
    Skip,
    TextPart,
)

Raw = int | bytes


def encode_fact(fact: Fact, rule: Rule, value: object) -> Raw | None:
    """Return the raw value of a fact; for None, the first marker, or None where the vendor has none."""
    if value is None:
        return _encode_none(fact, rule)
    match fact.kind:
        case Kind.NUMBER | Kind.WHOLE if isinstance(value, int | float):
            return _encode_number(fact, rule, value)
        case Kind.WORD:
            meaning = value.meaning if isinstance(value, State) else str(value)
            return _encode_word(rule, meaning)
        case Kind.SERIAL:
            return _encode_serial(rule, str(value))
        case Kind.MAC:
            return bytes.fromhex(str(value).replace(":", ""))
        case Kind.DATE if isinstance(value, datetime):
            return rules.date_octets(value)
        case _:
            return str(value).encode()


def _encode_none(fact: Fact, rule: Rule) -> Raw | None:
    if rule.no_value:
        return _octets_or_number(rule.no_value[0])
    if fact.kind is Kind.WORD:
        return _encode_word(rule, None)
    if fact.kind is Kind.DATE:
        return bytes(8)
    return None if fact.kind in (Kind.NUMBER, Kind.WHOLE) else b""


def _encode_number(fact: Fact, rule: Rule, value: float) -> Raw:
    if rule.milliwatts:
        return round(10 ** (value / 10) / rule.milliwatts)
    if rule.number_in_text is not None:
        where = rule.number_in_text
        before = where.before or f" {fact.unit}"
        return f"{where.after}{(value - rule.offset) / rule.text_scale:.2f}{before}".encode()
    # Without a scale nothing is computed: 64-bit counters do not fit into a float.
    raw = round((value - rule.offset) / rule.scale if rule.scale != 1.0 or rule.offset else value)
    return raw & (1 << rule.signed) - 1 if rule.signed else raw


def _encode_serial(rule: Rule, written: str) -> bytes:
    """Return a serial as octets, or as text where the vendor writes it so."""
    packed = rules.serial_octets(written)
    if rule.fits is None or rule.fits.fullmatch(packed.decode("latin-1")):
        return packed
    return written.encode()


def _encode_word(rule: Rule, meaning: str | None) -> Raw | None:
    """Return the first value with this meaning; else one with a more general meaning."""
    for wanted in (meaning, *(("unknown", "other") if meaning is None else ("other", "offline", "unknown"))):
        for word in rule.enum:
            if word.meaning == wanted:
                return _octets_or_number(word.raw)
    return None


def _octets_or_number(raw: int | str) -> Raw:
    return raw.encode() if isinstance(raw, str) else raw


def encode_index(
    layout: IndexLayout, key: Key, numbers: Mapping[Key, int] | None = None, like: Collection[Bits] = ()
) -> Arcs:
    """Return the index of a place. Raises BadIndex for a place that the index would not be read back as.

    `numbers` are those of places that are known by name. Of several packings that hold the place, the one
    most similar to those in `like` is taken.
    """
    return split_arcs(IndexWriter(layout, compile_index(layout), like).write(key, numbers))


class IndexWriter:
    """Writes places as an index of one layout; made once for many places."""

    def __init__(self, layout: IndexLayout, index: CompiledIndex, like: Collection[Bits] = ()) -> None:
        """`index` reads back what is written; `like` is as for encode_index."""
        self._name = layout.name
        self._index = index
        self._ways = [_ways_to_write(part, like) for part in layout.parts]
        # Otherwise only the names of the device tell the place.
        self._can_be_read = layout.named is None or bool(layout.named.packings)

    def write(self, key: Key, numbers: Mapping[Key, int] | None = None) -> bytes:
        """Return the octets that travel. Raises BadIndex for a place that they would not be read back as."""
        for way in product(*[ways(key, numbers or {}) for ways in self._ways]):
            suffix = join_arcs(tuple(chain.from_iterable(way)))
            if not self._can_be_read or self._index.is_read_as(suffix, key):
                return suffix
        raise BadIndex(f"{key} does not fit into an index of '{self._name}'")


# The numbers that a part of an index can have at a place: one, none, or one for each packing.
_Ways = Callable[[Key, Mapping[Key, int]], list[Arcs]]


def _ways_to_write(part: IndexPart, like: Collection[Bits]) -> _Ways:
    match part:
        case Named(packings=()):
            return lambda key, numbers: [(numbers[key],)]
        case Packed() | Named():
            return _ways_to_pack(sorted(part.packings, key=lambda bits: -_similarity(bits, like)))
        case Plain():
            return _ways_to_count(part)
        case Only():
            only: list[Arcs] = [(part.value,)]
            return lambda _key, _numbers: only
        case Skip():
            first: list[Arcs] = [(1,)]
            return lambda _key, _numbers: first
        case OctetsPart():
            return lambda key, _numbers: [tuple(bytes.fromhex(str(key.extra).replace(":", "")))]
        case TextPart():
            return lambda key, _numbers: [(len(str(key.extra)), *str(key.extra).encode())]


def _ways_to_count(part: Plain) -> _Ways:
    position, plus = POSITIONS[part.part], part.plus

    def ways(key: Key, _numbers: Mapping[Key, int]) -> list[Arcs]:
        value = key[position]
        return [(value - plus,)] if isinstance(value, int) and value >= plus else []

    return ways


def _ways_to_pack(packings: Iterable[Bits]) -> _Ways:
    packers = [
        (
            bits.value & bits.fixed,
            [(POSITIONS[field.part], field.plus, field.width, field.at) for field in bits.fields],
        )
        for bits in packings
    ]

    def ways(key: Key, _numbers: Mapping[Key, int]) -> list[Arcs]:
        found: list[Arcs] = []
        for number, fields in packers:
            for position, plus, width, at in fields:
                value = key[position]
                if not isinstance(value, int) or (value - plus) >> width:
                    break
                number |= value - plus << at
            else:
                found.append((number,))
        return found

    return ways


def _similarity(bits: Bits, like: Collection[Bits]) -> int:
    """Count the parts that have as many bits as in a packing of `like`."""
    widths = [{(field.part, field.width) for field in each.fields} for each in (bits, *like)]
    return max((len(widths[0] & each) for each in widths[1:]), default=0)


def pack(bits: Bits, key: Key) -> int:
    """Return the number of a place, with zeros for parts that the key does not have. Raises BadIndex."""
    number = bits.value & bits.fixed
    for field in bits.fields:
        value = key[POSITIONS[field.part]]
        raw = value - field.plus if isinstance(value, int) else 0
        if not 0 <= raw < 1 << field.width:
            raise BadIndex(f"{field.part} {value} does not fit into {field.width} bits")
        number |= raw << field.at
    return number


def is_packed_in(bits: Bits, arcs: Arcs) -> bool:
    """Return whether an index may have been written with this packing."""
    return any(arc & bits.fixed == bits.value & bits.fixed for arc in arcs)


def write_name(named: Named, key: Key) -> str:
    parts = {part: key[position] for part, position in POSITIONS.items()}
    return named.names[0].replace("*", "").format(**parts)
