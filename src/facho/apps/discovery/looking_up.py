"""One ONU by what people call it: its serial, its MAC, or its interface on an OLT."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from django.db.models import Q

from facho.apps.discovery.models import Collected, Onu, Presence
from facho.apps.discovery.selectors import interface_of, onus_like
from facho.apps.hosts.models import Olt
from facho.vendors import Entity, raw_values
from facho.vendors.errors import BadValue
from facho.vendors.facts import FACTS

_NUMBER: Final = re.compile(r"\d{1,9}", re.ASCII)
_INTERFACE: Final = re.compile(r"(?:(\d{1,9})/)?(?:(\d{1,9})/)?(\d{1,9}):(\d{1,9})")


def onus_called(name: str, olt: Olt | None = None) -> list[Onu]:
    """By serial or MAC in any form; on an OLT also by interface. Absent ones only if none is present."""
    onus = onus_like(olt).select_related("olt").defer("olt__credentials")
    found = list(onus.filter(_identities(name))) if _identities(name) else []
    if not found and olt is not None:
        found = [onu for onu in onus.filter(_places(name)) if _is_at(onu, name)]
    return [onu for onu in found if onu.presence == Presence.PRESENT] or found


def onus_at(interface: str, olt_ids: Collection[int]) -> list[Onu]:
    """Those that are there now, at most one for each of these OLTs."""
    onus = onus_like().filter(_places(interface), olt__in=olt_ids, address__isnull=False)
    return [onu for onu in onus.select_related("olt").defer("olt__credentials") if _is_at(onu, interface)]


def onus_nearly_called(name: str, olt: Olt | None, most: int) -> list[Onu]:
    """For who remembers a part of it."""
    if not name.split():
        return []
    return list(onus_like(olt, search=name).select_related("olt").defer("olt__credentials")[:most])


def is_interface(name: str) -> bool:
    return _INTERFACE.fullmatch(name.strip()) is not None


def onus_collected_at(olt_id: int) -> dict[str, datetime]:
    """When each fact of an OLT's ONUs was last collected in full, the latest first."""
    rows = Collected.objects.filter(olt=olt_id, datum__in=FACTS[Entity.ONU])
    return dict(rows.order_by("-collected_at", "datum").values_list("datum", "collected_at"))


def _identities(name: str) -> Q:
    wanted = Q()
    for serial in _serials(name.strip()):
        wanted |= Q(serial=serial)
    with contextlib.suppress(BadValue):
        if mac := raw_values.mac(name.strip().encode()):
            wanted |= Q(mac=mac)
    return wanted


def _serials(name: str) -> Iterator[str]:
    """As it is written, and as facho writes it."""
    if name:
        yield from dict.fromkeys((name, name.upper()))
    with contextlib.suppress(BadValue):
        if (serial := raw_values.serial(name.replace("-", "").upper().encode())) is not None:
            yield serial


def _places(name: str) -> Q:
    who = name.strip().rpartition(":")[2]
    written = Q(extra__in=(name, who)) | Q(raw_index=name)
    place = _INTERFACE.fullmatch(name.strip())
    if place is None:
        return written | Q(port=None, onu_id=int(who)) if _NUMBER.fullmatch(who) else written
    # Of two numbers the first is the slot.
    *before, port, onu = (int(number) for number in place.groups() if number is not None)
    wanted = Q(port=port, onu_id=onu)
    for part, number in zip(("slot", "frame"), reversed(before), strict=False):
        wanted &= Q(**{part: number})
    return wanted | written


def _is_at(onu: Onu, name: str) -> bool:
    """Where a box has no frames or slots, its interfaces do not name them."""
    return name.strip() in (interface_of(onu), onu.extra, onu.raw_index)
