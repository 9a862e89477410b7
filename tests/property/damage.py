"""What happens to datagrams on bad lines and in bad firmware: octets changed, lost, doubled, made up."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, get_args

Kind = Literal["flip", "set", "length", "cut", "delete", "insert", "double"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

# A length octet follows one of these; most of what can go wrong is there.
_TAGS: Final = frozenset(b"\x02\x04\x05\x06\x30\x40\x41\x42\x43\x44\x46\x80\x81\x82\xa0\xa1\xa2\xa5")


class Damage(NamedTuple):
    """`at` may be any number; it is taken modulo what there is."""

    kind: Kind
    at: int
    size: int
    octet: int


def damaged(data: bytes, damages: Iterable[Damage]) -> bytes:
    octets = bytearray(data)
    for damage in damages:
        if octets:
            _apply(octets, damage)
    return bytes(octets)


def _apply(octets: bytearray, damage: Damage) -> None:
    kind, at, size, octet = damage
    at %= len(octets)
    match kind:
        case "flip":
            octets[at] ^= 1 << (octet & 7)
        case "set":
            octets[at] = octet
        case "length":
            octets[_length_near(octets, at)] = octet
        case "cut":
            del octets[at:]
        case "delete":
            del octets[at : at + size]
        case "insert":
            octets[at:at] = bytes((octet,)) * size
        case "double":
            octets[at:at] = octets[at : at + size]


def _length_near(octets: bytearray, at: int) -> int:
    for position in range(at, len(octets) - 1):
        if octets[position] in _TAGS:
            return position + 1
    return at


# Lengths that are wrong in ways of their own: none, long forms, indefinite, too large.
_LENGTHS: Final = (0x00, 0x01, 0x7F, 0x80, 0x81, 0x82, 0x84, 0x85, 0xFF)


def random_damages(chance: random.Random) -> list[Damage]:
    """One to four damages, one more often than four."""
    return [_random_damage(chance) for _ in range(1 + int(chance.random() ** 2 * 4))]


def _random_damage(chance: random.Random) -> Damage:
    kind = KINDS[int(chance.random() * len(KINDS))]
    octet = int(chance.random() * 256)
    if kind == "length" and octet & 1:
        octet = _LENGTHS[octet % len(_LENGTHS)]
    return Damage(kind, int(chance.random() * 65_536), 1 + int(chance.random() * 12), octet)
