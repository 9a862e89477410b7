"""Pages and lists of ONUs look rows up by indexes: they stay fast with a million ONUs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client

from facho.apps.chassis.models import PonPort
from facho.apps.discovery.models import EventKind, Onu, OnuEvent
from facho.apps.hosts.models import Olt
from tests.factories import at
from tests.findings import an_olt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live_poller")]
LONG = (Onu._meta.db_table, OnuEvent._meta.db_table)
# Of few rows each: reading all of one is a lookup.
PARTIAL = ("onu_data_weak", "onu_data_absent")
PAGES = (
    "/onus/{onu}/?hours=6",
    "/onus/worst/",
    "/onus/worst/?site=north",
    "/onus/worst/?olt={olt}",
    "/onus/worst/?olt={olt}&port=0/1/3",
    "/onus/worst/?by=flaps&days=7",
    "/onus/worst/?by=flaps&olt={olt}",
    "/olts/{olt}/ports/{port}/",
    "/olts/{olt}/ports/{port}/?sort=-power",
    "/admin/discovery/onu/?weak=yes",
    "/admin/discovery/onu/?olt__id__exact={olt}&weak=yes",
    "/admin/discovery/onu/?olt__id__exact={olt}&state=offline&cause=los",
)


def make_site() -> dict[str, int]:
    olt = an_olt()
    Olt.objects.filter(id=olt.id).update(site="north")
    place = {"frame": 0, "slot": 1, "port": 3}
    port = PonPort.objects.create(olt=olt, place="0/1/3", updated_at=at("08:00"), **place)
    onus = [
        Onu.objects.create(
            olt=olt, address=f"0/1/3/{number}", onu_id=number, state=state, optical_state="weak",
            first_seen=at("08:00"), last_seen=at("08:00"), **place,
        )
        for number, state in enumerate(("online", "los"))
    ]  # fmt: skip
    make_tables_long(olt)
    return {"olt": olt.id, "port": port.id, "onu": onus[0].id}


def make_tables_long(olt: Olt) -> None:
    """Store what makes PostgreSQL choose indexes as it does for many rows. SQLite always chooses so."""
    if connection.vendor == "sqlite":
        return
    others = Onu.objects.bulk_create(
        Onu(olt=olt, address=str(number), first_seen=at("08:00"), last_seen=at("08:00"))
        for number in range(1000)
    )
    OnuEvent.objects.bulk_create(
        OnuEvent(olt=olt, onu=onu, kind=kind, at=at("08:00") + timedelta(seconds=number))
        for number, onu in enumerate(others)
        for kind in (EventKind.MOVED, EventKind.OFFLINE)
    )
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(LONG)}")


def statements_of(client: Client, url: str) -> list[tuple[str, Any]]:
    """Return the statements that a page makes about long tables."""
    made: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        made.append((sql, params))
        return execute(sql, params, many, context)

    cache.clear()
    with connection.execute_wrapper(note):
        assert client.get(url).status_code == 200
    return [(sql, params) for sql, params in made if any(f'FROM "{table}"' in sql for table in LONG)]


def full_reads(sql: str, params: Any) -> list[str]:
    """Return the steps of a statement that read the whole of a long table."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            return [row[3] for row in cursor.fetchall() if _is_scan(row[3])]
        # A short table is read as a whole, whatever indexes it has.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        (found,) = cursor.fetchone()
    plan = json.loads(found) if isinstance(found, str) else found
    return [str(node) for node in _nodes(plan[0]["Plan"]) if _reads_all(node)]


def _is_scan(step: str) -> bool:
    words = step.split()
    return words[0] == "SCAN" and words[1] in LONG and words[-1] not in PARTIAL


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _reads_all(node: dict[str, Any]) -> bool:
    kind, index = node["Node Type"], node.get("Index Name", "")
    if kind == "Seq Scan":
        return node["Relation Name"] in LONG
    is_long = index.startswith(LONG) or node.get("Relation Name") in LONG
    return "Index" in kind and is_long and "Index Cond" not in node and index not in PARTIAL


@pytest.mark.parametrize("page", PAGES)
def test_no_page_of_onus_reads_a_long_table_as_a_whole(admin_client: Client, page: str) -> None:
    statements = statements_of(admin_client, page.format(**make_site()))
    assert statements
    for sql, params in statements:
        assert not full_reads(sql, params), sql


def test_a_full_read_is_noticed() -> None:
    make_site()
    assert full_reads("SELECT * FROM onu_data WHERE distance_m = 7", ())
