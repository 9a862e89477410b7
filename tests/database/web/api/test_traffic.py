"""Traffic in the API: totals, who moves the most, and how much of their line PONs use."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from facho.apps.chassis.models import PonPort, Uplink
from facho.apps.db.database import database_now
from facho.apps.hosts.models import Olt
from facho.core.rates import Drops
from facho.core.roles import Role
from tests.api_clients import asking
from tests.factories import add_olts, know_brands
from tests.traffic_rows import MBIT, add_traffic, traffic_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
URL = "/api/v1/traffic/"


@pytest.fixture
def olts() -> list[Olt]:
    know_brands()
    return add_olts("norte", "sur")


@pytest.fixture
def port(olts: list[Olt]) -> PonPort:
    now = database_now()
    port = PonPort.objects.create(olt=olts[0], place="0/1/3", frame=0, slot=1, port=3, updated_at=now)
    uplink = Uplink.objects.create(olt=olts[0], place="0/9/0", name="eth0/9/0", updated_at=now)
    add_traffic(
        traffic_of(olts[0].pk, "port", now, {port.pk: (MBIT, 1_244_160_000)}, drops=Drops(over=7)),
        traffic_of(olts[0].pk, "link", now, {uplink.pk: (900 * MBIT, 3 * MBIT)}),
        traffic_of(olts[1].pk, "port", now - timedelta(hours=2), {port.pk + 1: (1, 2)}),
    )
    return port


@pytest.fixture
def program() -> APIClient:
    return asking(Role.VIEWER)


def test_the_totals_of_each_olt_say_whether_they_are_of_now(program: APIClient, port: PonPort) -> None:
    rows = program.get(f"{URL}?ordering=olt").json()["results"]
    shown = ("olt_name", "subject", "to_customers_bps", "from_customers_bps", "over", "is_current")
    assert sorted(tuple(row[name] for name in shown) for row in rows) == [
        ("norte", "link", 900 * MBIT, 3 * MBIT, 0, True),
        ("norte", "port", 1_244_160_000, MBIT, 7, True),
        ("sur", "port", 2, 1, 0, False),
    ]
    assert len(program.get(f"{URL}?subject=link").json()["results"]) == 1


def test_who_moves_the_most_is_named(program: APIClient, port: PonPort) -> None:
    found = program.get(f"{URL}top/?subject=port").json()
    assert [(row["olt_name"], row["id"], row["place"]) for row in found["now"]] == [
        ("norte", port.pk, "0/1/3")
    ]
    (link,) = program.get(f"{URL}top/?subject=link&olt={port.olt_id}").json()["peak"]
    assert (link["place"], link["to_customers_bps"]) == ("eth0/9/0", 900 * MBIT)
    assert program.get(f"{URL}top/?subject=port&site=nowhere").json() == {"now": [], "peak": []}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("subject=fan", "subject"),
        ("most=0", "most"),
        ("olt=x", "olt"),
        (f"olt={2**63}", "olt"),
        ("colour=red", "colour"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_its_field(program: APIClient, query: str, field: str) -> None:
    answer = program.get(f"{URL}top/?{query}")
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_the_use_of_the_line_is_by_port(program: APIClient, port: PonPort) -> None:
    (use,) = program.get(f"/api/v1/olts/{port.olt_id}/pons/").json()
    assert (use["port"], use["place"], use["technology"], use["use_to_customers"]) == (
        port.pk, "0/1/3", "gpon", 0.5
    )  # fmt: skip
    assert program.get("/api/v1/olts/999999/pons/").status_code == 404


def test_what_is_not_known_is_null_and_not_nothing(program: APIClient, port: PonPort) -> None:
    add_traffic(traffic_of(port.olt_id, "port", database_now(), {port.pk: (None, 5 * MBIT)}, counter_bits=32))
    (row,) = program.get(f"{URL}?subject=port&olt={port.olt_id}").json()["results"]
    shown = ("to_customers_bps", "from_customers_bps", "counter_bits", "certain_to_bps")
    assert [row[name] for name in shown] == [5 * MBIT, None, 32, 114_000_000]
    (top,) = program.get(f"{URL}top/?subject=port&olt={port.olt_id}").json()["now"]
    assert (top["to_customers_bps"], top["from_customers_bps"]) == (5 * MBIT, None)
    (use,) = program.get(f"/api/v1/olts/{port.olt_id}/pons/").json()
    assert (use["from_customers_bps"], use["use_from_customers"]) == (None, None)
