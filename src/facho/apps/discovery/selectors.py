"""Reading what is known about ONUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.models import F, Q, QuerySet

from facho.apps.discovery.models import Onu, Presence
from facho.apps.hosts.models import Olt
from facho.vendors import Key
from facho.vendors.index import intern_key

_CHUNK = 2000


class KnownRow(NamedTuple):
    """An ONU that can be asked about."""

    key: Key
    technology: str
    online: bool


@dataclass(frozen=True, slots=True)
class OnuRow:
    """An ONU for people and their scripts. What is not known is None."""

    olt: str
    slot: int | None
    port: int | None
    onu: int | None
    interface: str | None
    serial: str | None
    mac: str | None
    description: str | None
    model: str | None
    state: str | None
    down_cause: str | None
    rx_dbm: float | None
    tx_dbm: float | None
    olt_rx_dbm: float | None
    distance_m: int | None
    temperature_c: float | None
    presence: str
    last_seen: datetime


def known_onus(olt_id: int) -> list[KnownRow]:
    """Those that are present, at their places."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT frame, slot, port, onu_id, extra, technology, state FROM onu_data"
            " WHERE olt_id = %s AND presence = %s AND address IS NOT NULL ORDER BY id",
            [olt_id, Presence.PRESENT.value],
        )
        return [
            KnownRow(intern_key(Key(frame, slot, port, onu, extra or None)), technology, state == "online")
            for frame, slot, port, onu, extra, technology, state in cursor.fetchall()
        ]


def onus_like(
    olt: Olt | None = None, *, search: str = "", state: str = "", presence: str = ""
) -> QuerySet[Onu]:
    """By OLT and place. Every word of `search` must be in the serial, the MAC or the description."""
    asked = {"olt": olt, "state": state, "presence": presence}
    onus = Onu.objects.filter(**{field: value for field, value in asked.items() if value})
    for word in search.split():
        onus = onus.filter(
            Q(serial__icontains=word) | Q(mac__icontains=word) | Q(description__icontains=word)
        )
    # Databases do not agree on where what has no number belongs.
    numbers = (F(part).asc(nulls_first=True) for part in ("frame", "slot", "port", "onu_id"))
    return onus.order_by("olt__name", *numbers, "extra", "id")


def onu_rows(onus: QuerySet[Onu]) -> Iterator[OnuRow]:
    """One by one. The credentials of their OLTs are nobody's business, and dear to open."""
    with_names = onus.select_related("olt").defer("olt__credentials")
    return map(_row, with_names.iterator(_CHUNK))


def _row(onu: Onu) -> OnuRow:
    return OnuRow(
        olt=onu.olt.name,
        slot=onu.slot,
        port=onu.port,
        onu=onu.onu_id,
        interface=str(Key(onu.frame, onu.slot, onu.port, onu.onu_id)) or onu.extra or None,
        serial=onu.serial or None,
        mac=onu.mac or None,
        description=onu.description or None,
        model=onu.model or None,
        state=onu.state or None,
        down_cause=onu.down_cause or None,
        rx_dbm=onu.onu_rx_dbm,
        tx_dbm=onu.onu_tx_dbm,
        olt_rx_dbm=onu.olt_rx_dbm,
        distance_m=onu.distance_m,
        temperature_c=onu.temperature_c,
        presence=onu.presence,
        last_seen=onu.last_seen,
    )
