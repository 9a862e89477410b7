"""The facts that history keeps: their codes, and how a value becomes a whole number of few bytes.

Most facts are kept in even steps: hundredths of a dBm. Rates go from nothing to 100 Gbit/s, and are kept in
steps that grow with them, 256 for each doubling: see `Fact.is_rate`.

Facts that an operator declares have no fixed code. A sheet numbers those that it has, and says in a
dictionary of its own what they are, so that it can be read when nobody declares them any more.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Final

_SIGNED: Final = {2: "h", 4: "i", 8: "q"}
_MOST_QUANTISED: Final = 1 << 15


class Damaged(Exception):
    """Bytes that differ from what was written."""


def integer_array(width: int, values: Iterable[int]) -> array[int]:
    """Raises OverflowError for what so many bytes do not hold."""
    return array(_SIGNED[width], values)


def join_planes(planes: Sequence[bytes]) -> array[int]:
    """Return the numbers whose lowest bytes are the first plane, the next ones the second, and so on."""
    width = len(planes)
    octets = bytearray(width * len(planes[0]))
    for plane, part in enumerate(planes):
        octets[plane::width] = part
    joined = array(_SIGNED[width], bytes(octets))
    if sys.byteorder == "big":
        joined.byteswap()
    return joined


# Bits of a rate's code below its exponent.
_MANTISSA: Final = 8
_DOUBLING: Final = 1 << _MANTISSA
# Doubles have 52 bits below their exponent; this moves exponent and 8 bits into the two highest bytes.
_MANTISSA_SHIFT: Final = 4
# The code of this one is `nothing`.
_NO_RATE: Final = 2.0**129


@dataclass(frozen=True, slots=True)
class Fact:
    # Stored code; never reused for another fact. 0 for one that has none of its own.
    code: int
    # Steps per unit: 100 for hundredths. Of a rate, those near zero.
    steps: float
    # Bytes of a value.
    width: int = 2
    # The steps grow with the value, and what is between two of them is rounded down: with u = value * steps
    # + 256, the code has the nine highest bits of u, and how many there are below. Two bytes, never negative.
    is_rate: bool = False

    @property
    def nothing(self) -> int:
        """Stands for no value. What is out of range is none either."""
        return -(1 << (8 * self.width - 1))

    def quantised(self, values: Sequence[float | None]) -> array[int]:
        if self.is_rate:
            return _rate_codes(values, self.steps)
        return integer_array(self.width, map(_quantised_values(self).__getitem__, values))

    def quantise(self, value: float | None) -> int:
        try:
            found = self.nothing if value is None else round(value * self.steps)
        except (OverflowError, ValueError):
            return self.nothing
        return found if abs(found) < -self.nothing else self.nothing

    def values(self, quantised: Iterable[int]) -> list[float | None]:
        if self.is_rate:
            return list(map(_rates_by_code(self.steps).__getitem__, quantised))
        nothing, steps = self.nothing, self.steps
        return [None if value == nothing else value / steps for value in quantised]


class _QuantisedValues(dict[float | None, int]):
    """The values of a fact in steps. The same few thousand come again and again: each is computed once."""

    def __init__(self, fact: Fact) -> None:
        super().__init__()
        self._fact = fact

    def __missing__(self, value: float | None) -> int:
        if len(self) >= _MOST_QUANTISED:
            self.clear()
        found = self[value] = self._fact.quantise(value)
        return found


@cache
def _quantised_values(fact: Fact) -> _QuantisedValues:
    return _QuantisedValues(fact)


def _rate_codes(rates: Sequence[float | None], steps: float) -> array[int]:
    """Return the codes of rates. A double has exponent and highest bits where the code needs them, so that
    all are cut out at once.
    """
    scale = 2 / _DOUBLING * steps
    scaled = array("d", [_NO_RATE if rate is None else rate * scale + 2.0 for rate in rates])
    if min(scaled, default=2.0) < 2.0 or not sum(scaled) < len(scaled) * 2 * _NO_RATE:
        # What is negative, endless or no number is no rate; the sum shows it.
        scaled = array("d", [each if 2.0 <= each < _NO_RATE else _NO_RATE for each in scaled])
    if sys.byteorder == "big":
        scaled.byteswap()
    octets = scaled.tobytes()
    moved = (int.from_bytes(octets, "little") << _MANTISSA_SHIFT).to_bytes(len(octets) + 1, "little")
    return join_planes([moved[6 : len(octets) : 8], moved[7 : len(octets) : 8]])


class _RatesByCode(dict[int, float | None]):
    def __init__(self, steps: float) -> None:
        super().__init__()
        self._steps = steps

    def __missing__(self, code: int) -> float | None:
        doublings, rest = divmod(code, _DOUBLING)
        found = None if code < 0 else (((_DOUBLING + rest) << doublings) - _DOUBLING) / self._steps
        self[code] = found
        return found


_rates_by_code = cache(_RatesByCode)


def _bits_per_second(code: int) -> Fact:
    """Steps of 16 bit/s up to 4 kbit/s, and of 0.4 % and less above."""
    return Fact(code, 1 / 16, is_rate=True)


def _events_per_second(code: int) -> Fact:
    """Steps of a thousandth up to one event in four seconds: one in 15 minutes is kept."""
    return Fact(code, 1024, is_rate=True)


FACTS: Final[Mapping[str, Fact]] = {
    "onu_rx_dbm": Fact(1, 100),
    "onu_tx_dbm": Fact(2, 100),
    "olt_rx_dbm": Fact(3, 100),
    "temperature_c": Fact(4, 10),
    "voltage_v": Fact(5, 100),
    "bias_ma": Fact(6, 10),
    # Some distances exceed 32,767 m.
    "distance_m": Fact(7, 1, 4),
    "tx_dbm": Fact(8, 100),
    "rx_dbm": Fact(9, 100),
    "onus_online": Fact(10, 1),
    # From the customer and to the customer.
    "up_bps": _bits_per_second(11),
    "down_bps": _bits_per_second(12),
    # What a port or an interface receives and sends.
    "in_bps": _bits_per_second(13),
    "out_bps": _bits_per_second(14),
    "in_errors_s": _events_per_second(15),
    "out_errors_s": _events_per_second(16),
    "in_discards_s": _events_per_second(17),
    "out_discards_s": _events_per_second(18),
    "cpu_pct": Fact(19, 10),
    "memory_pct": Fact(20, 10),
    "power_w": Fact(21, 10, 4),
    # Some fans turn faster than 32,767 times a minute.
    "speed_rpm": Fact(22, 1, 4),
    "speed_pct": Fact(23, 10),
}
_NAMES: Final = {fact.code: name for name, fact in FACTS.items()}
NO_FACTS: Final[Mapping[str, Fact]] = MappingProxyType({})

# Codes of a sheet for its facts without a fixed one, and for the dictionary of these.
_DECLARED: Final = range(128, 255)
MOST_DECLARED: Final = len(_DECLARED)
DICTIONARY: Final = 255


def name_of_code(code: int) -> str:
    """Raises Damaged when there is none: a later version wrote it."""
    try:
        return _NAMES[code]
    except KeyError:
        raise Damaged(f"there is no fact {code}") from None


def assign_codes(facts: Iterable[str], declared: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts with their codes, those that are `declared` with codes of this sheet.

    Of more declared ones than there are codes, the first by name are kept.
    """
    names = list(facts)
    others = sorted(name for name in names if name not in FACTS)
    codes = zip(others, _DECLARED, strict=False)
    numbered = {name: replace(declared[name], code=code) for name, code in codes}
    return {name: FACTS[name] for name in names if name in FACTS} | numbered


def encode_dictionary(meanings: Mapping[str, Fact]) -> bytes:
    """Return the dictionary of the facts that have no fixed code; nothing without any."""
    rows = [
        [fact.code, name, fact.steps, fact.width, fact.is_rate]
        for name, fact in meanings.items()
        if fact.code in _DECLARED
    ]
    if not rows:
        return b""
    data = json.dumps(rows, separators=(",", ":")).encode()
    return zlib.crc32(data).to_bytes(4, "little") + data


def decode_dictionary(block: bytes) -> dict[str, Fact]:
    """Raises Damaged."""
    check, data = block[:4], block[4:]
    if zlib.crc32(data).to_bytes(4, "little") != check:
        raise Damaged("its dictionary is not what was written")
    return {name: Fact(code, steps, width, is_rate) for code, name, steps, width, is_rate in json.loads(data)}
