"""Publishes changes of the optical power of ONUs, and keeps the baseline of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from django.db.models import F, Q

from facho.apps.db import sql
from facho.apps.db.sql import update_rows
from facho.apps.discovery.models import EventKind, Onu, Optics, Presence
from facho.apps.discovery.onu_events import POWERS, PowerChange
from facho.apps.history.selectors import values_by_hour
from facho.apps.history.store import places_of_olt
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.optics import baseline_of
from facho.engine.events.stream import publish
from facho.engine.events.types import OpticalPowerChanged
from facho.engine.record.recording import Recording

# So many ONUs of one event are named, the worst first.
_MAX_NAMED: Final = 5
_WEEK: Final = timedelta(days=7)
_EVERY: Final = timedelta(days=1)
# In one pass of the housekeeping: a port is about ten milliseconds of work.
_MAX_PORTS: Final = 64
_MAX_OLTS: Final = 20
# A smaller change of a baseline is noise, and not written.
_SMALLEST_CHANGE_DB: Final = 0.1


def write_optics(recording: Recording) -> None:
    publish_optical_changes(recording.olt_id, recording.stored.optical_changes, recording.now)


def publish_optical_changes(olt_id: int, changes: Sequence[PowerChange], now: datetime) -> None:
    """Publish one event for all ONUs of a port to which the same happened in a collection."""
    ordered = sorted(changes, key=_kind_and_port)
    for (kind, port), several in groupby(ordered, key=_kind_and_port):
        worst = sorted(several, key=lambda each: each.power_dbm)
        names = [each.name for each in worst]
        onus = [_onu_json(each) for each in worst[:_MAX_NAMED]]
        event = OpticalPowerChanged(olt_id=olt_id, change=kind, port=port, names=names, onus=onus)
        publish(event, now)


def _kind_and_port(change: PowerChange) -> tuple[EventKind, str]:
    return change.kind, change.port


def _onu_json(change: PowerChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "place": change.place,
        "power_dbm": change.power_dbm,
        "usual_dbm": change.usual_dbm,
    }


def update_baselines(now: datetime, _config: Config) -> int:
    """Compute the baselines of each OLT once a day. Return how many ONUs have another one now."""
    changed = ports = 0
    for olt_id in _due_olts(now):
        places = sorted(set(places_of_olt(olt_id).values()))
        changed += sum(_update_port(olt_id, place, now) for place in places)
        sql.update_row(Olt, olt_id, {"optics_usual_at": now})
        ports += len(places)
        if ports >= _MAX_PORTS:
            break
    return changed


def _due_olts(now: datetime) -> list[int]:
    """Return the OLTs that waited longest. A date in the future was written before the clock was set back."""
    never = Q(optics_usual_at__isnull=True)
    due = never | Q(optics_usual_at__lte=now - _EVERY) | Q(optics_usual_at__gt=now)
    olts = Olt.objects.filter(due, enabled=True).order_by(F("optics_usual_at").asc(nulls_first=True), "id")
    return list(olts.values_list("id", flat=True)[:_MAX_OLTS])


def _update_port(olt_id: int, place: str, now: datetime) -> int:
    baselines = _compute_baselines(olt_id, place, now)
    if not baselines:
        return 0
    with sql.write_transaction():
        rows = _changed_baselines(baselines)
        update_rows(Onu, ("rx_usual_dbm", "rx_usual_of"), rows, is_adapted=True)
    return len(rows)


def _compute_baselines(olt_id: int, place: str, now: datetime) -> dict[int, tuple[float, str]]:
    found: dict[int, tuple[float, str]] = {}
    # The first power counts, and so it is the last one that is set.
    for fact in reversed(POWERS):
        for onu, hours in values_by_hour(olt_id, place, fact, now - _WEEK, now).items():
            if (baseline := baseline_of(hours)) is not None:
                found[onu] = baseline, fact
    return found


def _changed_baselines(baselines: Mapping[int, tuple[float, str]]) -> list[tuple[int, float, str]]:
    """Return the baselines to write, with the rows locked.

    The baseline of an ONU that is flagged stays, or the ONU would recover by getting used to the bad value.
    ONUs that are being stored at this moment are left for the next day, so that nobody waits.
    """
    onus = Onu.objects.filter(id__in=list(baselines), presence=Presence.PRESENT).filter(
        Q(optical_state=Optics.WELL) | Q(rx_usual_dbm__isnull=True)
    )
    known = onus.select_for_update(skip_locked=True).values_list("id", "rx_usual_dbm", "rx_usual_of")
    return [
        (onu, *baselines[onu])
        for onu, before, fact in known.order_by("id")
        if before is None
        or fact != baselines[onu][1]
        or abs(before - baselines[onu][0]) >= _SMALLEST_CHANGE_DB
    ]
