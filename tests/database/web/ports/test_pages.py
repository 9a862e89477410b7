"""The page of a PON port."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from facho.apps.chassis.models import PonPort
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Collected, Onu, OnuEvent, PortOutage
from facho.apps.discovery.selectors import collected_at
from facho.apps.extras import write_extras
from facho.apps.history.models import Subject
from facho.apps.history.store import append_frame
from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_time
from facho.apps.snmp_jobs.selectors import Intervals
from facho.config import Config
from facho.core.roles import Role
from facho.web.ports.data import PortPage, PortQuery, parse_port_query, port_facts, read_port_page
from tests.api_clients import person
from tests.declared_facts import declared_facts
from tests.factories import add_olts, know_brands, make_job, make_node
from tests.sample_rows import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def olt() -> Olt:
    know_brands()
    return add_olts("centro")[0]


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


@pytest.fixture
def port(olt: Olt) -> PonPort:
    place = {"place": "0/1/3", "frame": 0, "slot": 1, "port": 3}
    return PonPort.objects.create(olt=olt, state="up", tx_dbm=4.2, updated_at=NOW, **place)


def onu(olt: Olt, number: int, *, port: int = 3, **columns: object) -> Onu:
    place = {"frame": 0, "slot": 1, "port": port, "onu_id": number, "address": f"0/1/{port}/{number}"}
    times = {"first_seen": NOW, "last_seen": NOW}
    return Onu.objects.create(olt=olt, serial=f"S{port}-{number}", **{**place, **times, **columns})


def look(port: PonPort, asked: PortQuery = PortQuery()) -> PortPage:  # noqa: B008  # it is frozen
    return read_port_page(port, asked, NOW, Config())


def shown(port: PonPort) -> list[tuple[str, str]]:
    return [(each.name, each.text) for each in port_facts(port, {}, Intervals())]


def serials(port: PonPort, sort: str) -> list[str]:
    return [each.serial for each in look(port, PortQuery(sort)).onus]


@pytest.mark.both_databases
def test_its_onus_are_sorted_and_those_without_a_value_come_last(olt: Olt, port: PonPort) -> None:
    onu(olt, 0, onu_rx_dbm=-20.0, state="online", last_seen=NOW - timedelta(days=1))
    onu(olt, 1, state="los")
    onu(olt, 2, olt_rx_dbm=-28.5, state="online", last_seen=NOW - timedelta(days=2))
    onu(olt, 9, port=4)
    assert serials(port, "") == ["S3-0", "S3-1", "S3-2"]
    assert serials(port, "power") == ["S3-2", "S3-0", "S3-1"]
    assert serials(port, "-power") == ["S3-0", "S3-2", "S3-1"]
    assert serials(port, "state") == ["S3-1", "S3-0", "S3-2"]


def test_the_cut_lies_among_the_bars(olt: Olt, port: PonPort) -> None:
    for number, power in enumerate((-29.5, -28.0, -26.2, -25.5, None)):
        judged = "weak" if power is not None and power < -27 else ""
        onu(olt, number, onu_rx_dbm=power, state="online" if number else "los", optical_state=judged)
    found = look(port)
    assert (found.known, found.online, found.light.measured, found.light.weak) == (5, 4, 4, 2)
    assert [bar.weak for bar in found.light.bars] == [True, True, True, False, False]
    assert found.light.cut == pytest.approx(60)


def test_as_many_are_weak_as_are_marked_below(olt: Olt, port: PonPort, admin_client: Client) -> None:
    """Also one just above the limit that has not recovered, and one that went offline and has no power."""
    for number, (power, judged, presence) in enumerate(
        (
            (-29.5, "weak", "present"),
            (-26.5, "weak", "present"),
            (-24.0, "falling", "present"),
            (None, "weak", "present"),
            (-27.5, "", "present"),
            (-30.0, "weak", "absent"),
        )
    ):
        onu(olt, number, onu_rx_dbm=power, optical_state=judged, presence=presence)
    html = admin_client.get(f"/olts/{olt.id}/ports/{port.id}/").content.decode()
    marked = html.partition('id="onus"')[2].count("fd-badge fd-warning")
    assert (look(port).light.weak, look(port).light.measured, marked) == (4, 5, 4)


def test_no_cut_is_drawn_beside_the_bars(olt: Olt, port: PonPort) -> None:
    onu(olt, 0, onu_rx_dbm=-18.0)
    assert look(port).light.cut is None


@pytest.mark.usefixtures("english")
def test_an_event_of_a_port_is_shown_when_it_happened_and_when_it_was_seen(
    viewer: Client, olt: Olt, port: PonPort
) -> None:
    seen = database_now().replace(microsecond=0) - timedelta(days=2)
    went = seen - timedelta(minutes=4)
    OnuEvent.objects.create(olt=olt, kind="offline", at=seen, happened_at=went, place="0/1/3:7")
    page = viewer.get(f"/olts/{olt.id}/ports/{port.id}/", headers={"accept-language": "en"})
    html = page.content.decode()
    expected = f'{date_and_time(went)}</span> <small class="fd-number">seen {date_and_time(seen)}</small>'
    assert expected in html


@pytest.mark.both_databases
def test_only_what_happened_at_this_port_is_told(olt: Olt, port: PonPort) -> None:
    for place in ("0/1/3:7", "0/1/30:7", "0/1/3"):
        OnuEvent.objects.create(olt=olt, kind="offline", at=NOW, place=place, serial=place)
    OnuEvent.objects.create(olt=olt, kind="online", at=NOW - timedelta(days=8), place="0/1/3:7")
    for place in ("0/1/3", "0/1/30"):
        PortOutage.objects.create(
            olt=olt, place=place, began_at=NOW, cause="power_cut", onus_affected=8, onus_known=9
        )
    found = look(port)
    assert {event.place for event in found.events} == {"0/1/3:7", "0/1/3"}
    assert len(found.events) == 2
    assert [outage.place for outage in found.outages] == ["0/1/3"]


def test_a_question_that_makes_no_sense_is_left_out() -> None:
    assert parse_port_query({"sort": "; drop", "page": "x", "days": "9000"}) == PortQuery()
    assert parse_port_query({"sort": "-power", "page": "2", "days": "7"}) == PortQuery("-power", 2, 7)


def test_a_port_that_only_its_onus_name_has_a_page_by_its_place(viewer: Client, olt: Olt) -> None:
    onu(olt, 5, port=6)
    page = viewer.get(f"/olts/{olt.id}/ports/at/0/1/6/").content.decode()
    assert "S6-5" in page
    assert viewer.get(f"/olts/{olt.id}/ports/at/0/9/9/").status_code == 404


def test_the_place_of_a_port_that_is_known_leads_to_its_page(viewer: Client, olt: Olt, port: PonPort) -> None:
    url = f"/olts/{olt.id}/ports/{port.id}/"
    assert viewer.get(f"/olts/{olt.id}/ports/at/0/1/3/").headers["Location"] == url
    assert viewer.get(url).status_code == 200


def test_a_port_is_found_at_its_own_olt_alone(viewer: Client, port: PonPort) -> None:
    (other,) = add_olts("norte")
    assert viewer.get(f"/olts/{other.id}/ports/{port.id}/").status_code == 404


def test_it_takes_as_many_queries_for_much_as_for_little(viewer: Client, olt: Olt, port: PonPort) -> None:
    url = f"/olts/{olt.id}/ports/{port.id}/"
    onu(olt, 200)
    with CaptureQueriesContext(connection) as few:
        viewer.get(url)
    for number in range(100):
        who = onu(olt, number, onu_rx_dbm=-20.0 - number / 10)
        OnuEvent.objects.create(olt=olt, onu=who, kind="offline", at=NOW, place=f"0/1/3:{number}")
    with CaptureQueriesContext(connection) as many:
        page = viewer.get(url).content.decode()
    assert len(many) == len(few) <= 16
    assert "page=2" in page


def test_declared_facts_of_a_port_are_on_its_page_with_their_history(port: PonPort, viewer: Client) -> None:
    declared = """
        port:
          ranging_errors: {kind: whole number, en: Ranging errors, es: Errores, what: x, history: yes}
          shelf: {kind: text, en: Shelf, es: Repisa, what: its shelf}
    """
    with declared_facts(declared):
        PonPort.objects.update(
            extras=write_extras({"ranging_errors": 12, "shelf": "R7", "description": "north"})
        )
        port.refresh_from_db()
        then = NOW - timedelta(hours=1)
        append_frame(port.olt_id, then, Subject.PORT, [port.pk], {"ranging_errors": [11]})
        with translation.override("en"):
            found = look(port)
            assert shown(port) == [
                ("Description", "north"),
                ("Power sent", "4.2 dBm"),
                ("Ranging errors", "12"),
                ("Shelf", "R7"),
            ]
            assert [chart.title for chart in found.charts] == ["Ranging errors"]
        text = viewer.get(f"/olts/{port.olt_id}/ports/{port.pk}/").content.decode()
        assert "R7" in text


def test_each_number_of_a_port_that_has_a_history_is_drawn(port: PonPort, viewer: Client) -> None:
    PonPort.objects.update(admin_state="disabled")
    port.refresh_from_db()
    numbers = {"voltage_v": [3.2], "bias_ma": [30.0]}
    append_frame(port.olt_id, NOW - timedelta(hours=1), Subject.PORT, [port.pk], numbers)
    with translation.override("en"):
        found = look(port)
        assert shown(port) == [("Administrative state", "disabled"), ("Power sent", "4.2 dBm")]
    assert [chart.title for chart in found.charts] == ["Voltage", "Laser current"]


def test_each_fact_of_a_port_has_the_date_of_its_own_collection(port: PonPort, viewer: Client) -> None:
    """Its counters are read often: they do not make its state and its optics look fresh."""
    now = database_now()
    old = now - timedelta(days=3)
    make_node(port.olt, make_job(facts=["ports", "traffic"], interval=300))
    for datum, at in {
        "port.state": old,
        "port.in_octets": now,
        "port.rx_dbm": now,
        "port.tx_dbm": old,
    }.items():
        Collected.objects.create(olt=port.olt, datum=datum, collected_at=at)
    PonPort.objects.update(rx_dbm=-21.5)
    port.refresh_from_db()
    dates = {each.name: each.at for each in port_facts(port, collected_at(port.olt_id), Intervals())}
    assert set(dates.values()) == {old, now}
    text = viewer.get(f"/olts/{port.olt_id}/ports/{port.pk}/").content.decode()
    # Its state, and the power that it sends.
    assert text.count("fd-age fd-old") == 2
