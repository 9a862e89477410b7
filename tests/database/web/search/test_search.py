"""The search over everything: what is found by which of its names, and at what cost."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.chassis.models import PonPort, Unprovisioned
from facho.apps.discovery.models import Onu
from facho.apps.discovery.onu_search import INDEX, has_trigrams, prefix_queries, search_onus
from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.web.search.data import search_all
from tests.api_clients import person
from tests.factories import at
from tests.findings import an_olt
from tests.sample_rows import fill

pytestmark = pytest.mark.django_db


def make(olt: Olt, number: int, **columns: Any) -> Onu:
    return Onu.objects.create(
        olt=olt, address=f"0/1/3/{number}", frame=0, slot=1, port=3, onu_id=number,
        first_seen=at("08:00"), last_seen=at("09:00"), **columns,
    )  # fmt: skip


def serials(text: str) -> list[str]:
    return [onu.serial for onu in search_all(text).onus]


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "text",
    [
        "HWTC1234ABCD", "hwtc1234abcd", "HWTC-1234ABCD", "485754431234abcd", "a0:b1:c2:d3:e4:f5",
        "A0-B1-C2-D3-E4-F5", "a0b1.c2d3.e4f5", "a0b1c2d3e4f5",
    ],
)  # fmt: skip
def test_one_onu_that_is_meant_exactly_is_the_answer(text: str) -> None:
    olt = an_olt()
    onu = make(olt, 5, serial="HWTC1234ABCD", mac="a0:b1:c2:d3:e4:f5")
    make(olt, 6, serial="HWTC1234ABCE")
    assert search_all(text).exact == onu


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "text",
    ["hwtc1234", "48575443 1234", "4857544312", "34ABC", "a0-b1-c2", "Pérez calle", "pérez", "olt 0/1/3:5"],
)
def test_a_part_of_what_an_onu_is_called_is_enough(text: str) -> None:
    olt = an_olt()
    make(olt, 5, serial="HWTC1234ABCD", mac="a0:b1:c2:d3:e4:f5", description="pérez calle 12")
    make(olt, 6, serial="ZTEG99999999", mac="00:00:00:00:00:01", description="rojas")
    found = search_all(text)
    assert (found.exact, serials(text)) == (None, ["HWTC1234ABCD"])


@pytest.mark.both_databases
def test_postgresql_finds_the_end_of_a_mac_and_of_a_word() -> None:
    make(an_olt(), 5, serial="HWTC1234ABCD", mac="a0:b1:c2:d3:e4:f5", description="Ana Soto, contrato 77_1")
    expected = ["HWTC1234ABCD"] if connection.vendor == "postgresql" else []
    for text in ("trato oto", "d3e4f5", "d3:e4:f5", "7_1"):
        assert serials(text) == expected, text
    assert serials("7%1") == serials("contrato rojas") == []


@pytest.mark.both_databases
def test_without_trigrams_beginnings_are_still_found() -> None:
    make(an_olt(), 5, serial="HWTC1234ABCD", description="Ana Soto")
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {INDEX}")
    assert not has_trigrams()
    assert serials("ana s") == serials("hwtc12") == ["HWTC1234ABCD"]
    assert serials("soto") == ["HWTC1234ABCD"]
    assert serials("oto") == []


def test_a_beginning_that_all_share_is_read_only_as_far_as_is_wanted() -> None:
    """SQLite would sort all that it finds, wherever it does not read them in the order of an index."""
    for ask in prefix_queries("485"):
        plan = Onu.objects.filter(ask.condition).order_by(ask.order).values_list("id")[:20].explain()
        assert "TEMP B-TREE" not in plan, plan


def test_those_that_begin_so_come_before_those_that_have_it_inside() -> None:
    olt = an_olt()
    inside = make(olt, 1, serial="HWTC00004857")
    first = make(olt, 2, serial="4857AAAA0000")
    assert search_onus("4857") == [first.id, inside.id]
    assert search_onus("4857", 1) == [first.id]
    assert search_onus("4857", rows=Onu.objects.filter(onu_id=1)) == [inside.id]
    assert search_onus("48") == search_onus("   ") == []


def test_olts_and_ports_and_those_who_wait_are_found_too() -> None:
    olt, other = an_olt("norte-01"), an_olt("sur-02")
    Olt.objects.filter(id=olt.id).update(address="10.9.8.7", site="Antofagasta")
    ports = [
        PonPort.objects.create(olt=each, place="0/1/3", frame=0, slot=1, port=3, updated_at=at("08:00"))
        for each in (olt, other)
    ]
    Unprovisioned.objects.create(
        olt=olt, identity="x", serial="HWTC0000BEEF", first_seen=at("08:00"), last_seen=at("08:00")
    )
    for text in ("NORTE", "10.9.8", "antofa"):
        assert list(search_all(text).olts) == [olt], text
    assert list(search_all("0/1/3").ports) == list(search_all("1/3").ports) == ports
    assert list(search_all("norte 0/1/3").ports) == [ports[0]]
    assert [each.serial for each in search_all("beef").unprovisioned] == ["HWTC0000BEEF"]
    assert search_all("nobody").is_empty
    assert search_all("  ").is_empty


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


def test_a_serial_leads_straight_to_its_onu(viewer: Client) -> None:
    onu = make(an_olt(), 5, serial="HWTC1234ABCD")
    make(onu.olt, 6, serial="HWTC1234ABCE")
    assert viewer.get("/search/", {"q": "hwtc1234abcd"}).headers["Location"] == f"/onus/{onu.id}/"
    page = viewer.get("/search/", {"q": "hwtc1234"}).content.decode()
    assert f'href="/onus/{onu.id}/"' in page
    assert "HWTC1234ABCE" in page


def test_what_was_searched_is_shown_as_text(viewer: Client) -> None:
    page = viewer.get("/search/", {"q": "<script>alert(1)</script>"}).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_the_search_costs_the_same_for_much_as_for_little(viewer: Client) -> None:
    costs = []
    for beginning_at, more in ((0, 2), (2, 6)):
        fill(more, beginning_at=beginning_at)
        Onu.objects.update(serial="HWTC1")
        with CaptureQueriesContext(connection) as queries:
            assert viewer.get("/search/", {"q": "hwtc"}).status_code == 200
        costs.append(len(queries))
    assert costs[0] == costs[1] <= 16
