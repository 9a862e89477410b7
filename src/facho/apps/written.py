"""Numbers and lengths of time in the form of who reads them: `0,4 s` in Spanish."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from django.utils.formats import get_format

from facho.core import durations

_POINT: Final = re.compile(r"(?<=\d)\.(?=\d)")


def duration(length: timedelta) -> str:
    return localized(durations.duration(length))


def about(length: timedelta) -> str:
    return localized(durations.about(length))


def number(value: float) -> str:
    """With as many decimals as it has."""
    return localized(f"{round(value, 6):g}")


def localized(text: str) -> str:
    """A text with one number in it."""
    return _POINT.sub(get_format("DECIMAL_SEPARATOR"), text)
