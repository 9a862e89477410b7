"""Limit of failed log-ins: when the next attempt is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta


def blocked_until(times: Sequence[datetime], most: int, window: timedelta) -> datetime | None:
    """Return until when attempts are refused, None if one is allowed now."""
    too_many = len(times) - most
    return times[too_many - 1] + window if too_many > 0 else None
