"""Times on the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from facho.core.interval import BadInterval, parse_interval
from facho.engine.commands.errors import CommandError


def parse_time(option: str, text: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Parse an age before `now`, as `24h`, or a date; one without a zone is the operator's.

    Raises CommandError.
    """
    try:
        return now - parse_interval(text)
    except BadInterval:
        return parse_date(option, text, zone, "24h, 7d, 2026-11-01 or 2026-11-01T18:00")


def parse_date(option: str, text: str, zone: ZoneInfo, examples: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(text.strip())
        return (parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise CommandError(option, f"'{text[:40]}' is no time: write {examples}") from None
