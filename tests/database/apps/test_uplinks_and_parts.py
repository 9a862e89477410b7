"""Everything that an OLT reports of its uplinks, boards, fans and power supplies is kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned, Uplink
from facho.apps.chassis.store import store_health, store_ports, store_unprovisioned, store_uplinks
from facho.apps.extras import read_extras
from facho.apps.hosts.models import Olt
from facho.snmp.values import Counter64
from facho.vendors import Entity, Facts, Key, State
from tests.database.apps.test_chassis_store import facts, writes
from tests.declared_facts import declared_facts
from tests.findings import NOW, an_olt

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=5)
DECLARED = """
    board:
      humidity_pct: {kind: number, en: Humidity, es: Humedad, what: humidity, unit: '%', history: yes}
      uplinks_used: {kind: whole number, en: Uplinks used, es: Uplinks usados, what: uplinks in use}
      made: {kind: date, en: Made, es: Fabricada, what: when it was made}
      role: {kind: word, en: Role, es: Rol, what: what it does, words: {main: in use, spare: waits}}
"""


@pytest.fixture
def olt() -> Olt:
    return an_olt()


@pytest.fixture
def declared() -> Iterator[None]:
    with declared_facts(DECLARED):
        yield


def links(*rows: tuple[int, dict[str, Any]]) -> Facts:
    """Uplinks of board 0/9, by number."""
    return facts(Entity.UPLINK, {Key(0, 9, port): row for port, row in rows})


def boards(*slots: int, **more: Any) -> Facts:
    return facts(Entity.BOARD, {Key(0, slot): {"state": State("ok", ""), **more} for slot in slots})


UP = {"state": State("up", "1"), "speed_mbps": 10_000, "rx_dbm": -7.5}


def test_an_uplink_has_a_row_with_what_is_known_of_it(olt: Olt) -> None:
    more = {"name": "xge0/9/0", "description": "to the core", "admin_state": State("enabled", "1")}
    optics = {"tx_dbm": -2.1, "temperature_c": 41.0, "voltage_v": 3.3, "bias_ma": 33.5}
    store_uplinks(olt.pk, [links((0, {**UP, **more, **optics}))], NOW)
    row = Uplink.objects.values().get()
    assert row | {"id": 0} == {
        "id": 0, "olt_id": olt.pk, "place": "0/9/0", "name": "xge0/9/0", "description": "to the core",
        "state": "up", "admin_state": "enabled", "speed_mbps": 10_000, "rx_dbm": -7.5, **optics,
        "extras": "", "updated_at": NOW,
    }  # fmt: skip


def test_an_uplink_that_is_known_by_its_name_alone_has_that_as_its_place(olt: Olt) -> None:
    store_uplinks(olt.pk, [facts(Entity.UPLINK, {Key(extra="sfp1"): UP})], NOW)
    assert Uplink.objects.get().place == "sfp1"


def test_the_history_of_uplinks_has_their_numbers_counters_and_speeds(olt: Olt) -> None:
    store_uplinks(olt.pk, [links((0, UP), (1, {"state": State("down", "2"), "speed_mbps": 0}))], NOW)
    counted = links((1, {"in_octets": Counter64(7)}), (0, {"in_octets": Counter64(5), "rx_dbm": -7.0}))
    frame = store_uplinks(olt.pk, [counted], LATER)
    ids = dict(Uplink.objects.values_list("place", "id"))
    assert frame.ids == [ids["0/9/1"], ids["0/9/0"]]
    assert frame.columns == {"rx_dbm": [None, -7.0], "in_octets": [7, 5]}
    assert [type(each) for each in frame.columns["in_octets"]] == [Counter64, Counter64]
    # The collection did not ask for it: it is what was found before.
    assert frame.speeds_mbps == [0, 10_000]


def test_an_uplink_that_is_gone_is_down_and_comes_back(olt: Olt) -> None:
    both = links((0, UP), (1, UP))
    store_uplinks(olt.pk, [both], NOW)
    store_uplinks(olt.pk, [links((0, UP))], LATER)
    assert list(Uplink.objects.order_by("place").values_list("state", "rx_dbm", "updated_at")) == [
        ("up", -7.5, NOW), ("down", None, LATER)
    ]  # fmt: skip
    store_uplinks(olt.pk, [both], LATER)
    assert set(Uplink.objects.values_list("state", "rx_dbm")) == {("up", -7.5)}


@pytest.mark.parametrize("how", ["it broke off", "a row could not be read", "states were not asked"])
def test_a_part_of_the_answer_takes_nothing_away(olt: Olt, how: str) -> None:
    store_uplinks(olt.pk, [links((0, UP), (1, UP))], NOW)
    before = list(Uplink.objects.order_by("id").values())
    one = links((0, {"state": State("up", "1"), "name": None}))
    if how == "it broke off":
        store_uplinks(olt.pk, [], LATER, partial=[one])
    elif how == "a row could not be read":
        store_uplinks(olt.pk, [one], LATER, has_gaps=True)
    else:
        store_uplinks(olt.pk, [links((0, {"rx_dbm": -7.5}))], LATER)
    assert list(Uplink.objects.order_by("id").values()) == before


def test_boards_fans_and_power_supplies_have_a_row_with_what_is_known_of_them(olt: Olt) -> None:
    board = boards(1, name="GPHF", hw_version="VER.B", sw_version="V8", serial="2102", power_w=40.5)
    fan = facts(Entity.FAN, {Key(0, extra=1): {"speed_pct": 35.0, "speed_rpm": 4200}})
    psu = facts(
        Entity.PSU,
        {Key(0, extra=2): {"state": State("ok", ""), "name": "DC", "voltage_v": -53.2, "temperature_c": 30}},
    )
    store_health(olt.pk, [board, fan, psu], NOW)
    columns = ("part", "kind", "slot", "name", "state", "hw_version", "power_w", "voltage_v", "speed_pct")
    assert set(OltHealth.objects.values_list(*columns)) == {
        ("board 0/1", "board", 1, "GPHF", "ok", "VER.B", 40.5, None, None),
        ("fan 0/1", "fan", 1, "", "", "", None, None, 35.0),
        ("psu 0/2", "psu", 2, "DC", "ok", "", None, -53.2, None),
    }  # fmt: skip


def test_the_history_of_parts_has_the_numbers_of_all_kinds(olt: Olt) -> None:
    cpus = facts(Entity.BOARD, {Key(0, slot): {"cpu_pct": 10.0 * slot, "name": "A"} for slot in (1, 2)})
    itself = facts(Entity.OLT, {Key(): {"cpu_pct": 5.0, "temperature_c": 40.0, "uptime_s": 7}})
    frame = store_health(olt.pk, [itself, cpus], NOW)
    ids = dict(OltHealth.objects.values_list("part", "id"))
    assert frame.ids == [ids["olt"], ids["board 0/1"], ids["board 0/2"]]
    assert frame.columns == {"cpu_pct": [5.0, 10.0, 20.0], "temperature_c": [40.0, None, None]}


def test_a_part_that_was_removed_has_no_history_from_then_on(olt: Olt) -> None:
    store_health(olt.pk, [boards(1, 2, cpu_pct=7.0)], NOW)
    frame = store_health(olt.pk, [boards(1, cpu_pct=8.0)], LATER)
    assert (len(frame.ids), frame.columns) == (1, {"cpu_pct": [8.0]})
    assert OltHealth.objects.get(slot=2).state == "offline"


@pytest.mark.usefixtures("declared")
def test_a_fact_that_a_profile_declares_is_kept_with_its_type(olt: Olt) -> None:
    made = datetime(2024, 5, 1, tzinfo=UTC)
    found = boards(1, humidity_pct=41.5, uplinks_used=2, made=made, role=State("spare", "2"))
    frame = store_health(olt.pk, [found], NOW)
    assert frame.columns == {"humidity_pct": [41.5]}
    kept = {"humidity_pct": 41.5, "uplinks_used": 2, "made": made.isoformat(), "role": "spare"}
    assert read_extras(OltHealth.objects.get().extras) == kept
    assert writes(lambda: store_health(olt.pk, [found], LATER)) == []
    store_health(olt.pk, [boards(1, humidity_pct=None)], LATER)
    assert read_extras(OltHealth.objects.get().extras) == {
        name: value for name, value in kept.items() if name != "humidity_pct"
    }
    store_health(olt.pk, [], LATER, partial=[boards(1, uplinks_used=None, role=State("main", "1"))])
    assert read_extras(OltHealth.objects.get().extras)["uplinks_used"] == 2
    assert read_extras(OltHealth.objects.get().extras)["role"] == "main"


@pytest.mark.usefixtures("declared")
def test_the_numbers_of_a_board_that_was_removed_are_not_known_any_more(olt: Olt) -> None:
    store_health(olt.pk, [boards(1, 2, uplinks_used=2, role=State("main", "1"))], NOW)
    store_health(olt.pk, [boards(1, uplinks_used=2)], LATER)
    assert read_extras(OltHealth.objects.get(slot=2).extras) == {"role": "main"}


def test_every_entity_keeps_the_facts_that_have_no_column(olt: Olt) -> None:
    described = {"description": "north", "speed_mbps": 2488}
    store_ports(olt.pk, [facts(Entity.PORT, {Key(0, 1, 7): described})], NOW)
    itself = {"name": "OLT-7", "description": "MA5800", "model": "X17", "hw_version": "A", "uptime_s": 9}
    store_health(olt.pk, [facts(Entity.OLT, {Key(): itself})], NOW)
    waiting = facts(Entity.AUTOFIND, {Key(0, 1, 7, None, 1): {"serial": "HWTC00000001", "hw_version": "B"}})
    store_unprovisioned(olt.pk, [waiting], NOW)
    assert read_extras(PonPort.objects.get().extras) == described
    health = OltHealth.objects.get()
    assert (health.name, health.hw_version) == ("X17", "A")
    assert read_extras(health.extras) == {"name": "OLT-7", "description": "MA5800"}
    assert read_extras(Unprovisioned.objects.get().extras) == {"hw_version": "B"}


def test_parts_and_uplinks_cost_few_statements(olt: Olt) -> None:
    def store(now: datetime) -> int:
        cpu = 10.0 + now.minute
        with CaptureQueriesContext(connection) as queries:
            store_health(olt.pk, [boards(*range(16), cpu_pct=cpu)], now)
            store_uplinks(olt.pk, [links(*((port, {**UP, "rx_dbm": -cpu}) for port in range(8)))], now)
        return len(queries)

    store(NOW)
    # For each table: what had a state, what is known, and what changed.
    assert store(LATER) == 6
