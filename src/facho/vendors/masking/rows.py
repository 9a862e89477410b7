"""Goes through a recording: learns who is in it, then puts stand-ins in their places."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import NamedTuple

from facho.vendors import octets
from facho.vendors.errors import BadValue
from facho.vendors.masking.columns import SYS_DESCR, Arcs, Holding, Holdings, Holds
from facho.vendors.masking.looks import address_of, is_harmless, is_somebodys, look_at
from facho.vendors.masking.stand_ins import Identities, Random, StandIns, serial_of
from facho.vendors.schema import IndexLayout, OctetsPart, Profile, TextPart

# Where there is an identity that nobody can read, it is a text.
_PERSONAL = (Holds.TEXT, Holds.SERIAL, Holds.MAC, Holds.IP)
_LARGEST_OCTET = 255
_MAC_LENGTH = 6
_ADDRESS_LENGTHS = (4, 16)


@dataclass(frozen=True, slots=True)
class Row:
    """OIDs are numbers: the row's own, and those that are values. Other values are as they came."""

    oid: Arcs
    value: object


def mask(rows: Sequence[Row], profiles: Sequence[Profile], random: Random = secrets.token_bytes) -> list[Row]:
    """The rows with stand-ins. The profile that reads the device goes first; others may follow."""
    holdings = Holdings(profiles)
    held = [(row, *holdings.of(row.oid, row.value)) for row in rows]
    learner = _Learner(_public(held, holdings.words), holdings.words)
    for row, holding, length in held:
        learner.learn(row, holding, length)
    masker = _Masker(StandIns(learner.identities, random), holdings.words)
    masked = (masker.masked(row, holding, length) for row, holding, length in held)
    return [_still_recognised(old, new, profiles) for old, new in zip(rows, masked, strict=True)]


def _public(held: Iterable[tuple[Row, Holding, int]], words: frozenset[str]) -> frozenset[bytes]:
    """Texts that many devices share: who wrote the model as a description has said nothing about anybody."""
    return frozenset(
        row.value.strip(b"\0 ")
        for row, holding, _ in held
        if isinstance(row.value, bytes)
        and holding.what is not Holds.UNKNOWN
        and _seen_as(row.value, holding, words) in (Holds.PUBLIC, Holds.FIXED)
    )


def _still_recognised(old: Row, new: Row, profiles: Iterable[Profile]) -> Row:
    """A device is recognised by its sysDescr. Where its own name is a word of that, the words stay."""
    if old.oid[:-1] != SYS_DESCR or not isinstance(old.value, bytes) or not isinstance(new.value, bytes):
        return new
    before, after = old.value.decode("utf-8", "replace"), new.value.decode("utf-8", "replace")
    patterns = [rule.descr for profile in profiles for rule in profile.rules if rule.descr is not None]
    same = all(bool(each.search(before)) == bool(each.search(after)) for each in patterns)
    return new if same else old


def _seen_as(value: bytes, holding: Holding, words: frozenset[str]) -> Holds:
    """What a value is. Whatever its column is for, a marker for `no value` is only that."""
    if value.strip(b"\0 ") in {str(marker).encode() for marker in holding.rule.no_value}:
        return Holds.FIXED
    if holding.what is Holds.UNKNOWN:
        return look_at(value)
    if holding.what is Holds.NAMES:
        return Holds.FIXED if is_harmless(value, words) else Holds.TEXT
    return holding.what


@dataclass(frozen=True, slots=True)
class _Cut:
    """A text, and what is around what a person wrote of it: padding, quotes, a mark that goes before."""

    before: bytes
    core: bytes
    after: bytes

    @classmethod
    def of(cls, value: bytes, holding: Holding) -> _Cut:
        mark, rest = _after_mark(value, holding)
        padding = b"\0 " + holding.rule.strip.encode()
        core = rest.strip(padding)
        left = len(rest) - len(rest.lstrip(padding))
        return cls(mark + rest[:left], core, rest[left + len(core) :])


def _after_mark(value: bytes, holding: Holding) -> tuple[bytes, bytes]:
    mark = holding.rule.after.encode()
    if not mark or mark not in value:
        return b"", value
    before, _, rest = value.partition(mark)
    return before + mark, rest


