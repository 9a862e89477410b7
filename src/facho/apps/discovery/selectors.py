"""Reading what is known about ONUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from facho.apps.discovery import statements
from facho.apps.discovery.columns import index_octets, interface
from facho.apps.discovery.models import Onu, OnuEvent, Presence
from facho.apps.discovery.searching import called
from facho.apps.hosts.models import Olt
from facho.vendors import Key
from facho.vendors.index import intern_key

_CHUNK = 2000


class KnownRow(NamedTuple):
    """An ONU that can be asked about."""

    key: Key
    technology: str
    online: bool
    # Discoveries do not have it; another table named it.
    undiscovered: bool = False
    # The index at which the OLT showed it, as it travelled; empty where that is not known.
    raw_index: bytes = b""


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


def known_onus(olt_id: int, *, only: int | None = None) -> list[KnownRow]:
    """Those that are present, at their places; or one of them, if it is."""
    chosen = _KNOWN.format("" if only is None else " AND id = %s")
    with connection.cursor() as cursor:
        cursor.execute(chosen, [olt_id, Presence.PRESENT.value, *([] if only is None else [only])])
        found = cursor.fetchall()
    rows = [
        KnownRow(
            intern_key(Key(frame, slot, port, onu)),
            technology,
            state == "online",
            raw_index=index_octets(raw_index),
        )
        for frame, slot, port, onu, technology, state, raw_index, _ in found
    ]
    special = {row[-1]: number for number, row in enumerate(found) if row[-1] is not None}
    for onu_id, (named_by, *rest) in statements.read_some(list(special), _SPECIAL).items():
        row = rows[special[onu_id]]
        key = intern_key(_by_index(row.key, *rest))
        rows[special[onu_id]] = row._replace(key=key, undiscovered=named_by != "")
    return rows


# Most are numbers of their index, and nothing else: those are not looked at twice.
_KNOWN: Final = (
    "SELECT frame, slot, port, onu_id, technology, state, raw_index,"
    " CASE WHEN extra = '' AND told_parts = '' AND named_by = '' THEN NULL ELSE id END"
    " FROM onu_data WHERE olt_id = %s AND presence = %s AND address IS NOT NULL{} ORDER BY onu_data.id"
)
_SPECIAL: Final = ("named_by", "extra", "raw_index", "told_parts")


def _by_index(key: Key, extra: str, raw_index: str, told_parts: str) -> Key:
    """The place as its index tells it, which is the one that can be asked for."""
    told = {"onu" if part == "onu_id" else part: None for part in told_parts.split()}
    # A text in an index is its length and its characters: it never ends with the number that it says.
    rest = int(extra) if extra and raw_index.split(".")[-1] == extra else extra or None
    return key._replace(extra=rest, **told)


class Census(NamedTuple):
    """How many ONUs of one technology an OLT ever had, and what is known of those that are present."""

    known: int
    present: int
    online: int
    # Those whose state is known at all.
    told: int


def census(olt_id: int) -> dict[str, Census]:
    """By technology."""
    present = Q(presence=Presence.PRESENT)
    rows = Onu.objects.filter(olt=olt_id).order_by().values_list("technology")
    counted = rows.annotate(
        known=Count("id"),
        present=Count("id", filter=present),
        online=Count("id", filter=present & Q(state="online")),
        told=Count("id", filter=present & ~Q(state__in=("", "unknown"))),
    )
    return {technology: Census(*counts) for technology, *counts in counted}


def onus_present(olt_ids: Sequence[int] | None = None) -> dict[int, int]:
    """How many each of these OLTs has, or each of all; none for one that has none."""
    rows = Onu.objects.filter(presence=Presence.PRESENT).order_by()
    if olt_ids is not None:
        rows = rows.filter(olt__in=olt_ids)
    return dict(rows.values_list("olt").annotate(count=Count("id")))


def onus_like(
    olt: Olt | None = None,
    *,
    search: str = "",
    state: str = "",
    presence: str = "",
    duplicates: bool = False,
) -> QuerySet[Onu]:
    """By OLT and place. Every word of `search` must be in the serial, the MAC or the description."""
    asked = {"olt": olt, "state": state, "presence": presence}
    onus = Onu.objects.filter(**{field: value for field, value in asked.items() if value})
    if duplicates:
        onus = with_duplicate_serial(onus)
    for word in search.split():
        onus = onus.filter(called(word))
    # Databases do not agree on where what has no number belongs.
    numbers = (F(part).asc(nulls_first=True) for part in ("frame", "slot", "port", "onu_id"))
    return onus.order_by("olt__name", *numbers, "extra", "id")


def with_duplicate_serial(onus: QuerySet[Onu]) -> QuerySet[Onu]:
    """Those whose serial the last complete discovery of their OLT found at another place too."""
    found = {"presence": Presence.PRESENT, "missed": 0}
    same = Onu.objects.filter(olt=OuterRef("olt"), serial=OuterRef("serial"), **found)
    # Of zeros there are many, and they are nobody's: those are not stored.
    return onus.filter(Exists(same.exclude(id=OuterRef("id"))), **found).exclude(serial="")


def events_of(onu: Onu) -> QuerySet[OnuEvent]:
    """What happened to it, the last first."""
    return OnuEvent.objects.filter(onu=onu)


def events_like(
    olt: Olt | None = None, *, kind: str = "", since: datetime | None = None
) -> QuerySet[OnuEvent]:
    """What happened to ONUs, the last first."""
    asked = {"olt": olt, "kind": kind, "at__gte": since}
    events = OnuEvent.objects.filter(**{field: value for field, value in asked.items() if value})
    return events.select_related("olt").defer("olt__credentials")


def onu_rows(onus: QuerySet[Onu]) -> Iterator[OnuRow]:
    """One by one. The credentials of their OLTs are nobody's business, and dear to open."""
    with_names = onus.select_related("olt").defer("olt__credentials")
    return map(_row, with_names.iterator(_CHUNK))


def interface_of(onu: Onu) -> str:
    return interface(onu.frame, onu.slot, onu.port, onu.onu_id, onu.extra, onu.raw_index)


def _row(onu: Onu) -> OnuRow:
    return OnuRow(
        olt=onu.olt.name,
        slot=onu.slot,
        port=onu.port,
        onu=onu.onu_id,
        interface=interface_of(onu) or None,
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
