"""The last events of all kinds, for the dashboard: what the coordinator did, and what happened to ONUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from facho.apps.discovery.models import EventKind, OnuEvent
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.core.journal import Level

_LEVELS: Final = {EventKind.OFFLINE: Level.WARNING, EventKind.ABSENT: Level.WARNING}


@dataclass(frozen=True, slots=True)
class Happening:
    at: datetime
    level: str
    what: str
    # Empty for what concerns no OLT, or all of them.
    olt: str
    details: str


def last_happenings(limit: int, olt_id: int | None = None) -> list[Happening]:
    """Newest first. Both questions are answered from an index, without a look at older rows."""
    about = {} if olt_id is None else {"olt": olt_id}
    found = [*_of_the_coordinator(limit, about), *_of_onus(limit, about)]
    return sorted(found, key=lambda each: each.at, reverse=True)[:limit]


def _of_the_coordinator(limit: int, about: Mapping[str, int]) -> Sequence[Happening]:
    rows = CoordinatorLog.objects.filter(**about).order_by("-timestamp", "-id")
    columns = ("timestamp", "level", "event_type", "olt__name", "message")
    return [
        Happening(at, level, event, olt or "", message)
        for at, level, event, olt, message in rows.values_list(*columns)[:limit]
    ]


def _of_onus(limit: int, about: Mapping[str, int]) -> Sequence[Happening]:
    rows = OnuEvent.objects.filter(**about).order_by("-at", "-id")
    columns = ("at", "kind", "olt__name", "serial", "place")
    return [
        Happening(
            at, _LEVELS.get(EventKind(kind), Level.INFO), kind, olt, " ".join(filter(None, (serial, place)))
        )
        for at, kind, olt, serial, place in rows.values_list(*columns)[:limit]
    ]
