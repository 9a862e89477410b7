"""Line rates of PON technologies and of uplinks: no ONU, PON port or uplink can move more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple


class LineRate(NamedTuple):
    """Bits per second, from the customers and to them."""

    up_bps: int
    down_bps: int


# Of a technology that is not known, and that of the fastest PON in use.
FASTEST: Final = LineRate(10_000_000_000, 10_000_000_000)
LINE_RATES: Final[Mapping[str, LineRate]] = {
    "gpon": LineRate(1_244_160_000, 2_488_320_000),
    "xgpon": LineRate(2_488_320_000, 9_953_280_000),
    "xgspon": LineRate(9_953_280_000, 9_953_280_000),
    "epon": LineRate(1_250_000_000, 1_250_000_000),
    "10gepon": FASTEST,
}


# By what the names of PON ports say, the first that fits. The tables of vendors have XGS-PON beside GPON.
_NAMED: Final = (
    (re.compile(r"xgs-?pon|(^|/)xp\d", re.IGNORECASE), "xgspon", "gpon"),
    (re.compile(r"xg-?pon|10g-?pon", re.IGNORECASE), "xgpon", "gpon"),
    (re.compile(r"(x|10)g?-?epon", re.IGNORECASE), "10gepon", "epon"),
    (re.compile(r"gpon|(^|/)gp\d", re.IGNORECASE), "gpon", "gpon"),
    (re.compile(r"epon", re.IGNORECASE), "epon", "epon"),
)


def line_rate(technology: str) -> LineRate:
    """Return the line rate of a technology, as the tables of profiles name it."""
    return LINE_RATES.get(technology, FASTEST)


@lru_cache(maxsize=4096)
def port_technology(name: str, technology: str) -> str:
    """Return the technology of a port by its name, if that goes with the one of its table, else that one."""
    for pattern, found, table in _NAMED:
        if technology in ("", table) and pattern.search(name):
            return found
    return technology


# Of an uplink whose speed is not known: that of the fastest in use.
_FASTEST_UPLINK_MBPS: Final = 400_000


def uplink_rate(speed_mbps: int | None) -> LineRate:
    """Return the line rate of an uplink. Interfaces that are down say that their speed is 0."""
    rate = 1_000_000 * (speed_mbps or _FASTEST_UPLINK_MBPS)
    return LineRate(rate, rate)
