"""Decodes the index of a row into the place of an ONU, port or board.

A layout is compiled once, and its results are cached: every column of a table has the same indexes, in every
collection.
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
    LONGEST_NAME,
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
_CACHE_SIZE: Final = 1 << 16


class Key(NamedTuple):
    """A place on an OLT. Parts that the index does not have are None; `extra` tells rows of one place apart
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


# Equal keys are one object, so that the rows of two tables compare quickly.
_interned: Final[dict[Key, Key]] = {}
POSITIONS: Final = {
    "frame": 0, "slot": 1, "port": 2, "onu": 3, "uni": 4, "row": 4, "name": 4, "mac": 4
}  # fmt: skip

Parts = list[int | str | None]
# Reads the numbers from a position on into the parts; returns the next position, or -1 for a row to ignore.
_Step = Callable[[Arcs, int, Parts], int]


class CompiledIndex(dict[bytes, Key | None]):
    """Index octets -> key, None for rows to ignore. Raises BadIndex for an index of another layout."""

    def __init__(self, layout: IndexLayout, names: Mapping[int, Parts | None] | None = None) -> None:
        super().__init__()
        self.layout = layout
        self._steps = [_step(part, names) for part in layout.parts]
        self._size = _size_of(layout)
        always = dict(layout.always)
        self._start: Parts = [always.get(part) for part in Key._fields]

    def __missing__(self, suffix: bytes) -> Key | None:
        key = self.decode(split_arcs(suffix))
        if len(self) >= _CACHE_SIZE:
            self.clear()
        self[suffix] = key
        return key

    def is_read_as(self, suffix: bytes, key: Key) -> bool:
        """Return whether these octets are the index of this key."""
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
    """Return the count of numbers in an index; 0 where it varies."""
    if any(isinstance(part, TextPart) for part in layout.parts):
        return 0
    return sum(part.count if isinstance(part, OctetsPart) else 1 for part in layout.parts)


def intern_key(key: Key) -> Key:
    if len(_interned) >= 4 * _CACHE_SIZE:
        _interned.clear()
    return _interned.setdefault(key, key)


@lru_cache(maxsize=_CACHE_SIZE)
def onu_key(frame: int | None, slot: int | None, port: int | None, onu: int | None) -> Key:
    """Return the key of a place. OLTs of a model have their ONUs at the same places."""
    return intern_key(Key(frame, slot, port, onu))


def split_arcs(suffix: bytes) -> Arcs:
    """Return the numbers of an index from its octets."""
    arcs: list[int] = []
    arc = 0
    for octet in suffix:
        if octet == 0x80 and not arc:
            # With padding, one index could be written in two ways.
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
    """Return the octets of the numbers of an index."""
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
    """Compile an index that needs no names, or whose names were not read."""
    return CompiledIndex(layout)


class NamedNumber(NamedTuple):
    """A row of the column with the names: its number, and the place in its name."""

    number: int
    # None for an interface of another kind.
    parts: Parts | None
    # Set where the number means another place than the name. The name counts, but one of them is wrong.
    conflict: str = ""


class _Names(dict[tuple[bytes, object], NamedNumber]):
    """Index octets and name -> what they mean, cached: matching patterns is slow."""

    def __init__(self, named: Named) -> None:
        super().__init__()
        self._named = named

    def __missing__(self, row: tuple[bytes, object]) -> NamedNumber:
        suffix, name = row
        named = _named_number(self._named, suffix, name)
        if len(self) >= _CACHE_SIZE:
            self.clear()
        if not isinstance(name, bytes) or len(name) <= LONGEST_NAME:
            self[row] = named
        return named


@lru_cache(maxsize=256)
def _cached_names(named: Named) -> _Names:
    return _Names(named)


def read_names(named: Named, names: Mapping[bytes, object]) -> list[NamedNumber]:
    """Return what the names of a device mean."""
    return list(map(_cached_names(named).__getitem__, names.items()))


