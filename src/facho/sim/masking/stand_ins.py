"""The stand-ins of identities: the same for every form in which an identity is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from itertools import chain, count
from typing import Final

from facho.sim.masking.heuristics import is_harmless
from facho.vendors.rules import serial, serial_octets

# Networks for documentation, and when these are used up, the one for measurements.
_NETWORKS: Final = tuple(
    map(IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15"))
)
_IPV6: Final = int(IPv6Address("2001:db8::"))
_KEPT_OF_SERIAL: Final = 4
_KEPT_OF_MAC: Final = 3
_PREFIX: Final = 4
_LONG: Final = 6

Random = Callable[[int], bytes]
Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Identities:
    """Identities to replace, in the order in which they were found. Serials are eight octets, MACs six."""

    serials: dict[bytes, None] = field(default_factory=dict)
    macs: dict[bytes, None] = field(default_factory=dict)
    addresses: dict[Address, None] = field(default_factory=dict)
    texts: dict[bytes, None] = field(default_factory=dict)


class StandIns:
    def __init__(self, identities: Identities, random: Random) -> None:
        self.serials = _draw(identities.serials, _KEPT_OF_SERIAL, random)
        self.macs = _draw(identities.macs, _KEPT_OF_MAC, random)
        self.addresses = _addresses(identities.addresses)
        self.texts = {old: _customer(number, len(old)) for number, old in enumerate(identities.texts, 1)}
        self.identities = dict(self._forms())
        # Replaced within longer texts too. Short and harmless texts would match too much.
        long = {old: new for old, new in self.texts.items() if len(old) >= _LONG and not is_harmless(old)}
        self.within = Replacer({**long, **self.identities}, bounded=True)
        self.in_index = Replacer(dict(self._numbered()), bounded=False)

    def _forms(self) -> Iterator[tuple[bytes, bytes]]:
        for old, new in self.serials.items():
            yield from zip(_forms_of_serial(old), _forms_of_serial(new), strict=True)
        for old, new in self.macs.items():
            yield from zip(_forms_of_mac(old), _forms_of_mac(new), strict=True)
        for address, other in self.addresses.items():
            yield str(address).encode(), str(other).encode()

    def _numbered(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield what may be in an index, a number for each octet. Lengths stay: an index may tell them."""
        yield from ((old, new) for old, new in self.texts.items() if len(old) >= _PREFIX)
        yield from ((old, new) for old, new in self.identities.items() if len(old) == len(new))
        yield from ((old.packed, new.packed) for old, new in self.addresses.items())


def _draw(originals: Iterable[bytes], kept: int, random: Random) -> dict[bytes, bytes]:
    """Draw a stand-in for each that keeps the maker and is none of the originals."""
    found: dict[bytes, bytes] = {}
    taken = set(originals)
    for old in originals:
        while (new := old[:kept] + random(len(old) - kept)) in taken:
            pass
        taken.add(new)
        found[old] = new
    return found


def _addresses(originals: Mapping[Address, None]) -> dict[Address, Address]:
    free = (host for host in chain.from_iterable(map(IPv4Network.hosts, _NETWORKS)) if host not in originals)
    free6 = (each for each in map(IPv6Address, count(_IPV6 + 1)) if each not in originals)
    return {old: next(free) if isinstance(old, IPv4Address) else next(free6) for old in originals}


def _customer(number: int, length: int) -> bytes:
    """Return a text of the same length: tables and indices have room for that, and an index tells lengths."""
    for name in (f"customer {number}", f"c{number}", str(number)):
        if len(name) <= length:
            return name.ljust(length, ".").encode()
    return str(number)[-length:].encode()


def _forms_of_serial(octets: bytes) -> Iterator[bytes]:
    yield octets
    digits = octets[_KEPT_OF_SERIAL:].hex()
    for maker in dict.fromkeys((octets[:_KEPT_OF_SERIAL], octets[:_KEPT_OF_SERIAL].lower())):
        for written in (digits.upper(), digits):
            yield maker + written.encode()
            yield maker + b"-" + written.encode()
    yield octets.hex().encode()
    yield octets.hex().upper().encode()


def _forms_of_mac(octets: bytes) -> Iterator[bytes]:
    yield octets
    digits = octets.hex()
    for written in (
        octets.hex(":"),
        octets.hex("-"),
        digits,
        ".".join((digits[:4], digits[4:8], digits[8:])),
    ):
        yield written.encode()
        yield written.upper().encode()


def serial_of(value: bytes) -> bytes | None:
    """Return the eight octets of a serial, however it is written, or None. Raises BadValue."""
    bare = value.strip(b"\0 ")
    written = serial(bare.replace(b"-", b"", 1) if len(bare) == 13 else value)
    return None if written is None else serial_octets(written)


class Replacer:
    """Replaces any of many texts, found by their first octets.

    `bounded`: a text that is part of a longer word or number is not replaced.
    """

    def __init__(self, pairs: Mapping[bytes, bytes], *, bounded: bool) -> None:
        self._bounded = bounded
        self._by_prefix: dict[bytes, list[tuple[bytes, bytes]]] = {}
        for old in sorted(pairs, key=len, reverse=True):
            self._by_prefix.setdefault(old[:_PREFIX], []).append((old, pairs[old]))

    def replace(self, value: bytes) -> bytes:
        pieces: list[bytes] = []
        at = copied = 0
        while at <= len(value) - _PREFIX:
            found = self._match(value, at)
            if found is None:
                at += 1
                continue
            old, new = found
            pieces += (value[copied:at], new)
            at = copied = at + len(old)
        return b"".join((*pieces, value[copied:])) if pieces else value

    def _match(self, value: bytes, at: int) -> tuple[bytes, bytes] | None:
        for old, new in self._by_prefix.get(value[at : at + _PREFIX], ()):
            if value.startswith(old, at) and not (self._bounded and _is_part(value, at, at + len(old))):
                return old, new
        return None


def _is_part(value: bytes, start: int, end: int) -> bool:
    """Return whether a word goes on before or after; octets that are no text have no such bounds."""
    if not value[start:end].isascii():
        return False
    before, after = value[start - 1 : start] if start else b"", value[end : end + 1]
    return (before.isalnum() and value[start : start + 1].isalnum()) or (
        after.isalnum() and value[end - 1 : end].isalnum()
    )
