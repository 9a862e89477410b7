"""The data of the page of versions: how many ONUs and OLTs have each, with a link to the list of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from facho.apps.discovery.models import Presence
from facho.apps.discovery.versions import (
    OltVersion,
    OnuVersion,
    VersionsOf,
    count_by,
    count_olt_versions,
    count_onu_versions,
)
from facho.apps.hosts.models import Brand, Olt

# More are in the export: nobody reads a longer table.
_MOST_ROWS: Final = 200
# A table for each of these combinations of columns.
_TABLES: Final = (("model",), ("model", "sw_version"), ("model", "hw_version"))
_LONGEST: Final = 80


class VersionRow(NamedTuple):
    """A model, or a model and one version of it; empty is not known."""

    names: Sequence[str]
    onus: int
    # Of all that are counted.
    share: float
    # The list of these ONUs; empty where it could not be narrowed to them.
    url: str


@dataclass(frozen=True, slots=True)
class VersionTable:
    rows: Sequence[VersionRow]
    # Of how many the rows are the first.
    total: int


class OltRow(NamedTuple):
    version: OltVersion
    # The list of these OLTs; empty where it could not be narrowed to them.
    url: str


@dataclass(frozen=True, slots=True)
class VersionsPage:
    of: VersionsOf
    onus: int
    olts: int
    models: VersionTable
    software: VersionTable
    hardware: VersionTable
    olt_rows: Sequence[OltRow]
    # The choices of the filter.
    sites: Sequence[str]
    brands: Sequence[Brand]
    all_olts: Sequence[tuple[int, str, str]]


def parse_versions_query(given: Mapping[str, str]) -> VersionsOf:
    """Read the parameters of the address; invalid ones are ignored."""
    site = given.get("site", "")[:_LONGEST].replace("\0", "")
    return VersionsOf(site, _parse_id(given, "olt"), _parse_id(given, "brand"))


def _parse_id(given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < len(str(2**63)) else None


def read_versions_page(of: VersionsOf) -> VersionsPage:
    """Read the page in a fixed number of queries, of rows that are few: one for each version of an OLT."""
    found, olts = count_onu_versions(of), count_olt_versions(of)
    all_olts = list(Olt.objects.order_by("site", "name").values_list("id", "name", "site"))
    models, software, hardware = (_table(found, columns, of) for columns in _TABLES)
    return VersionsPage(
        of=of,
        onus=sum(each.onus for each in found),
        olts=sum(each.olts for each in olts),
        models=models,
        software=software,
        hardware=hardware,
        olt_rows=[OltRow(each, _olts_url(each, olts, of)) for each in olts],
        sites=sorted({site for _id, _name, site in all_olts if site}),
        brands=list(Brand.objects.filter(olts__isnull=False).distinct().order_by("title", "name")),
        all_olts=all_olts,
    )


def _table(found: Iterable[OnuVersion], columns: Sequence[str], of: VersionsOf) -> VersionTable:
    counts = count_by(found, *columns)
    total = sum(onus for _, onus in counts)
    rows = [
        VersionRow(names, onus, 100 * onus / total, _onus_url(columns, names, of))
        for names, onus in counts[:_MOST_ROWS]
    ]
    return VersionTable(rows, len(counts))


def _onus_url(columns: Sequence[str], names: Sequence[str], of: VersionsOf) -> str:
    if not all(names):
        return ""
    where = {
        "olt__site__exact": of.site,
        "olt__id__exact": of.olt_id,
        "olt__brand__id__exact": of.brand_id,
        "presence__exact": Presence.PRESENT.value,
    }
    given = {**dict(zip(columns, names, strict=True)), **where}
    wanted = urlencode({name: value for name, value in given.items() if value})
    return f"{reverse('admin:discovery_onu_changelist')}?{wanted}"


def _olts_url(each: OltVersion, olts: Iterable[OltVersion], of: VersionsOf) -> str:
    if of.olt_id is not None:
        return reverse("olt", args=[of.olt_id])
    # The list cannot be asked for what is not known.
    same = (other for other in olts if other.brand_id == each.brand_id and other is not each)
    versions = ("model", "version", "hw_version")
    wanted = {name: value for name in versions if (value := getattr(each, name))}
    if any(all(getattr(other, name) == value for name, value in wanted.items()) for other in same):
        return ""
    given = {"brand": each.brand, **wanted, "site": of.site}
    return f"{reverse('olts')}?{urlencode({name: value for name, value in given.items() if value})}"
