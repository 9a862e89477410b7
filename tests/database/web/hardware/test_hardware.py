"""The tab of the hardware of an OLT, and the pages of its parts and uplinks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.chassis.models import OltHealth, Uplink
from facho.apps.chassis.selectors import uplink_rates
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Collected
from facho.apps.extras import write_extras
from facho.apps.history.models import Subject
from facho.apps.history.store import append_frame, close_hours
from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.engine.upkeep.exports import EXPORTS
from facho.web.hardware.data import read_hardware
from tests.api_clients import person
from tests.declared_facts import declared_facts
from tests.factories import add_olts, know_brands, make_job, make_node

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(client: Client) -> Client:
    cache.clear()
    client.force_login(person(Role.VIEWER))
    return client


@pytest.fixture
def now() -> datetime:
    return database_now()


@pytest.fixture
def olt() -> Olt:
    know_brands()
    (made,) = add_olts("centro")
    Olt.objects.update(reachable=True)
    return made


def a_board(olt: Olt, slot: int, now: datetime, **columns: Any) -> OltHealth:
    return OltHealth.objects.create(
        olt=olt, part=f"board 0/{slot}", kind="board", frame=0, slot=slot, updated_at=now, **columns
    )


def an_uplink(olt: Olt, place: str, now: datetime, **columns: Any) -> Uplink:
    return Uplink.objects.create(olt=olt, place=place, updated_at=now, **columns)


def text_of(client: Client, path: str) -> str:
    answer = client.get(path, headers={"accept-language": "en"})
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_parts_of_an_olt_are_shown_with_their_numbers_and_versions(
    viewer: Client, olt: Olt, now: datetime
) -> None:
    a_board(olt, 10, now, name="GPHF", state="ok", cpu_pct=12.0, sw_version="V8", hw_version="VER.B")
    a_board(olt, 2, now, name="MPLA", state="fault")
    OltHealth.objects.create(olt=olt, part="psu 0/1", kind="psu", voltage_v=-53.2, updated_at=now)
    shown = text_of(viewer, f"/olts/{olt.id}/hardware/")
    for words in (
        "board 0/10",
        "GPHF",
        "12.0 %",
        "SW V8",
        "HW VER.B",
        "faulty",
        "-53.2 V",
        "power supply 0/1",
    ):
        assert words in shown, words
    assert shown.index("MPLA") < shown.index("GPHF")
    # Nothing has a temperature, and so there is no such column.
    assert "Temperature" not in shown


def test_uplinks_are_ordered_by_number_and_show_what_they_move_now(
    viewer: Client, olt: Olt, now: datetime
) -> None:
    second = an_uplink(olt, "0/9/2", now, state="up", speed_mbps=10_000, rx_dbm=-7.5, description="core")
    an_uplink(olt, "0/9/10", now, state="down")
    rates = {"in_bps": [2.5e9], "in_errors_s": [0.25], "out_errors_s": [0.5], "in_discards_s": [0.0]}
    append_frame(olt.pk, now - timedelta(minutes=2), Subject.UPLINK, [second.pk], rates)
    shown = text_of(viewer, f"/olts/{olt.id}/hardware/")
    for words in ("core", "10 Gbit/s", "2.5 Gbit/s", "-7.5 dBm", ">down<"):
        assert words in shown, words
    assert shown.index("0/9/2") < shown.index("0/9/10")
    # In both directions together, and marked.
    assert '<span class="fd-error">0.75 /s</span>' in shown
    # No discards are nothing to mark.
    assert "<span>0 /s</span>" in shown


def test_rates_of_long_ago_are_not_those_of_now(viewer: Client, olt: Olt, now: datetime) -> None:
    link = an_uplink(olt, "0/9/2", now, state="up")
    append_frame(olt.pk, now - timedelta(hours=3), Subject.UPLINK, [link.pk], {"in_bps": [2.5e9]})
    line = read_hardware(olt.id, "reachable", 24, now).uplinks.lines[0]
    assert [(cell.text, cell.spark is not None) for cell in line.cells] == [("", True)]


def test_an_uplink_without_a_rate_in_the_last_collection_moves_nothing_that_is_known(
    olt: Olt, now: datetime
) -> None:
    removed, other = an_uplink(olt, "0/9/1", now, state="down"), an_uplink(olt, "0/9/2", now, state="up")
    before, last = now - timedelta(minutes=7), now - timedelta(minutes=2)
    append_frame(olt.pk, before, Subject.UPLINK, [removed.pk, other.pk], {"in_bps": [2.5e9, 1e9]})
    append_frame(olt.pk, last, Subject.UPLINK, [other.pk], {"in_bps": [2e9]})
    # Another job reads the errors, of which the last ones are older.
    append_frame(olt.pk, before - timedelta(minutes=3), Subject.UPLINK, [other.pk], {"in_errors_s": [0.5]})
    rates = uplink_rates(olt.id, now)
    assert rates.get(removed.id, {}) == {}
    assert set(rates[other.id]) == {"in_bps", "in_errors_s"}


@pytest.mark.parametrize("hours", [24, 168, 720])
def test_each_number_is_drawn_over_the_chosen_period(olt: Olt, now: datetime, hours: int) -> None:
    board = a_board(olt, 1, now, cpu_pct=20.0)
    for step in range(6):
        at = now - timedelta(hours=hours) * (step + 0.5) / 6
        append_frame(olt.pk, at, Subject.PART, [board.pk], {"cpu_pct": [10.0 + step]})
    append_frame(olt.pk, now - timedelta(hours=hours + 2), Subject.PART, [board.pk], {"cpu_pct": [99.0]})
    for _ in range(8):
        close_hours(now, grace=timedelta(), most=100)
    (cell,) = read_hardware(olt.id, "reachable", hours, now).boards.lines[0].cells
    assert cell.spark is not None
    assert (cell.spark.low, cell.spark.high) == (10.0, 15.0)


def test_a_declared_fact_is_shown_drawn_filtered_and_exported(
    viewer: Client, olt: Olt, now: datetime
) -> None:
    declared = """
        board:
          humidity_pct: {kind: number, en: Humidity, es: Humedad, what: x, unit: '%', history: yes}
          rack: {kind: text, en: Rack, es: Rack, what: its rack}
    """
    with declared_facts(declared):
        board = a_board(olt, 1, now, extras=write_extras({"humidity_pct": 41.5, "rack": "R7"}))
        a_board(olt, 2, now, extras=write_extras({"rack": "R8"}))
        append_frame(olt.pk, now - timedelta(hours=1), Subject.PART, [board.pk], {"humidity_pct": [40.0]})
        shown = text_of(viewer, f"/olts/{olt.id}/hardware/")
        for words in ("Humidity", "41.5 %", "Rack R7"):
            assert words in shown, words
        page = text_of(viewer, f"/olts/{olt.id}/parts/{board.id}/")
        assert "fd-chart" in page
        assert "R7" in page
        found = viewer.get("/api/v1/health/?other_fact=rack=R7").json()["results"]
        assert [(each["id"], each["facts"]) for each in found] == [
            (board.id, {"humidity_pct": 41.5, "rack": "R7"})
        ]
        assert viewer.get("/api/v1/health/?other_fact=humidity_pct>=42").json()["results"] == []
        assert viewer.get("/api/v1/health/?other_fact=colour=red").status_code == 400
        history = viewer.get(f"/api/v1/health/{board.id}/history/").json()
        assert history["values"]["humidity_pct"] == [40.0]
    assert "description" in "".join(EXPORTS["olt_health"].csv(OltHealth.objects.all())).partition("\n")[0]


def test_the_api_has_uplinks_and_their_history(viewer: Client, olt: Olt, now: datetime) -> None:
    link = an_uplink(olt, "0/9/2", now, state="up", speed_mbps=10_000, extras=write_extras({"lag": "1"}))
    an_uplink(olt, "0/9/3", now, state="down")
    (found,) = viewer.get("/api/v1/uplinks/?state=up").json()["results"]
    assert (found["place"], found["speed_mbps"], found["facts"]) == ("0/9/2", 10_000, {"lag": "1"})
    at = now - timedelta(minutes=5)
    append_frame(olt.pk, at, Subject.UPLINK, [link.pk], {"in_errors_s": [0.5], "rx_dbm": [-7.0]})
    history = viewer.get(f"/api/v1/uplinks/{link.id}/history/?fact=rx_dbm&fact=in_errors_s").json()
    assert (history["values"]["rx_dbm"], history["values"]["in_errors_s"]) == ([-7.0], [0.5])


def test_an_uplink_has_a_page_with_a_chart_of_each_number(viewer: Client, olt: Olt, now: datetime) -> None:
    link = an_uplink(olt, "0/9/2", now, state="up", name="xge2", admin_state="enabled", speed_mbps=10_000)
    numbers = {"rx_dbm": [-7.0], "tx_dbm": [-2.0], "in_errors_s": [0.0], "in_bps": [1e9], "bias_ma": [33.0]}
    append_frame(olt.pk, now - timedelta(minutes=5), Subject.UPLINK, [link.pk], numbers)
    shown = text_of(viewer, f"/olts/{olt.id}/uplinks/{link.id}/?hours=168")
    for words in (
        "Uplink xge2",
        "0/9/2",
        "enabled",
        "10 Gbit/s",
        "Optical power",
        "Laser current",
        "Errors",
    ):
        assert words in shown, words
    # Nothing was discarded or measured besides.
    assert shown.count('class="fd-chart"') == 4
    assert viewer.get(f"/olts/{olt.id + 1}/uplinks/{link.id}/").status_code == 404


def test_an_olt_that_reports_no_hardware_says_what_is_needed(viewer: Client, olt: Olt) -> None:
    shown = text_of(viewer, f"/olts/{olt.id}/hardware/")
    assert "a job that collects health is needed" in shown
    assert "a job that collects uplinks is needed" in shown


def test_it_takes_as_many_queries_for_many_parts_as_for_one(olt: Olt, now: datetime) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            read_hardware(olt.id, "reachable", 24, now)
        return len(found)

    a_board(olt, 1, now)
    an_uplink(olt, "0/9/1", now)
    few = queries()
    for slot in range(2, 20):
        a_board(olt, slot, now)
        an_uplink(olt, f"0/9/{slot}", now)
    assert queries() == few <= 11


def test_a_number_that_does_not_arrive_any_more_is_old_though_others_arrive(
    viewer: Client, olt: Olt, now: datetime
) -> None:
    board = a_board(olt, 1, now, state="ok", cpu_pct=41.5, temperature_c=52.5)
    link = an_uplink(olt, "0/9/0", now, state="up", rx_dbm=-7.5)
    make_node(olt, make_job(facts=["health", "uplinks"], interval=300))
    old = now - timedelta(days=3)
    dates = {"board.state": now, "board.temperature_c": now, "uplink.state": now}
    for datum, at in {**dates, "board.cpu_pct": old, "uplink.rx_dbm": old}.items():
        Collected.objects.create(olt=olt, datum=datum, collected_at=at)
    found = read_hardware(olt.pk, "", 24, now)
    (cells,) = ({cell.text: cell.at for cell in line.cells if cell.text} for line in found.boards.lines)
    assert cells == {"41.5 %": old, "52.5 °C": now} or cells == {"41,5 %": old, "52,5 °C": now}
    for path in ("hardware/part/", f"parts/{board.pk}/", f"uplinks/{link.pk}/"):
        text = text_of(viewer, f"/olts/{olt.pk}/{path}")
        assert text.count("fd-age fd-old") >= 1
        assert "3 d" in text
