"""When somebody who failed to log in may try again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta


def refused_until(times: Sequence[datetime], most: int, window: timedelta) -> datetime | None:
    """`times` are those of the window, oldest first, with the one that is looked at. None when it may."""
    too_many = len(times) - most
    return times[too_many - 1] + window if too_many > 0 else None
