"""The most recent events of the coordinator log and of ONUs, for the dashboard and the page of an OLT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, F, OuterRef, Subquery, When
from django.utils.translation import gettext, ngettext

from facho.apps.discovery.models import EventKind, OnuEvent
from facho.apps.execution_coordinator.models import CoordinatorLog, QuotaViolation
from facho.core.event_groups import EventGroup, EventKey, group_events
from facho.core.event_types import EventType, Level
from facho.web.words.events import log_message, onu_event_details

# So many events of ONUs are read at most; a group that reaches beyond them is shown with a plus.
_READ_MOST: Final = 500
# So many ONUs of a group are named.
_NAMED_MOST: Final = 64
_LEVELS: Final = {EventKind.OFFLINE: Level.WARNING, EventKind.ABSENT: Level.WARNING}
_LOG_COLUMNS: Final = ("timestamp", "level", "event_type", "message", "details", "olt_id", "olt__name")
# The violation that an event is about: it is stored and logged with the same time.
_VIOLATION: Final = Case(
    When(
        event_type=EventType.QUOTA_VIOLATION,
        then=Subquery(
            QuotaViolation.objects.filter(olt=OuterRef("olt_id"), created_at=OuterRef("timestamp")).values(
                "id"
            )[:1]
        ),
    ),
    default=None,
)


@dataclass(frozen=True, slots=True)
class RecentEvent:
    # When it was seen: events are in this order.
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
    # Of a group: the first ONUs as names and ids, and how many more there are.
    onus: Sequence[tuple[str, int | None]] = ()
    unnamed: int = 0
    # For a quota violation.
    violation_id: int | None = None
    # As the OLT dates it; of a group, the first.
    happened_at: datetime | None = None


def recent_events(limit: int, olt_id: int | None = None) -> list[RecentEvent]:
    """Return the newest events first. Both queries use an index and read no older rows."""
    about = {} if olt_id is None else {"olt": olt_id}
    found = [*_coordinator_events(limit, about), *_onu_events(limit, about)]
    return sorted(found, key=lambda each: each.at, reverse=True)[:limit]


def _coordinator_events(limit: int, about: Mapping[str, int]) -> Sequence[RecentEvent]:
    rows = CoordinatorLog.objects.filter(**about).order_by("-timestamp", "-id")
    found = rows.select_related("olt").only(*_LOG_COLUMNS).annotate(violation=_VIOLATION)[:limit]
    return [_coordinator_row(log, log.violation) for log in found]


def _coordinator_row(log: CoordinatorLog, violation_id: int | None) -> RecentEvent:
    olt = "" if log.olt is None else log.olt.name
    return RecentEvent(
        log.timestamp, log.level, log.event_type, log.olt_id, olt, log_message(log), violation_id=violation_id
    )


def _onu_events(limit: int, about: Mapping[str, int]) -> Sequence[RecentEvent]:
    """Return a row for all events of one kind that happened to an OLT at one moment."""
    rows = OnuEvent.objects.filter(**about).order_by("-at", "-id").annotate(olt_name=F("olt__name"))
    read = list(rows[:_READ_MOST])
    groups = group_events(read, _key, lambda event: event.place)
    is_cut = len(read) == _READ_MOST
    return [_row(each, is_cut and read[-1] in each.events) for each in groups[:limit]]


def _key(event: OnuEvent) -> EventKey:
    return EventKey(event.olt_id, event.kind, event.at)


def _row(group: EventGroup[Any], is_cut: bool) -> RecentEvent:
    """Return the row of events that were read with the name of their OLT."""
    event = group.events[0]
    alone = len(group.events) == 1 and not is_cut
    named = [] if alone else [(_name(each), each.onu_id) for each in group.events[:_NAMED_MOST]]
    return RecentEvent(
        at=event.at,
        level=_LEVELS.get(EventKind(event.kind), Level.INFO),
        what=event.kind,
        olt_id=event.olt_id,
        olt=event.olt_name,
        details=_details(event) if alone else _summary(group, is_cut),
        onu=_name(event) if alone else "",
        onu_id=event.onu_id if alone else None,
        onus=named,
        unnamed=0 if alone else len(group.events) - len(named),
        happened_at=min((each.happened_at for each in group.events if each.happened_at), default=None),
    )


def _name(event: OnuEvent) -> str:
    return event.serial or event.place


def _details(event: OnuEvent) -> str:
    return onu_event_details(event) or (event.place if event.serial else "")


def _summary(group: EventGroup[Any], is_cut: bool) -> str:
    """Return `37 ONUs on port 0/1/3`, or `90 ONUs on 2 ports`."""
    number, ports = len(group.events), len(group.ports)
    onus = ngettext("%(count)s ONU", "%(count)s ONUs", number) % {"count": f"{number}{'+' * is_cut}"}
    if ports == 1:
        return gettext("%(onus)s on port %(port)s") % {"onus": onus, "port": group.ports[0]}
    return gettext("%(onus)s on %(ports)s ports") % {"onus": onus, "ports": ports} if ports else onus
