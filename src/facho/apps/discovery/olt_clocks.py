"""The stored clocks of OLTs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Final

from facho.apps.discovery.models import ClockState
from facho.core.olt_clock import Bounds, OltClock

# The key among the extras of an ONU of the dates as the OLT shows them.
OLT_DATES: Final = "olt_dates"


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What the clock of an OLT showed at some time since the beginning of a collection."""

    begin: datetime
    # None if it was not asked, or has no clock.
    shown: datetime | None = None
    # In which an OLT that follows daylight saving probably is.
    zone: tzinfo = UTC


def load_clock(olt_id: int) -> OltClock | None:
    row = ClockState.objects.filter(olt=olt_id).first()
    return None if row is None else clock_of(row)


def clock_of(row: ClockState) -> OltClock:
    bounds = Bounds(row.low_s, row.high_s)
    return OltClock(bounds, row.since, row.checked_at, row.read_at, row.has_zone, row.has_jumped)


def store_clock(olt_id: int, clock: OltClock) -> None:
    columns = {
        "low_s": clock.bounds.low_s,
        "high_s": clock.bounds.high_s,
        "has_zone": clock.has_zone,
        "since": clock.since,
        "has_jumped": clock.has_jumped,
        "checked_at": clock.checked_at,
        "read_at": clock.read_at,
    }
    ClockState.objects.update_or_create(olt_id=olt_id, defaults=columns)
