"""Bit rates as people read them: `12.3 Mbit/s`, with decimal prefixes as line rates have."""

from __future__ import annotations

from typing import Final

_PREFIXES: Final = ("", "k", "M", "G", "T")
_THOUSAND: Final = 1000.0


def bit_rate(bps: float) -> str:
    """Return a rate in three digits, with its unit: `0 bit/s`, `999 kbit/s`, `1.25 Gbit/s`."""
    size, prefix = _scale(bps)
    return f"{_round(size)} {prefix}bit/s"


def short_bit_rate(bps: float) -> str:
    """Return a rate for an axis whose unit is written elsewhere: `12.5 M`."""
    size, prefix = _scale(bps)
    return f"{_round(size)} {prefix}".rstrip()


def _scale(bps: float) -> tuple[float, str]:
    size, prefixes = bps, list(_PREFIXES)
    # What would be rounded to a thousand has the next prefix.
    while abs(size) >= _THOUSAND - 0.5 and len(prefixes) > 1:
        size /= _THOUSAND
        prefixes.pop(0)
    return size, prefixes[0]


def _round(size: float) -> str:
    decimals = 0 if abs(size) >= 99.95 else 1 if abs(size) >= 9.995 else 2
    text = f"{size:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