def compile_with_names(layout: IndexLayout, names: list[NamedNumber]) -> CompiledIndex:
    """Compile an index with names. Names seldom change, so the last compiled index is kept."""
    before, index = _last_with_names.get(layout, (None, None))
    if index is None or before != names:
        index = CompiledIndex(layout, {name.number: name.parts for name in names})
        _last_with_names[layout] = names, index
    return index


_last_with_names: Final[dict[IndexLayout, tuple[list[NamedNumber], CompiledIndex]]] = {}


class _PortNames:
    """The names of ports by the parts of their numbers, to correct the numbers of their ONUs."""

    def __init__(self, named: Named, names: Mapping[int, Parts | None]) -> None:
        self._positions = [POSITIONS[part] for part in parts_in_names(named.names)]
        self._names = {
            self._place(counted): parts
            for number, parts in names.items()
            if (counted := _port_counted(named, number)) is not None
        }

    def _place(self, counted: Parts) -> tuple[int | str | None, ...]:
        return tuple(counted[position] for position in self._positions)

    def correct(self, counted: Parts) -> Parts | None:
        """Return the parts with those of the port's name in their place; None on a port of another kind."""
        name = self._names.get(self._place(counted), counted)
        if name is None:
            return None
        corrected = counted.copy()
        _merge(name, corrected)
        return corrected


def _port_counted(named: Named, number: int) -> Parts | None:
    """Return the parts of a port's number, None for that of an ONU; some agents give a bare count."""
    for bits, ports in _port_packings(named):
        if number & bits.fixed == bits.value & bits.fixed:
            # The bits of the ONU are zero in the number of its port.
            return _unpack([ports], number)
    return [number] * 5


@lru_cache(maxsize=256)
def _port_packings(named: Named) -> list[tuple[Bits, Bits]]:
    """Return each packing, and the same with only those parts that are in the names."""
    in_names = parts_in_names(named.names)
    return [
        (bits, replace(bits, fields=tuple(field for field in bits.fields if field.part in in_names)))
        for bits in named.packings
    ]


def _named_number(named: Named, suffix: bytes, name: object) -> NamedNumber:
    number, parts = index_number(suffix), _parts_of(named, name)
    counted = _unpack([bits for bits in named.packings if not bits.apart], number)
    if parts is None or counted is None or _agree(parts, counted):
        return NamedNumber(number, parts)
    why = f"its name says {Key(*parts)}, its number {Key(*counted)}"  # type: ignore[arg-type]
    return NamedNumber(number, parts, why)


def _agree(parts: Parts, counted: Parts) -> bool:
    return all(part is None or part == other for part, other in zip(parts, counted, strict=True))


def index_number(suffix: bytes) -> int:
    """Return the number of an index of one number; -1 for others."""
    try:
        (arc,) = split_arcs(suffix)
    except ValueError:
        return -1
    return arc


def _parts_of(named: Named, name: object) -> Parts | None:
    if not isinstance(name, bytes) or len(name) > LONGEST_NAME:
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


def _unpack(packings: Iterable[Bits], number: int) -> Parts | None:
    for bits in packings:
        if number >= 0 and number & bits.fixed == bits.value & bits.fixed:
            parts: Parts = [None] * 5
            for field in bits.fields:
                part = (number & field.mask) >> field.at
                parts[POSITIONS[field.part]] = part + field.plus
                if not _is_within(part + field.plus, field):
                    return None
            return parts
    return None


def _is_within(value: int, bounds: BitField | Plain) -> bool:
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
        if not _is_within(value, plain):
            if plain.ignore_others:
                return -1
            raise BadIndex(f"{_dotted(arcs)}: {plain.part} {value} is out of its range")
        parts[position] = value
        return at + 1

    return step


def _packed(packings: tuple[Bits, ...], ignore_others: bool = False) -> _Step:
    def step(arcs: Arcs, at: int, parts: Parts) -> int:
        if at >= len(arcs):
            return _short(arcs)
        found = _unpack(packings, arcs[at])
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
        counted = _unpack(named.packings, number)
        if counted is None and not named.ignore_others:
            raise BadIndex(f"{number} has no name in {named.column}")
        return counted if ports is None or counted is None else ports.correct(counted)

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
