"""The most recent events of the coordinator log and of ONUs, for the dashboard and the page of an OLT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import F

from facho.apps.discovery.models import EventKind, OnuEvent
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.core.event_types import Level
from facho.web.words.events import onu_event_details

_LEVELS: Final = {EventKind.OFFLINE: Level.WARNING, EventKind.ABSENT: Level.WARNING}


@dataclass(frozen=True, slots=True)
class RecentEvent:
    at: datetime
    level: str
    what: str
    # None and empty for events of no OLT or of all.
    olt_id: int | None
    olt: str
    details: str
    # For events of an ONU: its name, and its id while it is stored.
    onu: str = ""
    onu_id: int | None = None


def recent_events(limit: int, olt_id: int | None = None) -> list[RecentEvent]:
    """Return the newest events first. Both queries use an index and read no older rows."""
    about = {} if olt_id is None else {"olt": olt_id}
    found = [*_coordinator_events(limit, about), *_onu_events(limit, about)]
    return sorted(found, key=lambda each: each.at, reverse=True)[:limit]


def _coordinator_events(limit: int, about: Mapping[str, int]) -> Sequence[RecentEvent]:
    rows = CoordinatorLog.objects.filter(**about).order_by("-timestamp", "-id")
    columns = ("timestamp", "level", "event_type", "olt_id", "olt__name", "message")
    return [
        RecentEvent(at, level, event, olt_id, olt or "", message)
        for at, level, event, olt_id, olt, message in rows.values_list(*columns)[:limit]
    ]


def _onu_events(limit: int, about: Mapping[str, int]) -> Sequence[RecentEvent]:
    rows = OnuEvent.objects.filter(**about).order_by("-at", "-id").annotate(olt_name=F("olt__name"))
    return [
        RecentEvent(
            at=event.at,
            level=_LEVELS.get(EventKind(event.kind), Level.INFO),
            what=event.kind,
            olt_id=event.olt_id,
            olt=event.olt_name,
            details=onu_event_details(event) or (event.place if event.serial else ""),
            onu=event.serial or event.place,
            onu_id=event.onu_id,
        )
        for event in rows[:limit]
    ]
