"""Time zones as people name and read them: `America/Santiago (UTC-3)`."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

_CONTINENTS: Final = (
    "Africa/", "America/", "Antarctica/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/",
    "Pacific/",
)  # fmt: skip


@cache
def zone_names() -> tuple[str, ...]:
    """Return the names of places, and UTC; not the old names by country and abbreviation."""
    return ("UTC", *sorted(each for each in available_timezones() if each.startswith(_CONTINENTS)))


def zone_named(name: str) -> ZoneInfo | None:
    """Return the zone of a name, None for an unknown one."""
    return ZoneInfo(name) if name in zone_names() else None


def offset_text(at: datetime, zone: tzinfo) -> str:
    """Return the offset of a zone at a moment: `UTC-3`, `UTC+5:30`, `UTC`."""
    minutes = (at.astimezone(zone).utcoffset() or timedelta()) // timedelta(minutes=1)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02}' if rest else ''}"


def zone_text(at: datetime, zone: tzinfo) -> str:
    """Return the name of a zone with its offset at a moment: `America/Santiago (UTC-3)`."""
    name, offset = str(zone), offset_text(at, zone)
    return name if name == offset else f"{name} ({offset})"
