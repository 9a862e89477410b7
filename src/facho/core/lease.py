"""For how long an execution holds its OLT.

The holder stops sending before others may take the lease: SEND_FOR is shorter than LENGTH, and counts from
before the renewal was asked for, on a clock that nobody sets and that runs on while the machine sleeps.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

LENGTH: Final = timedelta(seconds=20)
RENEW_EVERY: Final = timedelta(seconds=5)
SEND_FOR: Final = timedelta(seconds=15)


def is_expired(expires_at: datetime | None, now: datetime, *, length: timedelta = LENGTH) -> bool:
    """Nobody holds it any more.

    No renewal reaches further ahead than `length`: one that does was written before the clock was set back,
    and would hold the OLT until the clock has caught up. Its holder may be alive all the same, and then sets
    it right within RENEW_EVERY: look twice, that long apart, before taking such a one.
    """
    return expires_at is None or not now < expires_at <= now + length


def send_deadline(boottime_before: float, *, send_for: timedelta = SEND_FOR) -> float:
    """Until when the holder may send, on the clock that was read before the renewal was asked for."""
    return boottime_before + send_for.total_seconds()
