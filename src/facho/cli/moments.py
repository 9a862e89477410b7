"""Moments as people write them: so long ago, or a date."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from facho.core.interval import BadInterval, parse_interval


class BadMoment(ValueError):
    """The message is for the person who wrote it."""


def parse_moment(text: str, now: datetime, zone: ZoneInfo) -> datetime:
    """`24h` is a day before `now`; a date or a time without a zone is the operator's."""
    try:
        return now - parse_interval(text)
    except BadInterval:
        pass
    try:
        written = datetime.fromisoformat(text.strip())
        return (written if written.tzinfo is not None else written.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadMoment(f"'{text[:40]}' is no time: write 24h, 7d, 2026-11-01 or 2026-11-01T18:00") from None
