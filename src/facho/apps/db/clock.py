"""The two clocks: the database's, which all processes share, and one that nobody sets."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from django.db import connection

Clock: TypeAlias = Callable[[], datetime]

# Elsewhere than on Linux, the nearest there is.
_BOOTTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def database_now() -> datetime:
    """Return the time of the database server. On SQLite all processes are on one machine, with one clock."""
    if connection.vendor != "postgresql":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now


def boottime() -> float:
    """Return seconds that also pass while the machine sleeps, whatever is done to the wall clock."""
    return time.clock_gettime(_BOOTTIME)


class ClockJumpDetector:
    """Notices that the wall clock was set forward, by comparing it with `boottime`."""

    def __init__(self) -> None:
        self._ahead: float | None = None

    def since_last(self, now: datetime) -> timedelta:
        """Return by how much it was set forward since the last call; nothing at the first call."""
        ahead, before = now.timestamp() - boottime(), self._ahead
        self._ahead = ahead
        return timedelta() if before is None else timedelta(seconds=max(0.0, ahead - before))
