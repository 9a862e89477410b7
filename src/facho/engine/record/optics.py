"""The light of ONUs: what is told of it, and what is usual for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from django.db.models import F, Q

from facho.apps.db import sql
from facho.apps.discovery import statements
from facho.apps.discovery.models import EventKind, Onu, Optics, Presence
from facho.apps.discovery.optics import POWERS
from facho.apps.discovery.turns import OpticalChange
from facho.apps.history.places import places_of_olt
from facho.apps.history.selectors import values_by_hour
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.notifications import NotificationKind
from facho.core.optics import Limits, baseline_of
from facho.engine.events.stream import publish
from facho.engine.events.types import OpticalPowerChanged
from facho.engine.record.recording import Recording

_NOTICES: Final = {
    EventKind.WEAK: NotificationKind.OPTICAL_WEAK,
    EventKind.FALLING: NotificationKind.OPTICAL_FALLING,
    EventKind.RECOVERED: NotificationKind.OPTICAL_RECOVERED,
}
# Of those that are told together so many are named, the worst first.
_MOST_NAMED: Final = 5
_WEEK: Final = timedelta(days=7)
_EVERY: Final = timedelta(days=1)
# In one turn of the housekeeping: a port is about ten milliseconds of work.
_MOST_PORTS: Final = 64
_MOST_OLTS: Final = 20
# Noise is not worth a write.
_WORTH_DB: Final = 0.1


def limits_of(config: Config) -> Limits:
    return Limits(weak_dbm=config.optical_weak, fall_db=config.optical_fall)


def write_optics(recording: Recording) -> None:
    tell_optics(recording.olt_id, recording.stored.optics, recording.now)


def tell_optics(olt_id: int, changes: Sequence[OpticalChange], now: datetime) -> None:
    """Publish one event for all ONUs of a port to which the same happened in a collection."""
    ordered = sorted(changes, key=_kind_and_port)
    for (kind, port), several in groupby(ordered, key=_kind_and_port):
        worst = sorted(several, key=lambda each: each.power_dbm)
        names = [each.name for each in worst]
        onus = [_told(each) for each in worst[:_MOST_NAMED]]
        publish(
            OpticalPowerChanged(olt_id=olt_id, kind=_NOTICES[kind], port=port, names=names, onus=onus), now
        )


def _kind_and_port(change: OpticalChange) -> tuple[EventKind, str]:
    return change.kind, change.port


def _told(change: OpticalChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "place": change.place,
        "power_dbm": change.power_dbm,
        "usual_dbm": change.usual_dbm,
    }


def tend_optics(now: datetime, _config: Config) -> int:
    """Works out what is usual, for each OLT once a day. How many ONUs have another usual power now."""
    changed = ports = 0
    for olt_id in _due(now):
        places = sorted(set(places_of_olt(olt_id).values()))
        changed += sum(_tend_port(olt_id, place, now) for place in places)
        sql.update_row(Olt, olt_id, {"optics_usual_at": now})
        ports += len(places)
        if ports >= _MOST_PORTS:
            break
    return changed


def _due(now: datetime) -> list[int]:
    """Who waits longest comes first. One from the future was noted before the clock was set back."""
    never = Q(optics_usual_at__isnull=True)
    due = never | Q(optics_usual_at__lte=now - _EVERY) | Q(optics_usual_at__gt=now)
    olts = Olt.objects.filter(due, enabled=True).order_by(F("optics_usual_at").asc(nulls_first=True), "id")
    return list(olts.values_list("id", flat=True)[:_MOST_OLTS])


def _tend_port(olt_id: int, place: str, now: datetime) -> int:
    usual = _usual_at(olt_id, place, now)
    if not usual:
        return 0
    with sql.write_transaction():
        rows = _worth_writing(usual)
        statements.update(("rx_usual_dbm", "rx_usual_of"), rows)
    return len(rows)


def _usual_at(olt_id: int, place: str, now: datetime) -> dict[int, tuple[float, str]]:
    found: dict[int, tuple[float, str]] = {}
    # The first one is the one that counts.
    for fact in reversed(POWERS):
        for onu, hours in values_by_hour(olt_id, place, fact, now - _WEEK, now).items():
            if (usual := baseline_of(hours)) is not None:
                found[onu] = usual, fact
    return found


def _worth_writing(usual: Mapping[int, tuple[float, str]]) -> list[tuple[int, float, str]]:
    """Of who is told to be bad the usual stays what it was, or it would be well again by getting used to it.

    Who is being stored at this moment waits for the next day: nobody waits for another here.
    """
    onus = Onu.objects.filter(id__in=list(usual), presence=Presence.PRESENT).filter(
        Q(optical_state=Optics.WELL) | Q(rx_usual_dbm__isnull=True)
    )
    known = onus.select_for_update(skip_locked=True).values_list("id", "rx_usual_dbm", "rx_usual_of")
    return [
        (onu, *usual[onu])
        for onu, before, of in known.order_by("id")
        if before is None or of != usual[onu][1] or abs(before - usual[onu][0]) >= _WORTH_DB
    ]
