"""Length of a lease, and the share of it in which the holder may send.

The holder stops before others may take the lease: its time is shorter and counts from before the renewal
request, on a clock that cannot be set and that continues while the machine sleeps.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

LENGTH: Final = timedelta(seconds=20)
# 15 of 20 seconds.
SEND_SHARE: Final = 0.75


def send_deadline(boottime_before: float, *, length: timedelta = LENGTH) -> float:
    """Return until when the holder may send, on the clock read before the renewal."""
    return boottime_before + length.total_seconds() * SEND_SHARE
