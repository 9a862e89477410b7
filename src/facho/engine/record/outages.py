"""Outages of whole ports: begun, grown and ended in the transaction that stores the states of ONUs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from facho.apps.chassis.selectors import onus_by_port
from facho.apps.db import sql
from facho.apps.discovery import statements
from facho.apps.discovery.filling import ONLINE
from facho.apps.discovery.happened import port_of
from facho.apps.discovery.models import EventKind, OnuEvent, PortOutage, Presence
from facho.apps.discovery.turns import Turned, Turns
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.onu_states import offline_cause
from facho.core.outage import OutageSize, cause_of, is_new_outage, is_over
from facho.engine.events.stream import publish
from facho.engine.events.types import PortOutageEnded, PortOutageStarted
from facho.engine.record.recording import Recording

# By its number: why it went.
Fallen = dict[str, str]

_HOW_IT_IS: Final = ("state", "down_cause", "presence", "frame", "slot", "port")


def write_outages(recording: Recording) -> None:
    unsure_since, config = recording.before.unsure_since, recording.config
    update_outages(recording.olt_id, recording.stored.turns, unsure_since, recording.now, config)


def update_outages(
    olt_id: int, turns: Turns, unsure_since: datetime | None, now: datetime, config: Config
) -> None:
    """After the ONUs are stored. A collection that broke off concludes nothing: the next whole one does."""
    if not turns.whole:
        if turns.onus and unsure_since is None:
            sql.update_row(Olt, olt_id, {"states_unsure_since": now})
        return
    if not turns.onus and unsure_since is None:
        return
    _Ports(olt_id, now, config).look(turns.onus, unsure_since)
    if unsure_since is not None:
        sql.update_row(Olt, olt_id, {"states_unsure_since": None})


class _Ports:
    """The ports of one OLT, as its last collection left them."""

    def __init__(self, olt_id: int, now: datetime, config: Config) -> None:
        self._olt_id = olt_id
        self._now = now
        self._mass = OutageSize(config.outage_onus, config.outage_share)
        open_ones = PortOutage.objects.filter(olt=olt_id, ended_at__isnull=True)
        self._open = {outage.place: outage for outage in open_ones}

    def look(self, turned: Sequence[Turned], unsure_since: datetime | None) -> None:
        fallen = _by_port(turned)
        concerned = {str(each.onu_id) for each in turned}
        if unsure_since is not None:
            _add(fallen, self._fallen_since(unsure_since))
            concerned |= {onu for outage in self._open.values() for onu in outage.onus}
        onus = self._onus_of(fallen)
        for place, who in fallen.items():
            self._fall(place, who, onus.get(place, 0))
        for outage in [each for each in self._open.values() if not concerned.isdisjoint(each.onus)]:
            self._end_if_over(outage)

    def _onus_of(self, fallen: Mapping[str, Fallen]) -> dict[str, int]:
        """How many each port has; nobody asks where one ONU went and no outage is open."""
        if not any(len(who) > 1 or place in self._open for place, who in fallen.items()):
            return {}
        counted = onus_by_port([self._olt_id]).get(self._olt_id, {})
        return {place: each.known for place, each in counted.items()}

    def _fallen_since(self, since: datetime) -> dict[str, Fallen]:
        """Whom collections that broke off told to be gone, and who is still."""
        events = OnuEvent.objects.filter(
            olt=self._olt_id, at__gte=since, at__lt=self._now, kind=EventKind.OFFLINE, onu__isnull=False
        )
        causes = dict(events.order_by("id").values_list("onu_id", "cause"))
        return _gone(causes, _how_they_are(causes))

    def _fall(self, place: str, who: Fallen, onus: int) -> None:
        outage = self._open.get(place)
        if outage is None:
            if self._mass.reached(len(who), onus):
                self._begin(place, who, onus)
            return
        fresh = {onu: cause for onu, cause in who.items() if onu not in outage.onus}
        back = _back(_how_they_are(map(int, outage.onus)))
        if is_new_outage(len(fresh), onus, back=back, affected=outage.onus_affected, mass=self._mass):
            self._end(outage)
            self._begin(place, who, onus)
        elif fresh:
            self._grow(outage, fresh, onus)

    def _begin(self, place: str, who: Fallen, onus: int) -> None:
        outage = PortOutage(
            olt_id=self._olt_id,
            place=place,
            began_at=self._now,
            cause=cause_of(who.values()).value,
            onus_affected=len(who),
            onus_known=onus,
            onus=who,
        )
        outage.save(force_insert=True)
        self._open[place] = outage
        event = PortOutageStarted(
            olt_id=self._olt_id, port=place, cause=outage.cause, affected=outage.onus_affected, onus=onus
        )
        publish(event, self._now)

    def _grow(self, outage: PortOutage, fresh: Fallen, onus: int) -> None:
        """What was told stands; who looks sees how it is now."""
        outage.onus = {**outage.onus, **fresh}
        outage.onus_affected = len(outage.onus)
        outage.onus_known = max(onus, outage.onus_affected)
        outage.cause = cause_of(outage.onus.values()).value
        outage.save(update_fields=("onus", "onus_affected", "onus_known", "cause"))

    def _end_if_over(self, outage: PortOutage) -> None:
        """Who is not there any more is not waited for."""
        left = _how_they_are(map(int, outage.onus))
        if is_over(_back(left), len(left)):
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
class _Onu:
    online: bool
    port: str
    # Why it is gone, if it is.
    cause: str


def _how_they_are(onus: Iterable[int]) -> dict[int, _Onu]:
    """Those that are still there."""
    read = statements.read_some(list(onus), _HOW_IT_IS)
    found = {onu: dict(zip(_HOW_IT_IS, values, strict=True)) for onu, values in read.items()}
    return {
        onu: _Onu(each["state"] == ONLINE, port_of(each), offline_cause(each["down_cause"], each["state"]))
        for onu, each in found.items()
        if each["presence"] == Presence.PRESENT
    }


def _back(onus: Mapping[int, _Onu]) -> int:
    return sum(onu.online for onu in onus.values())


def _gone(causes: Mapping[int, str], onus: Mapping[int, _Onu]) -> dict[str, Fallen]:
    fallen: dict[str, Fallen] = {}
    for number, onu in onus.items():
        if onu.port and not onu.online:
            # What broke off may not have come to the causes.
            fallen.setdefault(onu.port, {})[str(number)] = causes[number] or onu.cause
    return fallen


def _by_port(turned: Collection[Turned]) -> dict[str, Fallen]:
    fallen: dict[str, Fallen] = {}
    for each in turned:
        if each.kind is EventKind.OFFLINE and each.was_online and each.port:
            fallen.setdefault(each.port, {})[str(each.onu_id)] = each.cause
    return fallen


def _add(fallen: dict[str, Fallen], more: Mapping[str, Fallen]) -> None:
    for place, who in more.items():
        fallen[place] = {**who, **fallen.get(place, {})}
