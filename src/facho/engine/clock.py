"""The two clocks: the database's, which all processes share, and one that nobody sets."""

from __future__ import annotations

import time
from datetime import UTC, datetime
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
