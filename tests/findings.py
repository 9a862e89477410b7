"""What a collection finds, made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu
from facho.apps.discovery.store import StoredOnus, store_findings
from facho.apps.hosts.models import Brand, Olt
from facho.vendors import Entity, Facts, Key
from facho.vendors.index import join_arcs

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def an_olt(name: str = "olt") -> Olt:
    brand, _ = Brand.objects.get_or_create(name="huawei", defaults={"title": "Huawei"})
    return Olt.objects.create(name=name, brand=brand, address="192.0.2.1")


def facts(rows: Iterable[tuple[int | Key, Mapping[str, Any]]]) -> Facts:
    """Each row is the number of an ONU on port 0/1/7, or a place, and its facts."""
    found = Facts(Entity.ONU)
    rows = list(rows)
    names = dict.fromkeys(name for _, row in rows for name in row)
    for onu, _ in rows:
        key = Key(0, 1, 7, onu) if isinstance(onu, int) else onu
        found.keys.append(key)
        found.indexes.append(join_arcs((4194304000, key.onu or 0)))
        found.technologies.append("gpon")
    found.columns = {name: [row.get(name) for _, row in rows] for name in names}
    return found


def discovered(serials: dict[int, str | None]) -> Finding:
    """A complete discovery of these serials, by the number of the ONU."""
    return Finding(facts((onu, {"serial": serial}) for onu, serial in serials.items()), True)


def store(olt: Olt, *findings: Finding, hours: int = 0, absent_after: int = 3) -> StoredOnus:
    with transaction.atomic():
        return store_findings(olt.pk, findings, NOW + timedelta(hours=hours), absent_after=absent_after)


def places(olt: Olt) -> dict[str, str | None]:
    return dict(Onu.objects.filter(olt=olt).values_list("serial", "address"))
