"""The page of the traffic of all OLTs, and the traffic on the pages of an OLT, a port and an ONU."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from facho.apps.chassis.models import PonPort, Uplink
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.rates import Drops
from facho.core.roles import Role
from facho.core.traffic import TOTAL_NUMBER
from facho.web.olts.traffic import read_olt_traffic
from facho.web.onus.data import read_onu_page
from facho.web.ports.data import PortQuery, read_port_page
from facho.web.traffic.data import TrafficQuery, read_traffic_page
from tests.api_clients import person
from tests.factories import add_olts, know_brands, make_olt
from tests.sample_rows import NOW
from tests.traffic_rows import MBIT, add_history, add_traffic, every_five_minutes, traffic_of

pytestmark = pytest.mark.django_db
ENGLISH = {"Accept-Language": "en"}
FLEET = ("norte", "sur")


class Place:
    """An OLT with one port and two ONUs on it, whose traffic was just collected."""

    def __init__(self, olt: Olt) -> None:
        self.olt = olt
        self.now = database_now()
        self.port = PonPort.objects.create(
            olt=olt, place="0/1/3", frame=0, slot=1, port=3, technology="gpon", updated_at=NOW
        )
        self.onus = [
            Onu.objects.create(
                olt=olt,
                serial=f"{olt.name.upper()}{number}",
                description="Casa <b>",
                address=f"0/1/3:{number}",
                frame=0,
                slot=1,
                port=3,
                onu_id=number,
                first_seen=NOW,
                last_seen=NOW,
            )
            for number in (1, 2)
        ]
        rates = {self.onus[0].pk: (1 * MBIT, 90 * MBIT), self.onus[1].pk: (2 * MBIT, 30 * MBIT)}
        drops = Drops(over=3, resets=4, gaps=5)
        add_traffic(
            traffic_of(olt.pk, "onu", self.now, rates, peak_at=self.now - timedelta(hours=3), drops=drops),
            traffic_of(olt.pk, "port", self.now, {self.port.pk: (311_040_000, 1_244_160_000)}),
        )


@pytest.fixture(autouse=True)
def _no_cache() -> None:
    cache.clear()


@pytest.fixture
def places() -> list[Place]:
    know_brands()
    olts = add_olts(*FLEET)
    Olt.objects.filter(pk=olts[1].pk).update(site="Centro")
    return [Place(olt) for olt in olts]


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


@pytest.mark.both_databases
def test_the_onus_and_ports_that_move_the_most_are_named_with_their_olts(places: list[Place]) -> None:
    page = read_traffic_page(TrafficQuery(), places[0].now)
    onus, ports, links = page.tops
    assert [(row.olt, row.name, (row.to_customers_bps or 0) // MBIT) for row in onus.now] == [
        ("norte", "NORTE1", 90), ("sur", "SUR1", 90), ("norte", "NORTE2", 30), ("sur", "SUR2", 30)
    ]  # fmt: skip
    assert [(row.from_customers_bps or 0) // MBIT for row in onus.peak] == [2, 2, 4, 4]
    assert [(row.place, row.to_customers_bps) for row in ports.now] == [("0/1/3", 1_244_160_000)] * 2
    assert (links.now, links.peak) == ([], [])
    assert [(each.subject, each.olts, each.to_customers_bps) for each in page.totals] == [
        ("onu", 2, 240 * MBIT), ("port", 2, 2_488_320_000), ("link", 0, None)
    ]  # fmt: skip


def test_old_rates_are_not_those_of_now_and_peaks_last_a_day(places: list[Place]) -> None:
    later = read_traffic_page(TrafficQuery(), places[0].now + timedelta(hours=1)).tops[0]
    assert (later.now, len(later.peak)) == ([], 4)
    assert read_traffic_page(TrafficQuery(), places[0].now + timedelta(hours=25)).tops[0].peak == []


def test_the_page_is_about_a_site_or_an_olt(viewer: Client, places: list[Place]) -> None:
    for query in ("site=Centro", f"olt={places[1].olt.pk}"):
        page = viewer.get(f"/traffic/?{query}", headers=ENGLISH).content.decode()
        assert "SUR1" in page
        assert "NORTE1" not in page
    assert "NORTE1" in viewer.get("/traffic/?olt=x&site=").content.decode()
    # An OLT of another site than the one that the filter shows.
    assert "NORTE1" not in viewer.get(f"/traffic/?site=Centro&olt={places[0].olt.pk}").content.decode()


def test_without_any_traffic_it_says_what_is_needed(viewer: Client, places: list[Place]) -> None:
    page = viewer.get("/traffic/?site=nowhere", headers=ENGLISH).content.decode()
    assert "a job that collects traffic is needed" in page
    assert "ONUs with the most traffic" not in page


def test_an_uplink_in_a_list_leads_to_its_page(viewer: Client, places: list[Place]) -> None:
    olt, now = places[0].olt, places[0].now
    link = Uplink.objects.create(olt=olt, place="234954752", name="eth0/9/0", updated_at=now)
    add_traffic(traffic_of(olt.pk, "link", now, {link.pk: (900 * MBIT, 100 * MBIT)}))
    for listed in ("/traffic/", f"/olts/{olt.pk}/traffic/"):
        assert (
            f'<a href="/olts/{olt.pk}/uplinks/{link.pk}/">eth0/9/0</a>' in viewer.get(listed).content.decode()
        )
    shown = viewer.get(f"/olts/{olt.pk}/uplinks/{link.pk}/", headers=ENGLISH).content.decode()
    assert "Uplink eth0/9/0" in shown
    assert viewer.get(f"/olts/{olt.pk}/hardware/").content.decode().count("eth0/9/0") == 1


@pytest.mark.parametrize("page", ["uplinks/1", "parts/1", "ports/1"])
def test_a_number_that_no_database_holds_is_no_page(viewer: Client, page: str) -> None:
    assert viewer.get(f"/olts/{2**63}/{page}/").status_code == 404


def test_what_an_onu_is_called_is_no_markup(viewer: Client, places: list[Place]) -> None:
    page = viewer.get("/traffic/", headers=ENGLISH).content.decode()
    assert "Casa &lt;b&gt;" in page
    assert "90 Mbit/s" in page
    assert "180 Mbit/s" in page


def test_the_lists_are_exported_as_they_are_filtered(viewer: Client, places: list[Place]) -> None:
    answer = viewer.get(f"/traffic/?olt={places[0].olt.pk}&export=csv")
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["of"], row["when"], row["place"], row["to_customers_bps"]) for row in rows][:3] == [
        ("onu", "now", "0/1/3:1", "90000000"), ("onu", "now", "0/1/3:2", "30000000"),
        ("onu", "peak", "0/1/3:1", "180000000"),
    ]  # fmt: skip
    assert {row["of"] for row in rows} == {"onu", "port"}


def test_only_people_who_are_logged_in_see_it(client: Client) -> None:
    assert client.get("/traffic/").status_code == 302


def test_it_takes_as_many_queries_for_much_as_for_little(places: list[Place]) -> None:
    with CaptureQueriesContext(connection) as all_olts:
        read_traffic_page(TrafficQuery(), places[0].now)
    with CaptureQueriesContext(connection) as one_olt:
        read_traffic_page(TrafficQuery(olt=places[0].olt.pk), places[0].now)
    # The totals, three lists, and the names of ONUs and of ports.
    assert (len(all_olts), len(one_olt)) == (6, 6)


def test_an_olt_shows_its_traffic_over_time_its_highest_and_what_was_dropped(
    viewer: Client, places: list[Place]
) -> None:
    place = places[0]
    since = place.now - timedelta(hours=5)
    rates = {at: {TOTAL_NUMBER: (10.0 * MBIT, 800.0 * MBIT)} for at in every_five_minutes(since, place.now)}
    add_history(place.olt.pk, "port", ("in_bps", "out_bps"), rates, place.now)
    found = read_olt_traffic(place.olt.pk, 24, place.now)
    (chart,) = found.totals
    assert [line.figures[2][1] for line in chart.lines] == ["799 Mbit/s", "9,99 Mbit/s"]
    assert [row.name for row in found.tops[0].now] == ["NORTE1", "NORTE2"]
    page = viewer.get(f"/olts/{place.olt.pk}/traffic/?hours=6", headers=ENGLISH).content.decode()
    assert f"/olts/{place.olt.pk}/traffic/part/?hours=6" in page
    for shown in ("799 Mbit/s", "NORTE1", "Above the line rate"):
        assert shown in strip_tags(page), shown
    part = viewer.get(f"/olts/{place.olt.pk}/traffic/part/?hours=6", headers=ENGLISH)
    assert "799 Mbit/s" in part.content.decode()


def test_the_ports_of_an_olt_show_how_much_of_the_line_is_in_use(viewer: Client, places: list[Place]) -> None:
    page = strip_tags(viewer.get(f"/olts/{places[0].olt.pk}/ports/", headers=ENGLISH).content.decode())
    assert "1.24 Gbit/s" in page
    assert "50 %" in page
    assert "25 %" in page


def test_a_port_shows_its_own_traffic(viewer: Client, places: list[Place]) -> None:
    place = places[0]
    rates = {place.now - timedelta(minutes=5): {place.port.pk: (10.0 * MBIT, 800.0 * MBIT)}}
    add_history(place.olt.pk, "port", ("in_bps", "out_bps"), rates, place.now)
    found = read_port_page(place.port, PortQuery(), place.now, Config())
    assert found.use is not None
    assert (round(found.use.down or 0, 2), round(found.use.up or 0, 2)) == (0.5, 0.25)
    assert found.traffic is not None
    url = f"/olts/{place.olt.pk}/ports/{place.port.pk}/"
    page = strip_tags(viewer.get(url, headers=ENGLISH).content.decode())
    assert "line rate GPON 2.49 Gbit/s / 1.24 Gbit/s" in page


def test_a_port_that_only_its_onus_name_has_no_traffic_of_its_own(
    viewer: Client, places: list[Place]
) -> None:
    PonPort.objects.all().delete()
    url = f"/olts/{places[0].olt.pk}/ports/at/0/1/3/"
    assert "No traffic in this period" in viewer.get(url, headers=ENGLISH).content.decode()


def test_interfaces_of_no_known_olt_are_said_to_be_not_added_up(viewer: Client) -> None:
    for brand, sentence in (("huawei", "No traffic in this period"), ("generic", "are not added up")):
        url = f"/olts/{make_olt(f'of {brand}', brand).pk}/traffic/part/"
        assert sentence in viewer.get(url, headers=ENGLISH).content.decode()


def test_an_onu_shows_both_directions_in_one_chart(places: list[Place]) -> None:
    place = places[0]
    onu = place.onus[0]
    rates = {
        at: {onu.pk: (2.0 * MBIT, 80.0 * MBIT)} for at in every_five_minutes(NOW, NOW + timedelta(hours=1))
    }
    add_history(place.olt.pk, "onu", ("up_bps", "down_bps"), rates, NOW + timedelta(hours=2))
    page = read_onu_page(onu, 24, NOW + timedelta(hours=2), Config())
    assert [line.path.count("M") for line in page.traffic.lines] == [1, 1]
    assert page.others == []


def test_what_is_collected_less_often_than_traffic_is_a_line_all_the_same(places: list[Place]) -> None:
    place = places[0]
    ports = {
        at: {place.port.pk: (1.0 * MBIT, 8.0 * MBIT)}
        for at in every_five_minutes(NOW, NOW + timedelta(hours=3))
    }
    optics = {
        at: {place.port.pk: (4.2, 40.0)} for at in [NOW + timedelta(minutes=2 + 30 * n) for n in range(6)]
    }
    later = NOW + timedelta(hours=5)
    add_history(place.olt.pk, "port", ("in_bps", "out_bps"), ports, NOW)
    add_history(place.olt.pk, "port", ("tx_dbm", "temperature_c"), optics, NOW)
    page = read_port_page(place.port, PortQuery(), later, Config())
    assert [chart.lines[0].path.count("M") for chart in page.charts] == [1, 1]
    assert page.traffic is not None
    assert [line.path.count("M") for line in page.traffic.lines] == [1, 1]


@pytest.mark.both_databases
def test_a_rate_that_is_not_known_is_a_dash_and_no_silence(viewer: Client, places: list[Place]) -> None:
    place = places[0]
    rates = {place.port.pk: (None, 5 * MBIT)}
    add_traffic(traffic_of(place.olt.pk, "port", place.now, rates, counter_bits=32))
    total = read_traffic_page(TrafficQuery(olt=place.olt.pk), place.now).totals[1]
    assert (total.olts, total.to_customers_bps, total.from_customers_bps) == (1, 5 * MBIT, None)
    both = read_traffic_page(TrafficQuery(), place.now).totals[1]
    assert (both.olts, both.from_customers_bps) == (2, 311_040_000)
    olt = f"/olts/{place.olt.pk}"
    pages = {
        name: strip_tags(viewer.get(name, headers=ENGLISH).content.decode())
        for name in (f"{olt}/ports/", f"{olt}/ports/{place.port.pk}/", f"/traffic/?olt={place.olt.pk}")
    }
    for page in pages.values():
        assert "5 Mbit/s" in page
        assert "–" in page  # noqa: RUF001
        assert "0 bit/s" not in page
        assert "0.0 %" not in page
    answer = viewer.get(f"/traffic/?olt={place.olt.pk}&export=csv")
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    ports = [row for row in csv.DictReader(io.StringIO(text)) if (row["of"], row["when"]) == ("port", "now")]
    assert [(row["to_customers_bps"], row["from_customers_bps"]) for row in ports] == [("5000000", "")]
    tab = strip_tags(viewer.get(f"{olt}/traffic/", headers=ENGLISH).content.decode())
    assert "The counters of the PON ports have 32 bits: rates are certain up to 114 Mbit/s." in tab
    assert "counters of the ONUs" not in tab
