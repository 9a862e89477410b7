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
from facho.apps.history.store import FrameRow, insert_past_frames, make_frame
from facho.apps.hosts.models import Olt
from facho.core.event_groups import port_of_place
from facho.core.outage import cause_of
from facho.demo.onu_story import CAUSES, Event, OnuStory
from facho.demo.readings import PortOptics, moments_of, read_onus, read_ports, whole_hours
from facho.demo.story import LOGGED, PortCut, Story
from facho.demo.traffic_rows import write_health, write_traffic
from facho.engine.events.stream import publish
from facho.engine.events.types import PortOutageEnded, PortOutageStarted
from facho.sim.model import Motion, OltModel

_EVENT: Final = ("olt", "onu", "kind", "at", "serial", "place", "cause", "before")


def onus_by_row(olt_id: int) -> list[Onu]:
    """Return the ONUs of an OLT in the order of their rows in the simulator: by their places."""
    return list(Onu.objects.filter(olt=olt_id).order_by("frame", "slot", "port", "onu_id"))


def write_onus(olt: Olt, onus: Sequence[Onu], onu_story: OnuStory, story: Story) -> None:
    """Date the ONUs and judge their power; write their events, and the outages of their ports."""
    dates = [(onu.id, seen, seen) for onu, seen in zip(onus, onu_story.first_seen, strict=True)]
    sql.update_rows(Onu, ("first_seen", "last_seen"), dates)
    Onu.objects.filter(olt=olt).update(optical_state="")
    judged = [(onus[row].id, each.state, each.usual_dbm) for row, each in onu_story.judged.items()]
    sql.update_rows(Onu, ("optical_state", "rx_usual_dbm"), judged)
    flagged = [onus[row].id for row, each in onu_story.judged.items() if each.usual_dbm is not None]
    Onu.objects.filter(id__in=flagged).update(rx_usual_of="onu_rx_dbm")
    _write_events(olt, onus, onu_story, story)
    for cut, rows in onu_story.cut.items():
        if rows:
            _write_cut(olt.id, [onus[row] for row in rows], cut, story)


def _write_events(olt: Olt, onus: Sequence[Onu], onu_story: OnuStory, story: Story) -> None:
    # Those of the first collection tell of the moment at which the demo began.
    OnuEvent.objects.filter(olt=olt).exclude(kind=EventKind.UNPROVISIONED).delete()
    moved = {each.row: each for each in story.moves_of(olt.name)}
    events = [
        *onu_story.events,
        *(Event(row, each.at, EventKind.MOVED) for row, each in moved.items() if row < len(onus)),
    ]
    rows = []
    for row, at, kind, cause in sorted(events, key=lambda each: each.at):
        onu, before = onus[row], _place_before(onus, row) if row in moved else ""
        earlier = row in moved and at < moved[row].at
        place = before if earlier else interface_of(onu)
        came_from = before if kind == EventKind.MOVED else ""
        rows.append((olt.id, onu.id, kind, at, onu.serial or onu.mac, place, cause, came_from))
    sql.insert_rows(OnuEvent, _EVENT, rows)


def _place_before(onus: Sequence[Onu], row: int) -> str:
    """Return where an ONU was that moved: after the last ONU of the last port."""
    return f"{_port_of(onus[-1])}:{(onus[-1].onu_id or 0) + 1 + row % 7}"


def _port_of(onu: Onu) -> str:
    return port_of_place(interface_of(onu))


def _write_cut(olt_id: int, onus: Sequence[Onu], cut: PortCut, story: Story) -> None:
    first = onus[0]
    place = _port_of(first)
    known = Onu.objects.filter(olt=olt_id, slot=first.slot, port=first.port).count()
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
    olt: Olt, onus: Sequence[Onu], onu_story: OnuStory, model: OltModel, story: Story, motion: Motion
) -> None:
    moments = moments_of(story, olt.name)
    hourly = set(whole_hours(moments))
    ids, distances = [onu.id for onu in onus], [onu.distance_m for onu in onus]
    frames = []
    for at, numbers in read_onus(model, onu_story, moments, story, motion):
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
    frames += write_health(olt, model, whole_hours(moments), story.now)
    frames += write_traffic(olt, onus, onu_story, model, story)
    _insert_frames(olt, onus, frames, story)


def _insert_frames(olt: Olt, onus: Sequence[Onu], frames: Sequence[FrameRow], story: Story) -> None:
    """Store the numbers of each hour at the port on which each ONU was."""
    moves = [each for each in story.moves_of(olt.name) if each.row < len(onus)]
    since = story.start
    for move in moves:
        elsewhere = {onus[move.row].id: _port_of(onus[-1])}
        insert_past_frames([each for each in frames if each[2] < move.at], story.now, elsewhere)
        since = move.at
    insert_past_frames([each for each in frames if each[2] >= since], story.now)


def date_chassis(olt: Olt, at: datetime) -> None:
    changed: Mapping[str, datetime] = {"updated_at": at}
    PonPort.objects.filter(olt=olt).update(**changed)
    OltHealth.objects.filter(olt=olt).update(**changed)