class _Learner:
    def __init__(self, public: frozenset[bytes], words: frozenset[str]) -> None:
        self.identities = Identities()
        self._public = public
        self._words = words

    def learn(self, row: Row, holding: Holding, length: int) -> None:
        if isinstance(row.value, IPv4Address):
            self._address(row.value)
        elif isinstance(row.value, bytes):
            self._octets(row.value, holding)
        if holding.layout is not None:
            self._index(row.oid[length:], holding.layout)

    def _octets(self, value: bytes, holding: Holding) -> None:
        with contextlib.suppress(BadValue):
            match _seen_as(value, holding, self._words):
                case Holds.SERIAL if (serial := serial_of(_after_mark(value, holding)[1])) is not None:
                    self.identities.serials[serial] = None
                    return
                case Holds.MAC if (mac := octets.mac(value)) is not None:
                    self.identities.macs[bytes.fromhex(mac.replace(":", ""))] = None
                    return
                case Holds.IP if (address := address_of(value)) is not None:
                    self.identities.addresses[address] = None
                    return
                case Holds.TEXT:
                    pass
                case _:
                    return
        # What a person wrote, or what should be an identity and is none that anybody knows.
        self._text(_Cut.of(value, holding).core)

    def _text(self, core: bytes) -> None:
        if core and core not in self._public:
            self.identities.texts[core] = None

    def _address(self, address: IPv4Address) -> None:
        if is_somebodys(address):
            self.identities.addresses[address] = None

    def _index(self, index: Arcs, layout: IndexLayout) -> None:
        for part, octets_ in _octets_in(index, layout):
            if part.is_mac:
                self.identities.macs[octets_] = None
            elif not is_harmless(octets_):
                self._text(octets_)


class _Place(NamedTuple):
    """Octets in an index: from where, and of what."""

    start: int
    is_mac: bool


def _octets_in(index: Arcs, layout: IndexLayout) -> Iterator[tuple[_Place, bytes]]:
    """An index that is not as its layout says holds none."""
    at = 0
    for part in layout.parts:
        start, at = at, at + 1
        if isinstance(part, OctetsPart):
            at = start + part.count
        elif isinstance(part, TextPart) and start < len(index):
            start, at = at, at + index[start]
        else:
            continue
        numbers = index[start:at]
        if len(numbers) == at - start and max(numbers, default=0) <= _LARGEST_OCTET:
            yield _Place(start, isinstance(part, OctetsPart) and part.count == _MAC_LENGTH), bytes(numbers)


class _Masker:
    def __init__(self, stand_ins: StandIns, words: frozenset[str]) -> None:
        self._new = stand_ins
        self._words = words

    def masked(self, row: Row, holding: Holding, length: int) -> Row:
        index = row.oid[length:]
        index = self._numbers(index) if holding.layout is None else self._index(index, holding.layout)
        return Row((*row.oid[:length], *index), self._value(row.value, holding))

    def _index(self, index: Arcs, layout: IndexLayout) -> Arcs:
        for place, old in _octets_in(index, layout):
            new = (self._new.macs if place.is_mac else self._new.texts).get(old, old)
            index = (*index[: place.start], *new, *index[place.start + len(old) :])
        return index

    def _value(self, value: object, holding: Holding) -> object:
        match value:
            case IPv4Address():
                return self._new.addresses.get(value, value)
            case bytes():
                return self._octets(value, holding)
            case tuple() if holding.what is not Holds.FIXED:
                return self._numbers(value)
            case _:
                return value

    def _octets(self, value: bytes, holding: Holding) -> bytes:
        if holding.what is Holds.FIXED:
            return value
        cut = _Cut.of(value, holding)
        for before, core, after in ((b"", value, b""), (cut.before, cut.core, cut.after)):
            known = self._known(core)
            if known is not None:
                return before + known + after
        if cut.core in self._new.texts and _seen_as(value, holding, self._words) in _PERSONAL:
            return cut.before + self._new.texts[cut.core] + cut.after
        return self._new.within.replace(value)

    def _known(self, value: bytes) -> bytes | None:
        """An identity and nothing else, in octets or written."""
        if len(value) in _ADDRESS_LENGTHS:
            address = address_of(value)
            if address in self._new.addresses and address.packed == value:
                return self._new.addresses[address].packed
        return self._new.identities.get(value)

    def _numbers(self, numbers: Arcs) -> Arcs:
        """Numbers over 255 are no octets: they part what is between them."""
        found: list[int] = []
        run = bytearray()
        for number in (*numbers, None):
            if number is not None and number <= _LARGEST_OCTET:
                run.append(number)
                continue
            found.extend(self._new.in_index.replace(bytes(run)))
            run.clear()
            if number is not None:
                found.append(number)
        return tuple(found)
