"""Stores outages of whole ports: they begin, grow and end with the states of their ONUs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from facho.apps.chassis.selectors import onus_by_port
from facho.apps.db import sql
from facho.apps.db.sql import fetch_by_id
from facho.apps.discovery.findings import ONLINE
from facho.apps.discovery.models import EventKind, Onu, OnuEvent, PortOutage, Presence
from facho.apps.discovery.onu_events import StateChange, StateChanges, port_of
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.onu_states import offline_cause
from facho.core.outage import OutageSize, cause_of, is_new_outage, is_over
from facho.engine.events.stream import publish
from facho.engine.events.types import PortOutageEnded, PortOutageStarted
from facho.engine.record.recording import Recording

# The id of an ONU that went offline, as JSON has it, and its cause.
Causes = dict[str, str]

_STATUS_COLUMNS: Final = ("state", "down_cause", "presence", "frame", "slot", "port")


def write_outages(recording: Recording) -> None:
    changes, unsure_since = recording.stored.state_changes, recording.before.unsure_since
    update_outages(recording.olt_id, changes, unsure_since, recording.now, recording.config)


def update_outages(
    olt_id: int, changes: StateChanges, unsure_since: datetime | None, now: datetime, config: Config
) -> None:
    """Begin, grow and end the outages of an OLT, after its ONUs are stored.

    Nothing follows from a collection that broke off: the next whole one decides.
    """
    if not changes.is_whole:
        if changes.onus and unsure_since is None:
            sql.update_row(Olt, olt_id, {"states_unsure_since": now})
        return
    if not changes.onus and unsure_since is None:
        return
    _OltOutages(olt_id, now, config).update(changes.onus, unsure_since)
    if unsure_since is not None:
        sql.update_row(Olt, olt_id, {"states_unsure_since": None})


class _OltOutages:
    """The open outages of one OLT, by port."""

    def __init__(self, olt_id: int, now: datetime, config: Config) -> None:
        self._olt_id = olt_id
        self._now = now
        self._mass = OutageSize(config.outage_onus, config.outage_share)
        rows = PortOutage.objects.filter(olt=olt_id, ended_at__isnull=True)
        self._open = {outage.place: outage for outage in rows}

    def update(self, changes: Sequence[StateChange], unsure_since: datetime | None) -> None:
        offline = _offline_by_port(changes)
        concerned = {str(each.onu_id) for each in changes}
        if unsure_since is not None:
            for port, causes in self._offline_since(unsure_since).items():
                offline[port] = {**causes, **offline.get(port, {})}
            concerned |= {onu for outage in self._open.values() for onu in outage.onus}
        totals = self._count_onus(offline)
        for port, causes in offline.items():
            self._add_offline(port, causes, totals.get(port, 0))
        for outage in [each for each in self._open.values() if not concerned.isdisjoint(each.onus)]:
            self._end_if_over(outage)

    def _count_onus(self, offline: Mapping[str, Causes]) -> dict[str, int]:
        """Count the ONUs of each port. The count is not needed for one ONU on a port without an outage."""
        if not any(len(causes) > 1 or port in self._open for port, causes in offline.items()):
            return {}
        counted = onus_by_port([self._olt_id]).get(self._olt_id, {})
        return {port: each.known for port, each in counted.items()}

    def _offline_since(self, since: datetime) -> dict[str, Causes]:
        """Return the ONUs that went offline in collections that broke off, and still are."""
        events = OnuEvent.objects.filter(
            olt=self._olt_id, at__gte=since, at__lt=self._now, kind=EventKind.OFFLINE, onu__isnull=False
        )
        causes = dict(events.order_by("id").values_list("onu_id", "cause"))
        offline: dict[str, Causes] = {}
        for onu_id, status in _present_onus(causes).items():
            if status.port and not status.is_online:
                # A collection that broke off may not have read the causes.
                offline.setdefault(status.port, {})[str(onu_id)] = causes[onu_id] or status.cause
        return offline

    def _add_offline(self, port: str, causes: Causes, total: int) -> None:
        outage = self._open.get(port)
        if outage is None:
            if self._mass.reached(len(causes), total):
                self._begin(port, causes, total)
            return
        fresh = {onu: cause for onu, cause in causes.items() if onu not in outage.onus}
        back = _count_online(_present_onus(map(int, outage.onus)))
        if is_new_outage(len(fresh), total, back=back, affected=outage.onus_affected, mass=self._mass):
            self._end(outage)
            self._begin(port, causes, total)
        elif fresh:
            self._grow(outage, fresh, total)

    def _begin(self, port: str, causes: Causes, total: int) -> None:
        outage = PortOutage(
            olt_id=self._olt_id,
            place=port,
            began_at=self._now,
            cause=cause_of(causes.values()).value,
            onus_affected=len(causes),
            onus_known=total,
            onus=causes,
        )
        outage.save(force_insert=True)
        self._open[port] = outage
        event = PortOutageStarted(
            olt_id=self._olt_id, port=port, cause=outage.cause, affected=outage.onus_affected, onus=total
        )
        publish(event, self._now)

    def _grow(self, outage: PortOutage, fresh: Causes, total: int) -> None:
        """Add ONUs to an outage. Its event is not published again."""
        outage.onus = {**outage.onus, **fresh}
        outage.onus_affected = len(outage.onus)
        outage.onus_known = max(total, outage.onus_affected)
        outage.cause = cause_of(outage.onus.values()).value
        outage.save(update_fields=("onus", "onus_affected", "onus_known", "cause"))

    def _end_if_over(self, outage: PortOutage) -> None:
        """End an outage when enough are back. ONUs that are gone for good are not waited for."""
        present = _present_onus(map(int, outage.onus))
        if is_over(_count_online(present), len(present)):
            self._end(outage)

    def _end(self, outage: PortOutage) -> None:
        outage.ended_at = self._now
        outage.save(update_fields=("ended_at",))
        del self._open[outage.place]
        event = PortOutageEnded(
            olt_id=self._olt_id,
            port=outage.place,
            cause=outage.cause,
            affected=outage.onus_affected,
            since=outage.began_at,
            until=self._now,
        )
        publish(event, self._now)


@dataclass(frozen=True, slots=True)
class _OnuStatus:
    is_online: bool
    port: str
    # Why it is offline, if it is.
    cause: str


def _present_onus(onu_ids: Iterable[int]) -> dict[int, _OnuStatus]:
    """Return the status of those that are present, by id."""
    read = fetch_by_id(Onu, list(onu_ids), _STATUS_COLUMNS)
    found = {onu_id: dict(zip(_STATUS_COLUMNS, values, strict=True)) for onu_id, values in read.items()}
    return {
        onu_id: _OnuStatus(
            each["state"] == ONLINE, port_of(each), offline_cause(each["down_cause"], each["state"])
        )
        for onu_id, each in found.items()
        if each["presence"] == Presence.PRESENT
    }


def _count_online(onus: Mapping[int, _OnuStatus]) -> int:
    return sum(onu.is_online for onu in onus.values())


def _offline_by_port(changes: Collection[StateChange]) -> dict[str, Causes]:
    offline: dict[str, Causes] = {}
    for each in changes:
        if each.kind is EventKind.OFFLINE and each.was_online and each.port:
            offline.setdefault(each.port, {})[str(each.onu_id)] = each.cause
    return offline
