"""The ONUs that need somebody most: those with the least light, and those that come and go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Coalesce

from facho.apps.discovery.models import EventKind, Onu, OnuEvent, Presence

MOST: Final = 50


@dataclass(frozen=True, slots=True)
class Where:
    """All of a site, an OLT, or a port of an OLT; everywhere when empty."""

    site: str = ""
    olt_id: int | None = None
    # As 0/1/7.
    port: str = ""


@dataclass(frozen=True, slots=True)
class Flapping:
    onu: Onu
    # How often it went offline.
    times: int
    last: datetime


def weakest(where: Where, most: int = MOST) -> list[Onu]:
    """By power at the ONU, else at the OLT. Everywhere, or at a site, only those that were told to be weak or
    falling: an index has them, and power itself has none, for it would be written with every collection.
    """
    onus = Onu.objects.filter(presence=Presence.PRESENT, **_of_olts(where))
    if where.olt_id is None:
        onus = onus.exclude(optical_state="")
    elif where.port:
        onus = onus.filter(_on_port(where.port))
    powered = onus.annotate(power=Coalesce("onu_rx_dbm", "olt_rx_dbm")).filter(power__isnull=False)
    # Tens of thousands may be put in order: only their numbers, and all else of the first ones.
    ids = list(powered.order_by("power", "id").values_list("id", flat=True)[:most])
    found = _with_olt(Onu.objects.all()).in_bulk(ids)
    return [found[each] for each in ids if each in found]


def flapping(where: Where, since: datetime, most: int = MOST) -> list[Flapping]:
    """Who went offline most often, more than once."""
    events = OnuEvent.objects.filter(kind=EventKind.OFFLINE, at__gte=since, **_of_olts(where))
    if where.olt_id is not None and where.port:
        events = events.filter(place__startswith=f"{where.port}:")
    counted = events.order_by().values("onu").annotate(times=Count("id"), last=Max("at"))
    worst = list(counted.filter(times__gt=1, onu__isnull=False).order_by("-times", "-last", "onu")[:most])
    onus = _with_olt(Onu.objects.all()).in_bulk([row["onu"] for row in worst])
    return [Flapping(onus[row["onu"]], row["times"], row["last"]) for row in worst if row["onu"] in onus]


def _of_olts(where: Where) -> dict[str, object]:
    if where.olt_id is not None:
        return {"olt": where.olt_id}
    return {"olt__site": where.site} if where.site else {}


def _on_port(port: str) -> Q:
    """Of two numbers the first is the slot."""
    parts = ("port", "slot", "frame")
    return Q(**{part: int(number) for part, number in zip(parts, reversed(port.split("/")), strict=False)})


def _with_olt(onus: QuerySet[Onu]) -> QuerySet[Onu]:
    return onus.select_related("olt").only(
        *(field.name for field in Onu._meta.fields if field.name != "olt"), "olt__name", "olt__site"
    )
