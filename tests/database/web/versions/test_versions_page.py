"""The page of versions, its export, its API and its command; and the lists to which it links."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape
from typing import Any

import pytest
import typer
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.chassis.models import OltHealth
from facho.apps.discovery.models import Onu
from facho.apps.discovery.versions import recount_versions
from facho.apps.hosts.models import Olt
from facho.cli.onu import list_onus
from facho.cli.versions import versions
from facho.core.roles import Role
from facho.engine.upkeep.exports import EXPORTS
from tests.api_clients import asking, person, refused_at
from tests.factories import at
from tests.findings import an_olt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live_poller")]
ENGLISH = {"accept-language": "en"}
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


def make(olt: Olt, number: int, model: str = "X4", software: str = "V1", hardware: str = "A") -> Onu:
    onu = Onu.objects.create(
        olt=olt, address=f"0/1/7/{number}", frame=0, slot=1, port=7, onu_id=number, serial=f"HWTC{number:08}",
        model=model, sw_version=software, hw_version=hardware, state="online",
        first_seen=at("08:00"), last_seen=at("08:00"),
    )  # fmt: skip
    recount_versions(olt.pk)
    return onu


@pytest.fixture
def onus() -> list[Onu]:
    olt, other = an_olt(), an_olt("other")
    Olt.objects.filter(id=olt.pk).update(site="Centro", version="V800R021")
    rows = [make(olt, 1), make(olt, 2, software="V2"), make(olt, 3, hardware="B"), make(olt, 4, "", "", "")]
    return [*rows, make(other, 5)]


def links(page: str, to: str) -> list[tuple[str, str]]:
    """The links to a list with the numbers that they show, in their order."""
    return [
        (unescape(url), shown)
        for url, shown in re.findall(r'<a href="([^"]+)">([^<]+)</a>', page)
        if to in url
    ]


def test_each_count_links_to_the_list_of_exactly_these_onus(viewer: Client, onus: list[Onu]) -> None:
    page = viewer.get("/versions/").content.decode()
    counts = links(page, "/admin/discovery/onu/?")
    # Firmware, models, hardware.
    assert [int(shown) for _, shown in counts] == [3, 1, 4, 3, 1]
    for url, shown in counts:
        found: Any = viewer.get(url)
        assert found.context["cl"].result_count == int(shown), url
    (only,) = links(page, "/olts/?")
    assert only[1] == "1"
    assert [row.name for row in viewer.get(only[0]).context["found"].rows] == ["olt"]


def test_a_site_narrows_the_counts_and_their_links(viewer: Client, onus: list[Onu]) -> None:
    page = viewer.get("/versions/?site=Centro").content.decode()
    counts = links(page, "/admin/discovery/onu/?")
    assert [int(shown) for _, shown in counts] == [2, 1, 3, 2, 1]
    for url, shown in counts:
        found: Any = viewer.get(url)
        assert found.context["cl"].result_count == int(shown), url


def test_an_olt_without_a_model_in_its_settings_counts_as_the_one_that_it_says(viewer: Client) -> None:
    for name, model in (("a", "V1600G1"), ("b", "V1600G1"), ("c", "V1600G2"), ("d", "")):
        olt = an_olt(name)
        OltHealth.objects.create(olt=olt, part="olt", kind="olt", name=model, updated_at=at("08:00"))
        a_fan = {"part": "fan 0", "kind": "fan", "name": "V1600G1", "updated_at": at("08:00")}
        OltHealth.objects.create(olt=olt, **a_fan)
    Olt.objects.update(version="V2")
    page = viewer.get("/versions/", headers=ENGLISH).content.decode()
    # That of the OLT without a model would be the list of all four.
    (two, one) = links(page, "/olts/?")
    for (url, shown), names in ((two, ["a", "b"]), (one, ["c"])):
        assert [row.name for row in viewer.get(url).context["found"].rows] == names
        assert int(shown) == len(names)
    third = Olt.objects.get(name="c")
    page = viewer.get(f"/versions/?olt={third.pk}").content.decode()
    assert f'<a href="/olts/{third.pk}/">1</a>' in page


def test_olts_are_counted_by_hardware_too(viewer: Client, capsys: pytest.CaptureFixture[str]) -> None:
    for name, hardware in (("a", "H801"), ("b", "H801"), ("c", "H802"), ("d", "")):
        olt = an_olt(name)
        about = {"name": "MA5800", "hw_version": hardware, "updated_at": at("08:00")}
        OltHealth.objects.create(olt=olt, part="olt", kind="olt", **about)
        OltHealth.objects.create(olt=olt, part="board 0/1", kind="board", **{**about, "hw_version": "X"})
    Olt.objects.update(version="V2")
    page = viewer.get("/versions/", headers=ENGLISH).content.decode()
    assert "H801" in page
    # That of the OLT without would be the list of all four.
    (two, one) = links(page, "/olts/?")
    for (url, shown), names in ((two, ["a", "b"]), (one, ["c"])):
        listed = viewer.get(url, headers=ENGLISH)
        assert [row.name for row in listed.context["found"].rows] == names
        assert int(shown) == len(names)
        assert "H80" in listed.content.decode().partition("Only:")[2]
    reader = asking(Role.VIEWER)
    found = reader.get("/api/v1/versions/").json()["olts"]
    assert [(each["hw_version"], each["olts"]) for each in found] == [("H801", 2), ("", 1), ("H802", 1)]
    listed = reader.get("/api/v1/olts/?hw_version=H801").json()["results"]
    assert [each["name"] for each in listed] == ["a", "b"]
    versions(as_json=True)
    said = json.loads(capsys.readouterr().out)["olts"]
    assert [(each["hw_version"], each["olts"]) for each in said] == [("H801", 2), ("", 1), ("H802", 1)]
    versions()
    assert "H802" in capsys.readouterr().out
    export = EXPORTS["olts"]
    rows = csv.DictReader(io.StringIO("".join(export.csv(Olt.objects.order_by("name")))))
    assert [(row["id"] != "", row["name"], row["hw_version"]) for row in rows] == [
        (True, "a", "H801"), (True, "b", "H801"), (True, "c", "H802"), (True, "d", "")
    ]  # fmt: skip


def test_a_site_without_onus_is_not_an_empty_installation(viewer: Client, onus: list[Onu]) -> None:
    page = viewer.get("/versions/?site=nowhere", headers=ENGLISH).content.decode()
    assert "No ONU matches." in page
    assert "No OLT matches." in page
    assert "No ONUs yet." not in page


def test_what_nobody_knows_is_said_and_hostile_versions_are_text(viewer: Client, onus: list[Onu]) -> None:
    make(onus[0].olt, 9, HOSTILE)
    page = viewer.get("/versions/?olt=999999999999999999999&brand=x", headers=ENGLISH).content.decode()
    assert "not known" in page
    assert HOSTILE not in page


def test_the_page_takes_as_many_queries_for_many_versions_as_for_few(viewer: Client, onus: list[Onu]) -> None:
    def queries() -> int:
        viewer.get("/versions/")
        with CaptureQueriesContext(connection) as asked:
            viewer.get("/versions/")
        assert "onu_data" not in str([each["sql"] for each in asked])
        return len(asked)

    few = queries()
    for number in range(20, 40):
        make(onus[0].olt, number, f"M{number}", f"V{number}")
    assert queries() == few


def test_the_export_counts_by_olt(viewer: Client, onus: list[Onu]) -> None:
    answer = viewer.get("/versions/?export=csv")
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    assert text.splitlines()[:3] == [
        "olt,site,brand,model,sw_version,hw_version,onus",
        "olt,Centro,huawei,,,,1",
        "olt,Centro,huawei,X4,V1,A,1",
    ]


def test_programs_get_the_same_counts(onus: list[Onu]) -> None:
    viewer = asking(Role.VIEWER)
    found = viewer.get("/api/v1/versions/").json()
    assert found["onus"][0] == {"model": "X4", "sw_version": "V1", "hw_version": "A", "onus": 2}
    assert sum(each["onus"] for each in found["onus"]) == 5
    assert [(each["brand_name"], each["version"], each["olts"]) for each in found["olts"]] == [
        ("huawei", "", 1), ("huawei", "V800R021", 1)
    ]  # fmt: skip
    assert sum(each["onus"] for each in viewer.get("/api/v1/versions/?site=Centro").json()["onus"]) == 4
    assert "model" in refused_at(viewer.get("/api/v1/versions/?model=X4"))
    assert "olt" in refused_at(viewer.get("/api/v1/versions/?olt=x"))


def test_onus_are_found_by_their_versions(onus: list[Onu]) -> None:
    viewer = asking(Role.VIEWER)

    def found(query: str) -> list[int]:
        return [each["onu_id"] for each in viewer.get(f"/api/v1/onus/?{query}").json()["results"]]

    assert found("model=X4&sw_version=V1") == [1, 3, 5]
    assert found("model=X4&hw_version=B") == [3]
    assert found("sw_version=V2") == [2]
    assert found("sw_version=V1&site=Centro") == [1, 3]
    assert "hw_version" in refused_at(viewer.get("/api/v1/onus/?hw_version=B"))
    assert [each["name"] for each in viewer.get("/api/v1/olts/?version=V800R021").json()["results"]] == [
        "olt"
    ]


def test_a_list_of_hardware_needs_a_model_too(viewer: Client, onus: list[Onu]) -> None:
    answer: Any = viewer.get("/admin/discovery/onu/?hw_version=B", headers=ENGLISH)
    assert answer.context["cl"].result_count == 0
    assert "Choose a model" in answer.content.decode()


def test_the_command_line_counts_and_finds_them(onus: list[Onu], capsys: pytest.CaptureFixture[str]) -> None:
    versions(site="Centro", as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert sum(each["onus"] for each in said["onus"]) == 4
    with pytest.raises(typer.Exit):
        versions(site="nowhere")
    assert "no OLT is at the site 'nowhere'" in capsys.readouterr().err
    versions(olt="other")
    assert "X4" in capsys.readouterr().out
    list_onus(model="X4", sw_version="V1", hw_version="A", as_json=True)
    assert [each["onu"] for each in json.loads(capsys.readouterr().out)] == [1, 5]
