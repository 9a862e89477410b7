"""Lists as CSV, from the admin and for the command line."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.test import AsyncRequestFactory, Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facho.apps.chassis.chassis_facts import TABLES
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.executions.models import Execution
from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.engine.upkeep.exports import EXPORTS
from facho.web.admin.exporting import export_csv
from tests.api_clients import person
from tests.sample_rows import NOW, fill

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))


def exported(client: Client, what: str, query: str = "", **wanted: Any) -> list[dict[str, str]]:
    meta = EXPORTS[what].model._meta
    path = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist") + query
    answer = client.post(
        path, {"action": "export_csv", "_selected_action": [1], "select_across": 1, **wanted}
    )
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert f"{what}.csv" in answer["Content-Disposition"]
    return read(answer.getvalue().decode())


async def pieces_of(answer: Any) -> list[bytes]:
    return [piece async for piece in answer]


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


@pytest.mark.parametrize("what", sorted(EXPORTS.keys() - {"audit"}))
def test_who_sees_a_list_can_take_all_of_it(viewer: Client, what: str) -> None:
    fill(3)
    assert len(exported(viewer, what)) == 3


def test_what_people_did_is_taken_by_who_may_see_it(client: Client, viewer: Client) -> None:
    path = reverse("admin:access_auditentry_changelist")
    asked = {"action": "export_csv", "_selected_action": [1], "select_across": 1}
    assert viewer.post(path, asked).status_code == 403
    fill(3)
    client.force_login(person(Role.ADMINISTRATOR))
    assert len(exported(client, "audit")) >= 3


def test_no_secret_is_taken_away(viewer: Client) -> None:
    fill(1)
    (row,) = exported(viewer, "olts")
    assert row["name"] == "olt-000"
    assert not [name for name in row if "credential" in name or "community" in name]


def test_every_list_can_be_narrowed_by_the_olt_it_has() -> None:
    fill(3)
    olt = Olt.objects.get(name="olt-001")
    counts = {name: export.rows(olt, None, None).count() for name, export in EXPORTS.items() if export.of}
    assert counts == dict.fromkeys(EXPORTS.keys() - {"audit"}, 1)


def test_what_was_filtered_is_what_is_taken(viewer: Client) -> None:
    fill(3)
    Onu.objects.filter(olt__name="olt-001").update(state="los", description="=1+1")
    (row,) = exported(viewer, "onus", "?state=los")
    assert (row["olt"], row["description"], row["state"]) == ("olt-001", "'=1+1", "los")


def test_only_the_rows_that_were_ticked(viewer: Client) -> None:
    fill(3)
    wanted = Execution.objects.order_by("id")[1].pk
    (row,) = exported(viewer, "executions", select_across=0, _selected_action=[wanted])
    assert (row["id"], row["olt"], row["job"]) == (str(wanted), "olt-001", "job-001")


def test_it_takes_two_queries_at_most_for_a_page_of_rows() -> None:
    """One more where the order is that of another table: first which rows, then the rows.

    Where rows are judged, two more for all pages together: which OLTs are silent, or under maintenance.
    """
    fill(20)
    for export in EXPORTS.values():
        with CaptureQueriesContext(connection) as queries:
            assert len(read("".join(export.csv(export.rows(None, None, None))))) == 20
        assert len(queries) <= (4 if export.judged.names else 2)


def test_an_olt_and_a_time_narrow_it() -> None:
    fill(3)
    OnuEvent.objects.filter(olt__name="olt-002").update(at=NOW - timedelta(days=2))
    events, yesterday = EXPORTS["events"], NOW - timedelta(days=1)
    assert len(read("".join(events.csv(events.rows(None, yesterday, None))))) == 2
    assert len(read("".join(events.csv(events.rows(None, None, yesterday))))) == 1
    olt = Olt.objects.get(name="olt-001")
    assert [row["olt"] for row in read("".join(events.csv(events.rows(olt, None, None))))] == ["olt-001"]


def test_a_server_that_waits_for_nothing_gets_it_piece_by_piece() -> None:
    fill(2)
    request: Any = AsyncRequestFactory().get("/")
    assert isinstance(request, ASGIRequest)
    answer = export_csv(None, request, Onu.objects.order_by("id"))
    assert answer.is_async
    assert len(read(b"".join(async_to_sync(pieces_of)(answer)).decode())) == 2


def test_every_fact_of_ports_uplinks_parts_and_waiting_onus_has_a_column() -> None:
    told = {export.model: {*export.columns.values(), *export.judged.names} for export in EXPORTS.values()}
    for model, columns in TABLES.values():
        assert set(columns.values()) <= told[model], model
