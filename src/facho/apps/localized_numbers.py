"""Write numbers and durations in the format of the language: `0,4 s` in Spanish."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from django.utils.formats import get_format

from facho.core import bit_rates, durations

_UNKNOWN: Final = "–"  # noqa: RUF001
_POINT: Final = re.compile(r"(?<=\d)\.(?=\d)")


def duration(length: timedelta) -> str:
    return localized(durations.duration(length))


def about(length: timedelta) -> str:
    return localized(durations.about(length))


def number(value: float) -> str:
    """Return the number with up to six decimals, in the format of the language."""
    return localized(f"{round(value, 6):g}")


def bit_rate(bps: float | None) -> str:
    """Return a rate, of none a dash."""
    return _UNKNOWN if bps is None else localized(bit_rates.bit_rate(bps))


def short_bit_rate(bps: float) -> str:
    return localized(bit_rates.short_bit_rate(bps))


def localized(text: str) -> str:
    """Write the number in a text with the decimal sign of the language."""
    return _POINT.sub(get_format("DECIMAL_SEPARATOR"), text)
