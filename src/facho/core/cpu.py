"""Pace of requests to an OLT whose own CPU is busy."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import Final

GENTLE_ABOVE: Final = 80.0
SKIP_GETS_ABOVE: Final = 90.0
KNOWN_FOR: Final = timedelta(minutes=10)


class Asking(Enum):
    NORMAL = "normal"
    ONE_AT_A_TIME = "one_at_a_time"
    # GETs are skipped; everything else is asked one request at a time.
    SKIP_GETS = "skip_gets"


def how_to_ask(
    cpu_pct: float | None,
    read_at: datetime | None,
    now: datetime,
    *,
    gentle_above: float = GENTLE_ABOVE,
    skip_above: float = SKIP_GETS_ABOVE,
    known_for: timedelta = KNOWN_FOR,
) -> Asking:
    """Return the pace for the last CPU reading, if that is recent.

    An old reading is ignored: an OLT that is skipped is not read either, and would be skipped for ever. So is
    one from the future, taken before the clock was set back.
    """
    if cpu_pct is None or read_at is None or abs(now - read_at) > known_for:
        return Asking.NORMAL
    if cpu_pct > skip_above:
        return Asking.SKIP_GETS
    return Asking.ONE_AT_A_TIME if cpu_pct > gentle_above else Asking.NORMAL
