"""How many ONUs and OLTs have each model, firmware and hardware.

ONUs are counted by OLT, in the transaction that changes one of these: a million rows are never read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, QuerySet, Sum

from facho.apps.chassis.selectors import HARDWARE_VERSION, MODEL_NAME
from facho.apps.db import sql
from facho.apps.discovery.models import Presence, VersionCount
from facho.apps.hosts.models import Olt

# Changes of these columns of an ONU change the counts of its OLT.
VERSION_COLUMNS: Final = ("model", "sw_version", "hw_version")
COUNTED_COLUMNS: Final = (*VERSION_COLUMNS, "presence")

Version = tuple[str, str, str]

_COUNTED: Final = (
    "SELECT model, sw_version, hw_version, COUNT(*) FROM onu_data"
    " WHERE olt_id = %s AND presence = %s GROUP BY model, sw_version, hw_version"
)
_KNOWN: Final = "SELECT id, model, sw_version, hw_version, onus FROM onu_versions WHERE olt_id = %s"


def recount_versions(olt_id: int) -> None:
    """Count the ONUs of an OLT anew, in the transaction of its writer, and write the counts that differ."""
    counted = {
        tuple(version): count
        for *version, count in sql.fetch_prepared(_COUNTED, [olt_id, Presence.PRESENT.value])
    }
    stored = {tuple(version): (key, count) for key, *version, count in sql.fetch_prepared(_KNOWN, [olt_id])}
    if gone := [key for version, (key, _) in stored.items() if version not in counted]:
        sql.delete_plain_rows(VersionCount, gone)
    changed = [
        (stored[version][0], count)
        for version, count in counted.items()
        if version in stored and stored[version][1] != count
    ]
    sql.update_rows(VersionCount, ("onus",), changed)
    new = [(olt_id, *version, count) for version, count in counted.items() if version not in stored]
    sql.insert_rows(VersionCount, ("olt_id", *VERSION_COLUMNS, "onus"), new)


@dataclass(frozen=True, slots=True)
class VersionsOf:
    """The OLTs whose versions are counted: of a site, of a brand, one of them, or all."""

    site: str = ""
    olt_id: int | None = None
    brand_id: int | None = None

    @property
    def is_narrow(self) -> bool:
        return self != VersionsOf()

    def narrow(self, rows: QuerySet[Any], prefix: str = "") -> QuerySet[Any]:
        """Keep the rows of these OLTs; `prefix` is where a row has its OLT, as `olt__`."""
        given = {"site": self.site, "id": self.olt_id, "brand": self.brand_id}
        return rows.filter(**{f"{prefix}{field}": value for field, value in given.items() if value})


@dataclass(frozen=True, slots=True)
class OnuVersion:
    """ONUs that have these in common; an empty one is not known."""

    model: str
    sw_version: str
    hw_version: str
    onus: int


@dataclass(frozen=True, slots=True)
class OltVersion:
    """OLTs that have these in common; an empty one is not known."""

    brand_id: int
    # The name of its profile, and its title.
    brand: str
    brand_title: str
    # That of its settings; without one, the model that it says is counted.
    model_id: int | None
    model: str
    version: str
    hw_version: str
    olts: int


def version_counts(of: VersionsOf) -> QuerySet[VersionCount]:
    """Return the counts by OLT, in the order of their names."""
    rows = of.narrow(VersionCount.objects.all(), "olt__")
    return rows.order_by("olt__name", *VERSION_COLUMNS, "id")


def count_onu_versions(of: VersionsOf) -> list[OnuVersion]:
    """Return the present ONUs of these OLTs by version, the most frequent first."""
    rows = of.narrow(VersionCount.objects.all(), "olt__").order_by().values_list(*VERSION_COLUMNS)
    found = [OnuVersion(*row) for row in rows.annotate(total=Sum("onus"))]
    return sorted(found, key=lambda each: (-each.onus, each.model, each.sw_version, each.hw_version))


def count_by(versions: Iterable[OnuVersion], *columns: str) -> Sequence[tuple[tuple[str, ...], int]]:
    """Return how many ONUs have the same in these columns, the most frequent first."""
    counts = Counter[tuple[str, ...]]()
    for each in versions:
        counts[tuple(getattr(each, column) for column in columns)] += each.onus
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def count_olt_versions(of: VersionsOf) -> list[OltVersion]:
    """Return the OLTs by brand, model, software and hardware, the most frequent first."""
    columns = ("brand_id", "brand__name", "brand__title", "model_id", "model_name", "version", "hw_version")
    olts = of.narrow(Olt.objects.filter(removed_at=None))
    olts = olts.annotate(model_name=MODEL_NAME, hw_version=HARDWARE_VERSION)
    rows = olts.order_by().values_list(*columns)
    found = [
        _olt_version(dict(zip((*columns, "olts"), row, strict=True))) for row in rows.annotate(Count("id"))
    ]
    return sorted(found, key=lambda each: (-each.olts, each.brand, each.model, each.version, each.hw_version))


def _olt_version(row: Mapping[str, Any]) -> OltVersion:
    return OltVersion(
        brand_id=row["brand_id"],
        brand=row["brand__name"],
        brand_title=row["brand__title"] or row["brand__name"],
        model_id=row["model_id"],
        model=row["model_name"],
        version=row["version"],
        hw_version=row["hw_version"],
        olts=row["olts"],
    )
