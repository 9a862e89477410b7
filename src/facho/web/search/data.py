"""The search: the first matching OLTs, ports, ONUs and unprovisioned ONUs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q, QuerySet

from facho.apps.chassis.models import PonPort, Unprovisioned
from facho.apps.discovery.description_search import has_words
from facho.apps.discovery.models import Onu
from facho.apps.discovery.onu_search import (
    SHORTEST,
    has_trigrams,
    is_interface,
    mac_of,
    onus_at,
    onus_named,
    search_onus,
    serials_of,
)
from facho.apps.hosts.models import Olt

MOST_RESULTS: Final = 20
LONGEST_TEXT: Final = 100
_PLACE: Final = re.compile(r"\d{1,9}(/\d{1,9}){1,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SearchResults:
    text: str
    olts: Sequence[Olt] = ()
    ports: Sequence[PonPort] = ()
    onus: Sequence[Onu] = ()
    unprovisioned: Sequence[Unprovisioned] = ()
    # The ONU when exactly one has this serial or MAC, and no OLT matches.
    exact: Onu | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.olts or self.ports or self.onus or self.unprovisioned)

    @property
    def too_short(self) -> bool:
        return len(self.text) < SHORTEST

    @property
    def middle(self) -> bool:
        """Return whether the middle of words and MACs is searched too."""
        return has_trigrams()

    @property
    def words(self) -> bool:
        """Return whether words inside descriptions are searched."""
        return has_words()


def search_all(text: str) -> SearchResults:
    text = " ".join(text.split())[:LONGEST_TEXT]
    if not text:
        return SearchResults("")
    exact = onus_named(text)
    olts = _olts(text)
    if len(exact) == 1 and not olts:
        return SearchResults(text, onus=exact, exact=exact[0])
    return SearchResults(text, olts, _ports(text), _onus(text, exact), _unprovisioned(text))


def _olts(text: str) -> list[Olt]:
    called = Q(name__icontains=text) | Q(site__icontains=text) | Q(address__istartswith=text)
    olts = Olt.objects.filter(called).defer("credentials").select_related("brand", "model")
    return list(olts.order_by("name")[:MOST_RESULTS])


def _ports(text: str) -> list[PonPort]:
    """Find ports by `OLT 0/1/3`, `0/1/3` or the name that the OLT gives them."""
    name, _, place = text.rpartition(" ")
    if not _PLACE.fullmatch(place):
        return _first_ports(PonPort.objects.filter(name__iexact=text))
    ports = PonPort.objects.filter(Q(place=place) | Q(place__endswith=f"/{place}"))
    return _first_ports(ports.filter(olt__name__icontains=name) if name else ports)


def _first_ports(ports: QuerySet[PonPort]) -> list[PonPort]:
    with_olt = ports.select_related("olt").defer("olt__credentials")
    return list(with_olt.order_by("olt__name", "frame", "slot", "port", "id")[:MOST_RESULTS])


def _onus(text: str, exact: Sequence[Onu]) -> list[Onu]:
    """Find ONUs by exact name, by place on an OLT, and by a part of their names."""
    known = {onu.id: onu for onu in (*exact, *_onus_at(text))}
    ids = search_onus(text, MOST_RESULTS)
    others = Onu.objects.select_related("olt").defer("olt__credentials").in_bulk(ids)
    known.update((each, others[each]) for each in ids if each in others)
    return list(known.values())[:MOST_RESULTS]


def _onus_at(text: str) -> list[Onu]:
    """Find the ONU at a place such as `OLT 0/1/3:5`."""
    name, _, place = text.rpartition(" ")
    if not name or not is_interface(place):
        return []
    olts = Olt.objects.filter(name__icontains=name).order_by("name")[:MOST_RESULTS]
    return onus_at(place, list(olts.values_list("id", flat=True)))


def _unprovisioned(text: str) -> list[Unprovisioned]:
    called = Q(identity__icontains=text)
    for serial in serials_of(text):
        called |= Q(serial__icontains=serial)
    if mac := mac_of(text):
        called |= Q(mac__icontains=mac)
    rows = Unprovisioned.objects.filter(called).select_related("olt").defer("olt__credentials")
    return list(rows.order_by("-first_seen", "id")[:MOST_RESULTS])
