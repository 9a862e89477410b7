"""For how long an execution holds its OLT, and for how much of that time its holder may send.

The holder stops before others may take the lease: its time is shorter, and counts from before the renewal was
asked for, on a clock that nobody sets and that runs on while the machine sleeps.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

LENGTH: Final = timedelta(seconds=20)
# 15 of 20 seconds.
SEND_SHARE: Final = 0.75


def send_deadline(boottime_before: float, *, length: timedelta = LENGTH) -> float:
    """Until when the holder may send, on the clock that was read before the renewal was asked for."""
    return boottime_before + length.total_seconds() * SEND_SHARE
