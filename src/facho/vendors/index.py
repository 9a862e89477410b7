"""From the index of a row to the place of an ONU, port or board.

A layout is compiled once. What it gives for an index is remembered: every column of a table repeats the same
indices, and so does every collection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from facho.core.oid_limits import LARGEST_ARC, MOST_ARCS
from facho.vendors.errors import BadIndex
from facho.vendors.schema import (
    BitField,
    Bits,
    IndexLayout,
    IndexPart,
    Named,
    OctetsPart,
    Only,
    Packed,
    Plain,
    Skip,
    TextPart,
    parts_in_names,
)

Arcs = tuple[int, ...]
# The octets of a number but for the last one.
_NOT_LAST: Final = bytes(range(0x80, 0x100))
_REMEMBERED: Final = 1 << 16
_LONGEST_NAME: Final = 255


class Key(NamedTuple):
    """A place on an OLT. What the vendor's index does not tell is None; `extra` tells rows of one place apart
    (a UNI, a row of unknown ONUs), or is all there is (a name)."""

    frame: int | None = None
    slot: int | None = None
    port: int | None = None
    onu: int | None = None
    extra: int | str | None = None

    def __str__(self) -> str:
        place = "/".join(str(part) for part in self[:3] if part is not None)
        onu = "" if self.onu is None else f":{self.onu}" if place else str(self.onu)
        extra = "" if self.extra is None else f" {self.extra}"
        return (place + onu + extra).strip()


# Equal places are one object, so that the rows of two tables compare quickly.
_known: Final[dict[Key, Key]] = {}
POSITIONS: Final = {
    "frame": 0, "slot": 1, "port": 2, "onu": 3, "uni": 4, "row": 4, "name": 4, "mac": 4
}  # fmt: skip

Parts = list[int | str | None]
# Takes the numbers from a position on and notes the parts; gives the next position, or -1 for a row of no
# interest.
_Step = Callable[[Arcs, int, Parts], int]


class CompiledIndex(dict[bytes, Key | None]):
    """Index octets -> place; None for rows of no interest. Raises BadIndex for what is no such index."""

    def __init__(self, layout: IndexLayout, names: Mapping[int, Parts | None] | None = None) -> None:
        super().__init__()
        self.layout = layout
        self._steps = [_step(part, names) for part in layout.parts]
        self._size = _size_of(layout)
        always = dict(layout.always)
        self._start: Parts = [always.get(part) for part in Key._fields]

    def __missing__(self, suffix: bytes) -> Key | None:
        key = self.decode(split_arcs(suffix))
        if len(self) >= _REMEMBERED:
            self.clear()
        self[suffix] = key
        return key

    def is_read_as(self, suffix: bytes, key: Key) -> bool:
        """Whether these octets are the index of this place."""
        if not suffix or (self._size and len(suffix.translate(None, _NOT_LAST)) != self._size):
            return False
        try:
            return self[suffix] == key
        except BadIndex:
            return False

    def decode(self, arcs: Arcs) -> Key | None:
        parts = self._start.copy()
        at = 0
        for step in self._steps:
            at = step(arcs, at, parts)
            if at < 0:
                return None
        if at != len(arcs):
            raise BadIndex(f"{_dotted(arcs)} has more numbers than an index of '{self.layout.name}'")
        return intern_key(Key(*parts))  # type: ignore[arg-type]


def _size_of(layout: IndexLayout) -> int:
    """Count the numbers of an index; 0 where it is now of one size and now of another."""
    if any(isinstance(part, TextPart) for part in layout.parts):
        return 0
    return sum(part.count if isinstance(part, OctetsPart) else 1 for part in layout.parts)


def intern_key(key: Key) -> Key:
    if len(_known) >= 4 * _REMEMBERED:
        _known.clear()
    return _known.setdefault(key, key)


def split_arcs(suffix: bytes) -> Arcs:
    """The numbers of an index, from the octets that travelled."""
    arcs: list[int] = []
    arc = 0
    for octet in suffix:
        if octet == 0x80 and not arc:
            # Padded, one index would have two ways to be written.
            raise BadIndex(f"0x{suffix[:32].hex()} is no index")
        arc = arc << 7 | octet & 0x7F
        if octet < 0x80:
            arcs.append(arc)
            arc = 0
            if len(arcs) > MOST_ARCS:
                raise BadIndex(f"an index of more than {MOST_ARCS} numbers")
    if not suffix or suffix[-1] >= 0x80 or max(arcs) > LARGEST_ARC:
        raise BadIndex(f"0x{suffix[:32].hex()} is no index")
    return tuple(arcs)


def join_arcs(arcs: Arcs) -> bytes:
    """The octets that travel for the numbers of an index."""
    octets = bytearray()
    for arc in arcs:
        if arc < 0x80:
            octets.append(arc)
            continue
        size = (arc.bit_length() + 6) // 7
        octets += bytes(arc >> 7 * place & 0x7F | (0x80 if place else 0) for place in reversed(range(size)))
    return bytes(octets)


@lru_cache(maxsize=256)
def compile_index(layout: IndexLayout) -> CompiledIndex:
    """For indices that need no names, or whose names were not read."""
    return CompiledIndex(layout)


class NamedNumber(NamedTuple):
    """What a row of the column with the names says."""

    number: int
    # None for an interface of another kind.
    parts: Parts | None
    # Where the number itself says another place. The name counts; but one of them is wrong.
    disagrees: str = ""


class _Names(dict[tuple[bytes, object], NamedNumber]):
    """Index octets and name -> what they say. Patterns are for names that were not seen before."""

    def __init__(self, named: Named) -> None:
        super().__init__()
        self._named = named

    def __missing__(self, row: tuple[bytes, object]) -> NamedNumber:
        suffix, name = row
        said = _named_number(self._named, suffix, name)
        if len(self) >= _REMEMBERED:
            self.clear()
        if not isinstance(name, bytes) or len(name) <= _LONGEST_NAME:
            self[row] = said
        return said


@lru_cache(maxsize=256)
def _names_of(named: Named) -> _Names:
    return _Names(named)


def read_names(named: Named, names: Mapping[bytes, object]) -> list[NamedNumber]:
    """The names that a device has now."""
    return list(map(_names_of(named).__getitem__, names.items()))


def compile_with_names(layout: IndexLayout, names: list[NamedNumber]) -> CompiledIndex:
    """Names seldom change, and OLTs of a model have the same ones: what was found for them still holds."""
    before, index = _with_names.get(layout, (None, None))
    if index is None or before != names:
        index = CompiledIndex(layout, {name.number: name.parts for name in names})
        _with_names[layout] = names, index
    return index


_with_names: Final[dict[IndexLayout, tuple[list[NamedNumber], CompiledIndex]]] = {}


class _PortNames:
    """The names of ports by what their numbers count, for numbers that are not their own: those of ONUs."""

    def __init__(self, named: Named, names: Mapping[int, Parts | None]) -> None:
        self._told = [POSITIONS[part] for part in parts_in_names(named.names)]
        self._names = {
            self._count(counted): parts
            for number, parts in names.items()
            if (counted := _port_counted(named, number)) is not None
        }

    def _count(self, counted: Parts) -> tuple[int | str | None, ...]:
        return tuple(counted[position] for position in self._told)

    def of(self, counted: Parts) -> Parts | None:
        """As counted, but for what the name says otherwise; None on a port of another kind."""
        name = self._names.get(self._count(counted), counted)
        if name is None:
            return None
        right = counted.copy()
        _merge(name, right)
        return right


def _port_counted(named: Named, number: int) -> Parts | None:
    """What the number of a port counts; None for that of an ONU. Some agents give the bare count instead."""
    for bits, ports in _port_packings(named):
        if number & bits.fixed == bits.value & bits.fixed:
            # The bits of the ONU are zero in the number of its port.
            return _unpacked([ports], number)
    return [number] * 5


@lru_cache(maxsize=256)
def _port_packings(named: Named) -> list[tuple[Bits, Bits]]:
    """Each packing, and what is left of it without the parts that the names do not tell."""
    told = parts_in_names(named.names)
    return [
        (bits, replace(bits, fields=tuple(field for field in bits.fields if field.part in told)))
        for bits in named.packings
    ]


def _named_number(named: Named, suffix: bytes, name: object) -> NamedNumber:
    number, parts = _single(suffix), _parts_of(named, name)
    counted = _unpacked([bits for bits in named.packings if not bits.apart], number)
    if parts is None or counted is None or _agree(parts, counted):
        return NamedNumber(number, parts)
    why = f"its name says {Key(*parts)}, its number {Key(*counted)}"  # type: ignore[arg-type]
    return NamedNumber(number, parts, why)


def _agree(parts: Parts, counted: Parts) -> bool:
    return all(part is None or part == other for part, other in zip(parts, counted, strict=True))


def _single(suffix: bytes) -> int:
    """The number of an index of one; -1 for what is none."""
    try:
        (arc,) = split_arcs(suffix)
    except ValueError:
        return -1
    return arc


def _parts_of(named: Named, name: object) -> Parts | None:
    if not isinstance(name, bytes) or len(name) > _LONGEST_NAME:
        return None
    text = name.decode("utf-8", "replace").strip("\0 ")
    for pattern in _patterns(named.names):
        match = pattern.fullmatch(text)
        if match is not None:
            parts: Parts = [None] * 5
            for part, value in match.groupdict().items():
                parts[POSITIONS[part]] = int(value)
            return parts
    return None


@lru_cache(maxsize=256)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(_pattern(name), re.IGNORECASE) for name in names)


def _pattern(name: str) -> str:
    pieces = re.split(r"(\{\w+\}|\*)", name)
    return "".join(
        ".*" if piece == "*"
        else rf"(?P<{piece[1:-1]}>\d{{1,9}})" if piece.startswith("{")
        else re.escape(piece)
        for piece in pieces
    )  # fmt: skip


def _unpacked(packings: Iterable[Bits], number: int) -> Parts | None:
    for bits in packings:
        if number >= 0 and number & bits.fixed == bits.value & bits.fixed:
            parts: Parts = [None] * 5
            for field in bits.fields:
                part = (number & field.mask) >> field.at
                parts[POSITIONS[field.part]] = part + field.plus
                if not _within(part + field.plus, field):
                    return None
            return parts
    return None


def _within(value: int, bounds: BitField | Plain) -> bool:
    return (bounds.low is None or value >= bounds.low) and (bounds.high is None or value <= bounds.high)


def _step(part: IndexPart, names: Mapping[int, Parts | None] | None) -> _Step:
    match part:
        case Plain():
            return _plain(part)
        case Packed():
            return _packed(part.packings, part.ignore_others)
        case Named():
            return _packed(part.packings, part.ignore_others) if names is None else _named(part, names)
        case Skip():
            return lambda arcs, at, _parts: at + 1 if at < len(arcs) else _short(arcs)
        case Only():
            return lambda arcs, at, _parts: _only(part.value, arcs, at)
        case OctetsPart():
            return lambda arcs, at, parts: _octets(part, arcs, at, parts)
        case TextPart():
            return lambda arcs, at, parts: _text(part, arcs, at, parts)


def _plain(plain: Plain) -> _Step:
    position = POSITIONS[plain.part]

    def step(arcs: Arcs, at: int, parts: Parts) -> int:
        if at >= len(arcs):
            return _short(arcs)
        value = arcs[at] + plain.plus
        if not _within(value, plain):
            raise BadIndex(f"{_dotted(arcs)}: {plain.part} {value} is out of its range")
        parts[position] = value
        return at + 1

    return step


def _packed(packings: tuple[Bits, ...], ignore_others: bool = False) -> _Step:
    def step(arcs: Arcs, at: int, parts: Parts) -> int:
        if at >= len(arcs):
            return _short(arcs)
        found = _unpacked(packings, arcs[at])
        if found is None and ignore_others:
            return -1
        if found is None:
            raise BadIndex(f"{arcs[at]} (0x{arcs[at]:08X}) is not built like the indices of this table")
        _merge(found, parts)
        return at + 1

    return step


def _named(named: Named, names: Mapping[int, Parts | None]) -> _Step:
    more = {field.part for bits in named.packings for field in bits.fields} > set(parts_in_names(named.names))
    by_count = more or any(bits.apart for bits in named.packings)
    ports = _PortNames(named, names) if by_count else None

    def find(number: int) -> Parts | None:
        if number in names and not more:
            return names[number]
        counted = _unpacked(named.packings, number)
        if counted is None and not named.ignore_others:
            raise BadIndex(f"{number} has no name in {named.column}")
        return counted if ports is None or counted is None else ports.of(counted)

    def step(arcs: Arcs, at: int, parts: Parts) -> int:
        if at >= len(arcs):
            return _short(arcs)
        found = find(arcs[at])
        if found is None:
            # An interface of another kind.
            return -1
        _merge(found, parts)
        return at + 1

    return step


def _merge(found: Parts, parts: Parts) -> None:
    for position, part in enumerate(found):
        if part is not None:
            parts[position] = part


def _only(value: int, arcs: Arcs, at: int) -> int:
    if at >= len(arcs):
        return _short(arcs)
    return at + 1 if arcs[at] == value else -1


def _octets(part: OctetsPart, arcs: Arcs, at: int, parts: Parts) -> int:
    octets = arcs[at : at + part.count]
    if len(octets) < part.count or max(octets) > 255:
        raise BadIndex(f"{_dotted(arcs)} does not hold {part.count} octets")
    parts[POSITIONS[part.part]] = bytes(octets).hex(":")
    return at + part.count


def _text(part: TextPart, arcs: Arcs, at: int, parts: Parts) -> int:
    if at >= len(arcs):
        return _short(arcs)
    end = at + 1 + arcs[at]
    letters = arcs[at + 1 : end]
    if len(letters) != arcs[at] or not all(0x20 <= letter < 0x7F for letter in letters):
        raise BadIndex(f"{_dotted(arcs)} does not hold a text")
    parts[POSITIONS[part.part]] = bytes(letters).decode()
    return end


def _short(arcs: Arcs) -> int:
    raise BadIndex(f"{_dotted(arcs)} has fewer numbers than the index of its table")


def _dotted(arcs: Arcs) -> str:
    return ".".join(map(str, arcs[:16])) + ("..." if len(arcs) > 16 else "")
