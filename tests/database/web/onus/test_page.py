"""The page of an ONU, the worst ONUs, and those that nobody has provisioned."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation
from django.utils.html import strip_tags

from facho.apps.chassis.models import Unprovisioned
from facho.apps.db.database import database_now
from facho.apps.discovery.models import EventKind, Onu, OnuEvent
from facho.apps.discovery.selectors import Where, flapping, last_online, weak_onus, weak_since, weakest
from facho.apps.discovery.store import note_collected
from facho.apps.executions.models import Execution, State
from facho.apps.extras import write_extras
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.reasons import to_json
from facho.core.roles import Role
from facho.engine.collect.onu_read import NEEDS_WALK
from facho.web.onus.data import read_onu_page
from facho.web.words.facts import fact_name, fact_value
from tests.api_clients import person
from tests.factories import at
from tests.findings import an_olt
from tests.history_rows import add_frame
from tests.sample_rows import fill

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live_poller")]
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


def make(olt: Olt, number: int = 1, port: int = 3, **columns: Any) -> Onu:
    columns = {"state": "online", "first_seen": at("08:00"), "last_seen": at("08:00"), **columns}
    return Onu.objects.create(
        olt=olt, address=f"0/1/{port}/{number}", frame=0, slot=1, port=port, onu_id=number, **columns
    )


def happened(onu: Onu, kind: EventKind, when: Any, **more: Any) -> None:
    OnuEvent.objects.create(olt=onu.olt, onu=onu, kind=kind, at=when, place="0/1/3:1", **more)


def test_an_onu_shows_what_is_known_and_how_old_it_is(viewer: Client) -> None:
    onu = make(an_olt("norte"), serial="HWTC1234ABCD", onu_rx_dbm=-21.5, distance_m=1200)
    note_collected(onu.olt_id, ["onu_rx_dbm"], database_now() - timedelta(minutes=2))
    html = viewer.get(f"/onus/{onu.id}/", headers={"Accept-Language": "en"}).content.decode()
    page = strip_tags(html)
    for shown in ("HWTC1234ABCD", "norte", "0/1/3:1", "-21.5", "collected 2 min", "not collected yet"):
        assert shown in page, shown


def test_numbers_that_only_the_history_has_are_shown_with_their_time(viewer: Client) -> None:
    onu = make(an_olt(), serial="HWTC1234ABCD")
    add_frame(onu.olt, "11:20", {onu.id: 3.31}, fact="voltage_v")
    add_frame(onu.olt, "11:30", {onu.id: 21_000_000.0}, fact="down_bps")
    # A collection without an answer does not hide what was known.
    add_frame(onu.olt, "11:40", {onu.id: None}, fact="voltage_v")
    for hours, now in ((1, at("12:00")), (1, at("14:00")), (24, at("14:00"))):
        shown = {fact.name: (fact.value, fact.at) for fact in read_onu_page(onu, hours, now, Config()).facts}
        with translation.override("es"):
            assert shown[fact_name("voltage_v")] == (fact_value("voltage_v", 3.31), at("11:20"))
            assert shown[fact_name("down_bps")] == (fact_value("down_bps", 21e6), at("11:30"))
    later = at("12:00") + timedelta(days=3)
    assert not any(fact.at for fact in read_onu_page(onu, 24, later, Config()).facts)


def test_its_customer_ports_are_shown_with_their_age(viewer: Client) -> None:
    unis = {"1": {"state": "up", "speed": "1000"}}
    onu = make(an_olt(), serial="HWTC1234ABCD", extras=write_extras({"unis": unis}))
    english = {"Accept-Language": "en"}
    for state, speed, ages in (
        (timedelta(hours=30), timedelta(hours=30), ["old: 1 d 06 h"]),
        (timedelta(minutes=2), timedelta(minutes=2), ["collected 2 min"]),
        (timedelta(minutes=2), timedelta(hours=30), ["collected 2 min", "old: 1 d 06 h"]),
    ):
        now = database_now()
        note_collected(onu.olt_id, ["uni.state"], now - state)
        note_collected(onu.olt_id, ["uni.speed"], now - speed)
        html = viewer.get(f"/onus/{onu.id}/", headers=english).content.decode()
        row = html.partition("Customer ports")[2].partition("</table>")[0]
        assert row.count("data-stale-after") == len(ages)
        assert row.count("fd-old") == sum(age.startswith("old") for age in ages)
        for age in ages:
            assert age in strip_tags(row)


def test_its_states_and_its_power_are_drawn() -> None:
    onu = make(an_olt(), state="online")
    happened(onu, EventKind.OFFLINE, at("10:00"), cause="power_off")
    happened(onu, EventKind.ONLINE, at("11:00"))
    happened(onu, EventKind.FALLING, at("11:30"))
    add_frame(onu.olt, "11:30", {onu.id: -24.5})
    page = read_onu_page(onu, 24, at("12:00"), Config())
    assert [(each.state, each.cause) for each in page.band.stretches] == [
        ("online", ""), ("offline", "power_off"), ("online", "")
    ]  # fmt: skip
    assert page.band.online_percent == pytest.approx(75.0)
    # Nothing is known of the time before it was first seen.
    assert page.band.known == timedelta(hours=4)
    assert not page.power.is_empty
    assert [limit.label for limit in page.power.limits] == ["-27 dBm"]
    assert len(page.power.marks) == 1


def test_its_neighbours_are_the_others_of_its_port() -> None:
    olt = an_olt()
    onu = make(olt, 1, onu_rx_dbm=-29.0)
    for number, power in ((2, -20.0), (3, -22.0), (4, -21.0)):
        make(olt, number, onu_rx_dbm=power)
    make(olt, 5, onu_rx_dbm=-5.0, state="los")
    make(olt, 6, port=4, onu_rx_dbm=-5.0)
    neighbours = read_onu_page(onu, 1, at("12:00"), Config()).neighbours
    assert (neighbours.onus, neighbours.median_dbm) == (3, -21.0)


def test_its_power_is_compared_with_its_neighbours_at_both_ends() -> None:
    olt = an_olt()
    onu = make(olt, 1, onu_rx_dbm=-25.5, olt_rx_dbm=-28.5)
    for number in range(2, 6):
        make(olt, number, onu_rx_dbm=-20.0 - number, olt_rx_dbm=-24.0)
    page = read_onu_page(onu, 1, at("12:00"), Config())
    assert (page.neighbours.median_dbm, page.at_onu.difference_db) == (-23.5, -2.0)
    # By this it does not count as weak, so it is not called so: lists and ports would not.
    assert (page.at_olt.judged, page.at_olt.is_below_limit, page.at_olt.difference_db) == ("", True, -4.5)
    assert page.neighbours.middle_dbm == (-24.25, -22.75)
    # Without values of its own there is nothing to compare them with.
    assert page.power.is_empty
    add_frame(olt, "11:30", {onu.id: -25.5})
    (band,) = read_onu_page(onu, 1, at("12:00"), Config()).power.bands
    assert band.height > 0
    Onu.objects.filter(id=onu.id).update(state="los")
    onu.refresh_from_db()
    assert not read_onu_page(onu, 1, at("12:00"), Config()).at_olt.is_below_limit


def test_it_is_weak_since_it_last_was_well() -> None:
    onu = make(an_olt(), optical_state="weak", onu_rx_dbm=-29.0)
    for hour, kind in (
        ("08:10", EventKind.WEAK), ("08:20", EventKind.RECOVERED), ("09:00", EventKind.FALLING),
        ("10:00", EventKind.WEAK),
    ):  # fmt: skip
        happened(onu, kind, at(hour))
    assert weak_since(onu) == at("09:00")
    onu.optical_state = ""
    assert weak_since(onu) is None


@pytest.mark.parametrize(
    ("columns", "at_onu", "at_olt"),
    [
        ({"onu_rx_dbm": -26.0}, "falling", ""),
        ({"onu_rx_dbm": -26.0, "rx_usual_of": "olt_rx_dbm", "rx_usual_dbm": -20.0}, "", "falling"),
        ({}, "", "falling"),
        ({"presence": "absent"}, "", ""),
    ],
)
def test_the_judgement_of_collections_is_shown_at_the_end_that_they_judge(
    columns: dict[str, Any], at_onu: str, at_olt: str
) -> None:
    onu = make(an_olt(), optical_state="falling", olt_rx_dbm=-25.0, **columns)
    page = read_onu_page(onu, 1, at("12:00"), Config())
    assert (page.at_onu.judged, page.at_olt.judged) == (at_onu, at_olt)


def test_it_was_last_online_when_it_went_offline_or_at_the_last_collection() -> None:
    olt = an_olt()
    online, gone, never = make(olt, 1), make(olt, 2, state="los"), make(olt, 3, state="los")
    for hour in ("09:00", "10:00"):
        happened(gone, EventKind.OFFLINE, at(hour))
    found = last_online([online, gone, never], at("12:00"))
    assert found == {online.id: at("12:00"), gone.id: at("10:00")}


def test_after_the_last_collection_its_state_is_unknown() -> None:
    onu = make(an_olt())
    note_collected(onu.olt_id, ["state"], at("11:00"))
    band = read_onu_page(onu, 6, at("12:00"), Config()).band
    assert [each.state for each in band.stretches] == ["online", "unknown"]
    assert band.online_percent == pytest.approx(100.0)
    assert band.known == timedelta(hours=3)


@pytest.mark.parametrize(
    ("query", "hours"),
    [
        ("", 24),
        ("hours=1", 1),
        ("hours=6", 6),
        ("days=7", 168),
        ("days=30", 720),
        ("hours=5", 24),
        ("days=x", 24),
    ],
)
def test_its_period_is_given_in_hours_or_in_days(viewer: Client, query: str, hours: int) -> None:
    onu = make(an_olt())
    assert viewer.get(f"/onus/{onu.id}/?{query}").context["page"].hours == hours


def test_a_cause_is_shown_beside_the_state_only_of_an_onu_that_is_offline(viewer: Client) -> None:
    olt, english = an_olt(), {"Accept-Language": "en"}
    online = make(olt, 1, down_cause="los")
    offline = make(olt, 2, state="los")
    shown = strip_tags(viewer.get(f"/onus/{online.id}/", headers=english).content.decode())
    assert "no light" not in shown.partition("Power at the ONU")[0]
    assert "Cause of its last outage\n                    no light" in shown
    shown = viewer.get(f"/onus/{offline.id}/", headers=english).content.decode()
    assert "offline</span> <small>no light</small>" in shown
    assert "last outage" not in shown


def test_the_worst_tell_of_how_many_they_are_the_first(viewer: Client) -> None:
    olt = an_olt()
    for number in range(52):
        make(olt, number, onu_rx_dbm=-28.0, optical_state="weak")
    make(olt, 90, onu_rx_dbm=-28.0, optical_state="weak", presence="absent")
    make(olt, 91, state="los", optical_state="weak")
    page = viewer.get("/onus/worst/", headers={"Accept-Language": "en"}).content.decode()
    assert "50 of 53" in page
    assert weak_onus(Onu.objects.all()).count() == 53


def test_hostile_names_are_texts(viewer: Client) -> None:
    onu = make(
        an_olt(), serial=HOSTILE, description=HOSTILE, model=HOSTILE, optical_state="weak", onu_rx_dbm=-30
    )
    happened(onu, EventKind.OFFLINE, database_now(), cause=HOSTILE[:20])
    for path in (f"/onus/{onu.id}/", "/onus/worst/", "/search/?q=%3Cimg"):
        assert "<img src=x" not in viewer.get(path, follow=True).content.decode(), path


def test_pages_that_are_not_there_and_people_who_may_not(client: Client, viewer: Client) -> None:
    assert viewer.get("/onus/999999/").status_code == 404
    assert viewer.post("/onus/worst/").status_code == 405
    assert viewer.get("/onus/worst/?olt=x&days=9&by=?&port=0").status_code == 200
    stranger = Client()
    for path in ("/onus/1/", "/onus/worst/", "/onus/unprovisioned/", "/search/"):
        assert stranger.get(path).headers["Location"].startswith("/admin/login/"), path


def test_the_worst_by_power_are_the_weak_ones_or_all_of_an_olt() -> None:
    olt, other = an_olt("a"), an_olt("b")
    Olt.objects.filter(id=other.id).update(site="south")
    well = make(olt, 1, onu_rx_dbm=-20.0)
    weak = make(olt, 2, onu_rx_dbm=-28.0, optical_state="weak")
    elsewhere = make(other, 3, port=4, olt_rx_dbm=-30.0, optical_state="weak")
    make(olt, 4, onu_rx_dbm=-40.0, optical_state="weak", presence="absent")
    assert weakest(Where()) == [elsewhere, weak]
    assert weakest(Where(site="south")) == [elsewhere]
    assert weakest(Where(olt_id=olt.id)) == [weak, well]
    assert weakest(Where(olt_id=other.id, port="0/1/4")) == [elsewhere]
    assert weakest(Where(olt_id=other.id, port="0/1/3")) == []


def test_the_weakest_of_all_are_chosen_once_a_minute_and_the_page_tells_when(viewer: Client) -> None:
    olt, english = an_olt(), {"Accept-Language": "en"}
    weak = make(olt, 1, onu_rx_dbm=-28.0, optical_state="weak")
    assert "as of" not in viewer.get("/onus/worst/", headers=english).content.decode()
    later = make(olt, 2, onu_rx_dbm=-31.0, optical_state="weak")
    Onu.objects.filter(id=weak.id).update(onu_rx_dbm=-29.5)
    shared = viewer.get("/onus/worst/", headers=english)
    # The ones that were chosen, with the power that they have now.
    assert [(each.id, each.onu_rx_dbm) for each in shared.context["weak"]] == [(weak.id, -29.5)]
    assert "as of" in shared.content.decode()
    # Those of an OLT are few enough to be read each time.
    assert viewer.get(f"/onus/worst/?olt={olt.id}").context["weak"] == [later, weak]
    cache.clear()
    assert viewer.get("/onus/worst/").context["weak"] == [later, weak]


def test_those_that_flap_most_of_all_are_counted_once_a_minute(viewer: Client) -> None:
    onu = make(an_olt(), 1)
    path = "/onus/worst/?by=flaps&days=7"

    def times() -> list[int]:
        return [each.times for each in viewer.get(path).context["flapping"]]

    for _ in range(2):
        happened(onu, EventKind.OFFLINE, database_now())
    assert times() == [2]
    happened(onu, EventKind.OFFLINE, database_now())
    assert times() == [2]
    assert viewer.get(path).context["ranked_at"] is not None
    # Each period has its own.
    assert viewer.get("/onus/worst/?by=flaps").context["flapping"][0].times == 3
    cache.clear()
    assert times() == [3]


def test_the_worst_by_flapping_went_offline_most_often() -> None:
    olt = an_olt()
    often, twice, once = (make(olt, number) for number in (1, 2, 3))
    for onu, times in ((often, 3), (twice, 2), (once, 1)):
        for minute in range(times):
            happened(onu, EventKind.OFFLINE, at(f"10:0{minute}"))
    happened(twice, EventKind.OFFLINE, at("08:00"))
    found = flapping(Where(), at("09:00"))
    assert [(each.onu, each.times) for each in found] == [(often, 3), (twice, 2)]
    assert flapping(Where(olt_id=olt.id, port="0/1/4"), at("09:00")) == []
    assert flapping(Where(site="nowhere"), at("09:00")) == []


def test_who_waits_to_be_provisioned_is_listed_the_latest_first(viewer: Client) -> None:
    assert "HWTC" not in viewer.get("/onus/unprovisioned/").content.decode()
    olt = an_olt()
    for serial, hour in (("HWTC00000001", "08:00"), ("HWTC00000002", "09:00")):
        Unprovisioned.objects.create(
            olt=olt, identity=serial, serial=serial, place="0/1/4", first_seen=at(hour), last_seen=at(hour)
        )
    page = viewer.get("/onus/unprovisioned/").content.decode()
    assert 0 < page.index("HWTC00000002") < page.index("HWTC00000001")


def test_all_that_the_olt_says_of_who_waits_is_shown(viewer: Client) -> None:
    Unprovisioned.objects.create(
        olt=an_olt(), identity="HWTC00000001", serial="HWTC00000001", place="0/1/4", model="EG8145V5",
        mac="aa:bb:cc:00:00:01", vendor_id="HWTC", sw_version="V5R20", seen_at=at("07:58"),
        extras='{"hw_version":"39A4.A"}', first_seen=at("08:00"), last_seen=at("08:00"),
    )  # fmt: skip
    page = viewer.get("/onus/unprovisioned/", headers={"Accept-Language": "en"}).content.decode()
    for told in ("EG8145V5", "MAC: aa:bb:cc:00:00:01", "Maker: HWTC", "Software: V5R20", "Hardware: 39A4.A"):
        assert told in page
    assert "Found at: " in page


COSTS = {"/onus/{onu}/": 14, "/onus/worst/": 8, "/onus/worst/?by=flaps": 8, "/onus/unprovisioned/": 6}


@pytest.mark.parametrize("path", COSTS)
def test_pages_cost_the_same_for_much_as_for_little(viewer: Client, path: str) -> None:
    counts = []
    for beginning_at, more in ((0, 2), (2, 6)):
        fill(more, beginning_at=beginning_at)
        onu = Onu.objects.earliest("id")
        for _ in range(more):
            happened(onu, EventKind.OFFLINE, database_now())
        Onu.objects.update(optical_state="weak", onu_rx_dbm=-30.0)
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert viewer.get(path.format(onu=onu.id)).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= COSTS[path]


def test_an_operator_reads_it_now_and_sees_the_answer_when_it_comes(client: Client) -> None:
    onu = make(an_olt("norte"), serial="HWTC1234ABCD")
    client.force_login(person(Role.OPERATOR))
    assert "Read now" in client.get(f"/onus/{onu.id}/", headers={"Accept-Language": "en"}).content.decode()
    english = {"Accept-Language": "en"}
    asking = client.post(f"/onus/{onu.id}/read/", headers=english).content.decode()
    execution = Execution.objects.get(onu=onu)
    path = f"/onus/{onu.id}/reading/{execution.pk}/"
    assert f'hx-get="{path}"' in asking
    Execution.objects.update(
        state=State.SUCCESS,
        result={
            "facts": {"onu_rx_dbm": -19.5},
            "unread": dict.fromkeys(("ip", "model"), to_json(NEEDS_WALK)),
        },
    )
    answered = client.get(path, headers=english).content.decode()
    assert "hx-get" not in answered
    assert "<dt>Power at the ONU</dt><dd>-19.5 dBm</dd>" in answered
    assert "<b>The OLT would have to be walked for it:</b> Model, IP address" in answered
    answered = client.get(path, headers={"Accept-Language": "es"}).content.decode()
    assert "<dt>Potencia en la ONU</dt><dd>-19,5 dBm</dd>" in answered
    assert "<b>Habría que recorrer las tablas de la OLT para leerlo:</b> Modelo, Dirección IP" in answered


def test_a_reading_that_cannot_be_is_refused_with_the_reason(client: Client) -> None:
    onu = make(an_olt("norte"))
    Olt.objects.update(enabled=False)
    client.force_login(person(Role.OPERATOR))
    assert "fd-alarm" in client.post(f"/onus/{onu.id}/read/").content.decode()
    assert not Execution.objects.exists()


def test_a_viewer_has_no_button_and_is_refused(viewer: Client) -> None:
    onu = make(an_olt("norte"))
    assert f"/onus/{onu.id}/read/" not in viewer.get(f"/onus/{onu.id}/").content.decode()
    assert viewer.post(f"/onus/{onu.id}/read/").status_code == 403
