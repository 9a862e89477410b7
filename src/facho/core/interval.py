"""Intervals as people write them: `30s`, `5m`, `1h`, `2d`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from facho.core.reasons import Reason, ReasonError

LONGEST: Final = timedelta(days=366)

# The largest first: an interval is shown in the largest unit that divides it.
_UNITS: Final = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}
_WRITTEN: Final = re.compile(r"([0-9]+)([smhd])")
# More digits exceed LONGEST in any unit, and Python refuses to parse very long numbers.
_MOST_DIGITS: Final = 9


class BadInterval(ReasonError, ValueError):
    """A text that is not an interval, with the reason for the person who wrote it."""


def parse_interval(text: str) -> timedelta:
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise BadInterval(Reason.of("not_an_interval", text=_quoted(text)))
    digits, unit = written[1].lstrip("0"), written[2]
    if not digits:
        raise BadInterval(Reason.of("interval_of_nothing", text=_quoted(text)))
    if len(digits) > _MOST_DIGITS or int(digits) > LONGEST // _UNITS[unit]:
        longest = format_interval(LONGEST)
        raise BadInterval(Reason.of("interval_too_long", text=_quoted(text), longest=longest))
    return int(digits) * _UNITS[unit]


def format_interval(interval: timedelta) -> str:
    for letter, unit in _UNITS.items():
        if not interval % unit:
            return f"{interval // unit}{letter}"
    return f"{interval.total_seconds():g}s"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 20 else f"{text[:20]}...")
