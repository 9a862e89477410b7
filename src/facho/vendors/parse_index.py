"""The `indexes` of a profile: how an index number becomes a place."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Final

from facho.core.oid_limits import LARGEST_ARC
from facho.vendors.facts import Confidence
from facho.vendors.parse_columns import ORIGIN_KEYS, pop_origin
from facho.vendors.profile_entries import Entry, Fields, Form, bounds, list_of, one_of, unread, whole
from facho.vendors.schema import (
    PARTS,
    BitField,
    Bits,
    IndexLayout,
    IndexPart,
    Named,
    OctetsPart,
    Only,
    Origin,
    Packed,
    Plain,
    Skip,
    TextPart,
    parts_given,
)

_CONSTANT: Final = ("frame", "slot", "port")
_NUMERIC: Final = tuple(part for part in PARTS if part not in ("name", "mac"))
_MOST_STARS: Final = 2
_PLACEHOLDER: Final = re.compile(r"\{(\w*)\}")
_NO_ORIGIN: Final = Origin(Confidence.GUESS, "")


def _template(entry: Entry) -> str:
    text = entry.text()
    parts = _PLACEHOLDER.findall(text)
    rest = _PLACEHOLDER.sub("", text)
    if not parts or len(set(parts)) != len(parts) or not set(parts) <= set(_NUMERIC):
        known = ", ".join(f"{{{each}}}" for each in _NUMERIC)
        entry.wrong(f"'{text}' must hold some of {known}, each once")
    elif "{" in rest or "}" in rest:
        entry.wrong(f"'{text}' has braces that hold no part")
    else:
        if rest.count("*") > _MOST_STARS:
            entry.wrong(f"'{text}' has more than {_MOST_STARS} stars: it would be slow to compare with")
        return text
    return "{port}"


_NUMBER_KEYS: Final = {"plus": Entry.whole, "range": bounds(Entry.whole)}
_FIELD: Final = Form(
    {"at": whole(0, 31), "width": whole(1, 32), **_NUMBER_KEYS, **ORIGIN_KEYS}, ("at", "width")
)
_BITS_KEYS: Final = {"bits": unread, "value": whole(0, LARGEST_ARC)}
_PACKING: Final = Form({**_BITS_KEYS, "apart": Entry.flag, **ORIGIN_KEYS}, ("bits",))
_PART: Final = Form(
    {
        "part": one_of(PARTS),
        **_NUMBER_KEYS,
        **_BITS_KEYS,
        "packings": list_of(_PACKING.read),
        "skip": unread,
        "only": whole(0, LARGEST_ARC),
        "octets": whole(6, 6),
        "text": one_of(("name",)),
        "names": list_of(_template),
        "column": Entry.oid,
        "ignore_others": Entry.flag,
    },
    short="part",
)
_LAYOUT: Final = Form({"parts": unread, "always": unread, **ORIGIN_KEYS}, ("parts",), short="parts")


def parse_layout(name: str, entry: Entry, origin: Origin) -> IndexLayout | None:
    fields = _LAYOUT.read(entry)
    if not fields.complete:
        return None
    items: Entry = fields.values["parts"]
    parts = tuple(part for item in items.items() if (part := _parse_part(_PART.read(item))) is not None)
    if not items.items():
        items.wrong("an index has at least one number")
    if sum(isinstance(part, Named) for part in parts) > 1:
        items.wrong("only one number of an index can be known by its name")
    always = _parse_always(fields.values["always"], parts) if "always" in fields.values else ()
    return IndexLayout(name, parts, pop_origin(fields, origin), always)


def _parse_always(entry: Entry, parts: tuple[IndexPart, ...]) -> tuple[tuple[str, int], ...]:
    """Return the parts that are the same in every row, and so are not in the numbers."""
    found = []
    for key, value in entry.pairs():
        part = key.choice(_CONSTANT)
        if part in parts_given(parts):
            key.wrong(f"{part} is in the numbers of the index too")
        found.append((part, value.whole(0, LARGEST_ARC)))
    return tuple(found)


def _parse_part(fields: Fields) -> IndexPart | None:
    match fields.values:
        case {"names": _} | {"column": _}:
            return _parse_named(fields)
        case {"bits": _} | {"packings": _}:
            packings = _parse_packings(fields)
            return Packed(packings, fields.values.get("ignore_others", False)) if packings else None
        case {"skip": _}:
            return Skip()
        case {"only": value}:
            return Only(value)
        case {"text": part}:
            return TextPart(part)
        case {"octets": count}:
            return OctetsPart(
                fields.entries["part"].choice(("mac",)) if "part" in fields.values else "mac", count
            )
        case {"part": part}:
            low, high = fields.values.get("range", (None, None))
            ignore_others = fields.values.get("ignore_others", False)
            if ignore_others and low is None:
                fields.wrong("ignore_others", "without 'range', every number counts")
            return Plain(part, fields.values.get("plus", 0), low, high, ignore_others)
    fields.entry.wrong(
        "a part of an index is a name, or has one of part, bits, packings, names, skip, only, text"
    )
    return None


def _parse_packings(fields: Fields) -> tuple[Bits, ...]:
    packings: tuple[Fields, ...] = fields.values.get("packings", (fields,))
    if not packings:
        fields.wrong("packings", "there is no packing in it")
    found = tuple(_parse_bits(packing) for packing in packings if "bits" in packing.values)
    for first, second in combinations(found, 2):
        if {field.part for field in first.fields} != {field.part for field in second.fields}:
            fields.entry.wrong("packings of one index must tell the same parts")
        if not (first.value ^ second.value) & first.fixed & second.fixed:
            fields.entry.wrong("two packings cannot be told apart: no fixed bit of their values differs")
    return found


def _parse_bits(packing: Fields) -> Bits:
    value: int = packing.values.get("value", 0)
    entry: Entry = packing.values["bits"]
    parsed = [_parse_bit_field(key.choice(PARTS), item) for key, item in entry.pairs()]
    fields = tuple(field for field in parsed if field is not None)
    if not parsed:
        packing.entry.wrong("'bits' names no part")
    for first, second in combinations(fields, 2):
        shared = first.mask & second.mask
        if shared:
            low, high = (shared & -shared).bit_length() - 1, shared.bit_length() - 1
            bits = f"bit {low}" if low == high else f"bits {low} to {high}"
            entry.wrong(f"{first.part} and {second.part} overlap: both have {bits}")
    for field in fields:
        if value & field.mask:
            packing.wrong("value", f"0x{value:08X} has bits of its own where {field.part} is")
    return Bits(fields, value, _own_origin(packing), packing.values.get("apart", False))


def _parse_bit_field(part: str, entry: Entry) -> BitField | None:
    fields = _FIELD.read(entry)
    origin = _own_origin(fields)
    low, high = fields.values.pop("range", (None, None))
    field = fields.build(BitField, part=part, low=low, high=high, origin=origin)
    if field is not None and field.at + field.width > 32:
        entry.wrong(f"bits {field.at} to {field.at + field.width - 1} are not in a number of 32 bits")
        return None
    return field


def _own_origin(fields: Fields) -> Origin | None:
    """Return the origin of an entry that names its confidence; else it is that of its index."""
    own = "confidence" in fields.values
    origin = pop_origin(fields, _NO_ORIGIN)
    return origin if own else None


def _parse_named(fields: Fields) -> Named | None:
    if not {"names", "column"} <= fields.values.keys():
        fields.entry.wrong("an index that is known by its name needs both 'names' and 'column'")
        return None
    names: tuple[str, ...] = fields.values["names"]
    if not names:
        fields.wrong("names", "there is no name in it")
        return None
    if len({frozenset(_PLACEHOLDER.findall(name)) for name in names}) > 1:
        fields.wrong("names", "all names must have the same parts in braces")
    packings = _parse_packings(fields) if not fields.values.keys().isdisjoint(("bits", "packings")) else ()
    for bits in packings:
        missing = sorted({*_PLACEHOLDER.findall(names[0])} - {field.part for field in bits.fields})
        if missing:
            fields.entry.wrong(f"the bits do not tell {', '.join(missing)}, which the names do")
    return Named(fields.values["column"], names, packings, fields.values.get("ignore_others", False))
