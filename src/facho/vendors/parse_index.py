"""The `indexes` of a profile: how an index number becomes a place."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Final

from facho.core.oid_limits import LARGEST_ARC
from facho.vendors.nodes import Node
from facho.vendors.schema import (
    PARTS,
    BitField,
    Bits,
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
from facho.vendors.vocabulary import Confidence

_KEYS: Final = (
    "part", "plus", "range", "bits", "value", "packings", "skip", "only", "octets", "text", "names", "column",
    "ignore_others",
)  # fmt: skip
_CONSTANT: Final = ("frame", "slot", "port")
_MOST_STARS: Final = 2
_PLACEHOLDER: Final = re.compile(r"\{(\w*)\}")


def index_parts(node: Node) -> tuple[IndexPart, ...]:
    items = node.items()
    if not items:
        node.wrong("an index has at least one number")
    parts = tuple(part for item in items if (part := _part(item)) is not None)
    if sum(isinstance(part, Named) for part in parts) > 1:
        node.wrong("only one number of an index can be known by its name")
    return parts


def always_parts(node: Node, parts: tuple[IndexPart, ...]) -> tuple[tuple[str, int], ...]:
    """What is the same in every row, and so is not in the numbers."""
    found = []
    for key, value in node.pairs():
        part = key.choice(_CONSTANT)
        if part in parts_given(parts):
            key.wrong(f"{part} is in the numbers of the index too")
        found.append((part, value.whole(0, LARGEST_ARC)))
    return tuple(found)


def _part(node: Node) -> IndexPart | None:
    if not node.is_map:
        return Plain(node.choice(PARTS))
    keys = node.map(_KEYS)
    if "names" in keys or "column" in keys:
        return _named(node, keys)
    if "bits" in keys or "packings" in keys:
        packings = _packings(node, keys)
        ignore_others = keys["ignore_others"].flag() if "ignore_others" in keys else False
        return Packed(packings, ignore_others) if packings else None
    if "skip" in keys:
        return Skip()
    if "only" in keys:
        return Only(keys["only"].whole(0, LARGEST_ARC))
    if "text" in keys:
        return TextPart(keys["text"].choice(("name",)))
    if "octets" in keys:
        part = keys["part"].choice(("mac",)) if "part" in keys else "mac"
        return OctetsPart(part, keys["octets"].whole(6, 6))
    if "part" not in keys:
        node.wrong(
            "a part of an index is a name, or has one of part, bits, packings, names, skip, only, text"
        )
        return None
    low, high = _range(keys)
    return Plain(keys["part"].choice(PARTS), keys["plus"].whole() if "plus" in keys else 0, low, high)


def _range(keys: dict[str, Node]) -> tuple[int | None, int | None]:
    if "range" not in keys:
        return None, None
    ends = [item.whole() for item in keys["range"].items()]
    if len(ends) != 2 or ends[0] > ends[1]:
        keys["range"].wrong("expected [lowest, highest]")
        return None, None
    return ends[0], ends[1]


def _packings(node: Node, keys: dict[str, Node]) -> tuple[Bits, ...]:
    if "packings" in keys:
        each = [
            (item, item.map(("bits", "value", "apart", "confidence", "source"), ("bits",)))
            for item in keys["packings"].items()
        ]
        if not each:
            keys["packings"].wrong("there is no packing in it")
    else:
        each = [(node, keys)]
    found = [_bits(item, inner) for item, inner in each if "bits" in inner]
    for first, second in combinations(found, 2):
        if {field.part for field in first.fields} != {field.part for field in second.fields}:
            node.wrong("packings of one index must tell the same parts")
        if not (first.value ^ second.value) & first.fixed & second.fixed:
            node.wrong("two packings cannot be told apart: no fixed bit of their values differs")
    return tuple(found)


def _bits(node: Node, keys: dict[str, Node]) -> Bits:
    value = keys["value"].whole(0, LARGEST_ARC) if "value" in keys else 0
    fields = tuple(_field(key.choice(PARTS), item) for key, item in keys["bits"].pairs())
    if not fields:
        node.wrong("'bits' names no part")
    for first, second in combinations(fields, 2):
        shared = first.mask & second.mask
        if shared:
            low, high = (shared & -shared).bit_length() - 1, shared.bit_length() - 1
            bits = f"bit {low}" if low == high else f"bits {low} to {high}"
            keys["bits"].wrong(f"{first.part} and {second.part} overlap: both have {bits}")
    for field in fields:
        if value & field.mask:
            keys["value"].wrong(f"0x{value:08X} has bits of its own where {field.part} is")
    return Bits(fields, value, _origin(keys), keys["apart"].flag() if "apart" in keys else False)


def _field(part: str, node: Node) -> BitField:
    keys = node.map(("at", "width", "plus", "range", "confidence", "source"), ("at", "width"))
    at = keys["at"].whole(0, 31) if "at" in keys else 0
    width = keys["width"].whole(1, 32) if "width" in keys else 1
    if at + width > 32:
        node.wrong(f"bits {at} to {at + width - 1} are not in a number of 32 bits")
        width = 1
    low, high = _range(keys)
    plus = keys["plus"].whole() if "plus" in keys else 0
    return BitField(part, at, width, plus, low, high, _origin(keys))


def _origin(keys: dict[str, Node]) -> Origin | None:
    if "confidence" not in keys:
        return None
    source = keys["source"].text() if "source" in keys else ""
    return Origin(Confidence(keys["confidence"].choice(tuple(Confidence))), source)


def _named(node: Node, keys: dict[str, Node]) -> Named | None:
    if "names" not in keys or "column" not in keys:
        node.wrong("an index that is known by its name needs both 'names' and 'column'")
        return None
    names = tuple(_template(item) for item in keys["names"].items())
    if not names:
        keys["names"].wrong("there is no name in it")
        return None
    if len({frozenset(_PLACEHOLDER.findall(name)) for name in names}) > 1:
        keys["names"].wrong("all names must have the same parts in braces")
    packings = _packings(node, keys) if "bits" in keys or "packings" in keys else ()
    _check_told(node, names, packings)
    ignore_others = keys["ignore_others"].flag() if "ignore_others" in keys else False
    return Named(keys["column"].oid(), names, packings, ignore_others)


def _check_told(node: Node, names: tuple[str, ...], packings: tuple[Bits, ...]) -> None:
    told = set(_PLACEHOLDER.findall(names[0]))
    for bits in packings:
        missing = sorted(told - {field.part for field in bits.fields})
        if missing:
            node.wrong(f"the bits do not tell {', '.join(missing)}, which the names do")


def _template(node: Node) -> str:
    text = node.text()
    parts = _PLACEHOLDER.findall(text)
    numeric = tuple(part for part in PARTS if part not in ("name", "mac"))
    if not parts or len(set(parts)) != len(parts) or not set(parts) <= set(numeric):
        known = ", ".join(f"{{{each}}}" for each in numeric)
        node.wrong(f"'{text}' must hold some of {known}, each once")
        return "{port}"
    rest = _PLACEHOLDER.sub("", text)
    if "{" in rest or "}" in rest:
        node.wrong(f"'{text}' has braces that hold no part")
        return "{port}"
    if rest.count("*") > _MOST_STARS:
        node.wrong(f"'{text}' has more than {_MOST_STARS} stars: it would be slow to compare with")
    return text
