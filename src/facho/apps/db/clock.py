"""The two clocks: the database's, which all processes share, and one that nobody sets."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connection

# Elsewhere than on Linux, the nearest there is.
_BOOTTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def database_now() -> datetime:
    """What time it is for everybody. On SQLite all processes are on one machine, and its clock is the one."""
    if connection.vendor != "postgresql":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now


def boottime() -> float:
    """Seconds that go on while the machine or the process sleeps, whatever is done to the wall clock."""
    return time.clock_gettime(_BOOTTIME)


class ClockJumpDetector:
    """Notices that the wall clock was set forward, by the clock that nobody sets."""

    def __init__(self) -> None:
        self._ahead: float | None = None

    def since_last(self, now: datetime) -> timedelta:
        """By how much; the first look, and a clock set back, are none."""
        ahead, before = now.timestamp() - boottime(), self._ahead
        self._ahead = ahead
        return timedelta() if before is None else timedelta(seconds=max(0.0, ahead - before))
