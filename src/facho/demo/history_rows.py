"""Writes what became of the ONUs and ports of an OLT: their events, outages and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from facho.apps.chassis.models import OltHealth, PonPort
from facho.apps.db import sql
from facho.apps.discovery.models import EventKind, Onu, OnuEvent, PortOutage
from facho.apps.discovery.selectors import interface_of
from facho.apps.history.models import Subject
from facho.apps.history.store import insert_past_frames, make_frame
from facho.apps.hosts.models import Olt
from facho.core.outage import cause_of
from facho.demo.onu_story import CAUSES, OnuStory
from facho.demo.readings import PortOptics, moments_of, read_onus, read_ports, whole_hours
from facho.demo.story import LOGGED, PortCut, Story
from facho.engine.events.stream import publish
from facho.engine.events.types import PortOutageEnded, PortOutageStarted
from facho.sim.model import Motion, OltModel

_EVENT: Final = ("olt", "onu", "kind", "at", "serial", "place", "cause")


def onus_by_row(olt_id: int) -> list[Onu]:
    """Return the ONUs of an OLT in the order of their rows in the simulator: by their places."""
    return list(Onu.objects.filter(olt=olt_id).order_by("frame", "slot", "port", "onu_id"))


def write_onus(olt: Olt, onus: Sequence[Onu], told: OnuStory, story: Story) -> None:
    """Date the ONUs and judge their power; write their events, and the outages of their ports."""
    dates = [(onu.id, seen, seen) for onu, seen in zip(onus, told.first_seen, strict=True)]
    sql.update_rows(Onu, ("first_seen", "last_seen"), dates)
    Onu.objects.filter(olt=olt).update(optical_state="")
    judged = [(onus[row].id, each.state, each.usual_dbm) for row, each in told.judged.items()]
    sql.update_rows(Onu, ("optical_state", "rx_usual_dbm"), judged)
    flagged = [onus[row].id for row, each in told.judged.items() if each.usual_dbm is not None]
    Onu.objects.filter(id__in=flagged).update(rx_usual_of="onu_rx_dbm")
    _write_events(olt.id, onus, told)
    for cut, rows in told.cut.items():
        if rows:
            _write_cut(olt.id, [onus[row] for row in rows], cut, story)


def _write_events(olt_id: int, onus: Sequence[Onu], told: OnuStory) -> None:
    # Those of the first collection tell of the moment at which the demo began.
    OnuEvent.objects.filter(olt=olt_id).exclude(kind=EventKind.UNPROVISIONED).delete()
    places = [interface_of(onu) for onu in onus]
    rows = [
        (olt_id, onus[row].id, kind, at, onus[row].serial or onus[row].mac, places[row], cause)
        for row, at, kind, cause in told.events
    ]
    sql.insert_rows(OnuEvent, _EVENT, rows)


def _write_cut(olt_id: int, onus: Sequence[Onu], cut: PortCut, story: Story) -> None:
    first = onus[0]
    port = first.slot, first.port
    place = interface_of(first).partition(":")[0]
    known = Onu.objects.filter(olt=olt_id, slot=port[0], port=port[1]).count()
    cause = CAUSES[cut.cause]
    outage = PortOutage.objects.create(
        olt_id=olt_id,
        place=place,
        began_at=cut.since,
        ended_at=cut.until,
        cause=cause_of([cause]),
        onus_affected=len(onus),
        onus_known=known,
        onus={str(onu.id): cause for onu in onus},
    )
    if story.now - cut.since > LOGGED:
        return
    affected = len(onus)
    began = PortOutageStarted(olt_id=olt_id, port=place, cause=outage.cause, affected=affected, onus=known)
    publish(began, cut.since)
    ended = PortOutageEnded(
        olt_id=olt_id, port=place, cause=outage.cause, affected=affected, since=cut.since, until=cut.until
    )
    publish(ended, cut.until)


def write_charts(
    olt: Olt, onus: Sequence[Onu], told: OnuStory, model: OltModel, story: Story, motion: Motion
) -> None:
    moments = moments_of(story, olt.name)
    hourly = set(whole_hours(moments))
    ids, distances = [onu.id for onu in onus], [onu.distance_m for onu in onus]
    frames = []
    for at, numbers in read_onus(model, told, moments, story, motion):
        # A distance does not change: one in an hour is a line in a chart.
        more = {"distance_m": distances} if at in hourly else {}
        frames += make_frame(olt.id, at, Subject.ONU, ids, {**numbers, **more})
    ports = list(PonPort.objects.filter(olt=olt))
    optics = [PortOptics(port.tx_dbm, port.temperature_c) for port in ports]
    frames += [
        frame
        for at, numbers in read_ports(model, optics, whole_hours(moments), story.now)
        for frame in make_frame(olt.id, at, Subject.PORT, [port.id for port in ports], numbers)
    ]
    insert_past_frames(frames, story.now)


def date_chassis(olt: Olt, at: datetime) -> None:
    changed: Mapping[str, datetime] = {"updated_at": at}
    PonPort.objects.filter(olt=olt).update(**changed)
    OltHealth.objects.filter(olt=olt).update(**changed)
