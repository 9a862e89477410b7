"""Intervals as people write them: `30s`, `5m`, `1h`, `2d`, or in words: `15 min`, `1 hora`."""

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
_SYMBOLS: Final = {"d": "d", "h": "h", "m": "min", "s": "s"}
# Words of both languages, whichever the reader has: a command line has none.
_WORDS: Final = {
    "d": ("d", "day", "days", "día", "días", "dia", "dias"),
    "h": ("h", "hr", "hrs", "hour", "hours", "hora", "horas"),
    "m": ("m", "min", "mins", "minute", "minutes", "minuto", "minutos"),
    "s": ("s", "sec", "secs", "second", "seconds", "seg", "segs", "segundo", "segundos"),
}
_LETTERS: Final = {word: letter for letter, words in _WORDS.items() for word in words}
_WRITTEN: Final = re.compile(r"([0-9]+)[ \u00a0]*([a-zí]+)\.?", re.IGNORECASE)
# More digits exceed LONGEST in any unit, and Python refuses to parse very long numbers.
_MOST_DIGITS: Final = 9


class BadInterval(ReasonError, ValueError):
    """A text that is not an interval, with the reason for the person who wrote it."""


def parse_interval(text: str) -> timedelta:
    written = _WRITTEN.fullmatch(text.strip())
    letter = None if written is None else _letter_of(written[2])
    if written is None or letter is None:
        raise BadInterval(Reason.of("not_an_interval", text=_shown(text)))
    digits, unit = written[1].lstrip("0"), _UNITS[letter]
    if not digits:
        raise BadInterval(Reason.of("interval_of_nothing", text=_shown(text)))
    if len(digits) > _MOST_DIGITS or int(digits) > LONGEST // unit:
        longest = interval_words(LONGEST)
        raise BadInterval(Reason.of("interval_too_long", text=_shown(text), longest=longest))
    return int(digits) * unit


def _letter_of(unit: str) -> str | None:
    """Return the letter of a unit. Letters alone are small: 5M could be months."""
    return _LETTERS.get(unit if len(unit) == 1 else unit.lower())


def format_interval(interval: timedelta) -> str:
    for letter, unit in _UNITS.items():
        if not interval % unit:
            return f"{interval // unit}{letter}"
    return f"{interval.total_seconds():g}s"


def interval_words(interval: timedelta) -> str:
    """Return an interval as lengths of time are written for people: `15 min`. `parse_interval` reads it."""
    written = format_interval(interval)
    return f"{written[:-1]} {_SYMBOLS[written[-1]]}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 20 else f"{text[:20]}...")[1:-1]
