"""What an OLT says of itself becomes rows: what changed, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned
from facho.apps.chassis.selectors import health_of, known_kinds, ports_of, unprovisioned_onus
from facho.apps.chassis.store import store_health, store_ports, store_unprovisioned
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.discovery.store import FrameValues
from facho.vendors import Entity, Facts, Key, State
from tests.findings import NOW, an_olt

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(minutes=5)


def facts(entity: Entity, rows: dict[Key, dict[str, Any]], technology: str = "") -> Facts:
    names = dict.fromkeys(name for row in rows.values() for name in row)
    return Facts(
        entity,
        list(rows),
        [b""] * len(rows),
        [technology] * len(rows),
        {name: [row.get(name) for row in rows.values()] for name in names},
    )


def ports(rows: dict[int, dict[str, Any]]) -> Facts:
    """Ports of board 0/1, by number."""
    return facts(Entity.PORT, {Key(0, 1, port): row for port, row in rows.items()}, "gpon")


def waiting(*rows: tuple[int, str]) -> Facts:
    """(port, serial)."""
    found = {Key(0, 1, port, None, row): {"serial": serial} for row, (port, serial) in enumerate(rows)}
    return facts(Entity.AUTOFIND, found)


def writes(do: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        do()
    return [each["sql"] for each in queries if each["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]


def test_ports_are_stored_by_place() -> None:
    olt = an_olt()
    told = {"state": State("up", "UP"), "tx_dbm": 3.5, "onus_known": 12, "name": "GPON 0/1/7"}
    store_ports(olt.pk, [ports({7: told, 10: {"state": State("down", "2")}})], NOW)
    row = PonPort.objects.get(place="0/1/7")
    assert (row.frame, row.slot, row.port, row.technology) == (0, 1, 7, "gpon")
    assert (row.state, row.tx_dbm, row.onus_told, row.name) == ("up", 3.5, 12, "GPON 0/1/7")
    assert (row.rx_dbm, row.updated_at) == (None, NOW)
    assert [port.port for port in ports_of(olt.pk)] == ["0/1/7", "0/1/10"]


def test_what_an_olt_ever_told_of_is_known() -> None:
    olt, other = an_olt(), an_olt("other")
    store_ports(olt.pk, [ports({7: {"tx_dbm": 3.0}})], NOW)
    fans = facts(Entity.FAN, {Key(0, extra=number): {"state": State("ok", "1")} for number in (1, 2)})
    for each in (olt, other):
        store_health(each.pk, [fans], NOW)
    assert (known_kinds(olt.pk), known_kinds(other.pk)) == ({"port", "fan"}, {"fan"})
    assert known_kinds(an_olt("new").pk) == set()


def test_a_port_is_written_when_something_changed_and_only_then() -> None:
    olt = an_olt()
    rows: dict[int, dict[str, Any]] = {port: {"tx_dbm": 3.0, "state": State("up", "")} for port in range(16)}
    store_ports(olt.pk, [ports(rows)], NOW)
    assert writes(lambda: store_ports(olt.pk, [ports(rows)], LATER)) == []
    rows[3]["tx_dbm"] = 3.1
    store_ports(olt.pk, [ports(rows)], LATER)
    assert list(PonPort.objects.filter(updated_at=LATER).values_list("place", flat=True)) == ["0/1/3"]


def test_a_whole_olt_takes_as_many_statements_as_one_port() -> None:
    first, second = an_olt("first"), an_olt("second")

    def statements(olt_id: int, count: int, power: float) -> int:
        with CaptureQueriesContext(connection) as queries:
            store_ports(olt_id, [ports({port: {"tx_dbm": power} for port in range(count)})], NOW)
        return len(queries)

    # Read, insert, and read the new ids; then read and update.
    assert statements(first.pk, 1, 3.0) == statements(second.pk, 256, 3.0) == 3
    assert statements(first.pk, 1, 4.0) == statements(second.pk, 256, 4.0) == 2


def test_what_is_not_told_stays_and_what_has_no_value_any_more_goes() -> None:
    olt = an_olt()
    store_ports(olt.pk, [ports({1: {"tx_dbm": 3.0, "state": State("up", "")}, 2: {"tx_dbm": 4.0}})], NOW)
    store_ports(olt.pk, [ports({1: {"tx_dbm": None}})], LATER)
    first, second = PonPort.objects.order_by("port")
    assert (first.state, first.tx_dbm) == ("up", None)
    assert second.tx_dbm == 4.0


def test_a_reading_that_broke_off_takes_nothing_away() -> None:
    olt = an_olt()
    store_ports(olt.pk, [ports({1: {"tx_dbm": 3.0}, 2: {"tx_dbm": 4.0, "state": State("up", "")}})], NOW)
    cut = ports({1: {"tx_dbm": 3.3, "state": State("down", "")}, 2: {"tx_dbm": None, "state": None}})
    store_ports(olt.pk, [], LATER, partial=[cut])
    assert list(PonPort.objects.order_by("port").values_list("tx_dbm", "state")) == [
        (3.3, "down"),
        (4.0, "up"),
    ]


def test_the_numbers_of_ports_are_told_on_with_their_ids() -> None:
    olt = an_olt()
    first = ports({1: {"tx_dbm": 3.0, "state": State("up", "")}, 2: {"tx_dbm": None}})
    told = store_ports(olt.pk, [first, ports({2: {"onus_online": 5}, 3: {"onus_online": 0}})], NOW)
    ids = dict(PonPort.objects.values_list("place", "id"))
    assert told.ids == [ids["0/1/1"], ids["0/1/2"], ids["0/1/3"]]
    assert told.columns == {"tx_dbm": [3.0, None, None], "onus_online": [None, 5, 0]}
    assert store_ports(olt.pk, [], NOW) == FrameValues()


def test_no_value_of_a_device_breaks_a_row() -> None:
    olt = an_olt()
    wild = {
        "name": "a\0b" + "c" * 500,
        "tx_dbm": float("inf"),
        "onus_known": 2**40,
        "state": State("s" * 50, ""),
    }
    store_ports(olt.pk, [facts(Entity.PORT, {Key(2**40, None, 2**33): wild})], NOW)
    row = PonPort.objects.get()
    assert (row.name[:3], len(row.name), row.tx_dbm, row.onus_told, row.frame) == (
        "abc",
        120,
        None,
        None,
        None,
    )


def test_onus_are_counted_at_their_ports() -> None:
    olt = an_olt()
    store_ports(olt.pk, [ports({7: {"onus_known": 99, "onus_online": 98}, 8: {"onus_known": 2}})], NOW)
    places = [
        (7, "online", "present"),
        (7, "los", "present"),
        (7, "online", "absent"),
        (12, "online", "present"),
    ]
    for number, (port, state, presence) in enumerate(places):
        Onu.objects.create(
            olt=olt, address=f"0/1/{port}:{number}", frame=0, slot=1, port=port, state=state,
            presence=presence, first_seen=NOW, last_seen=NOW,
        )  # fmt: skip
    with CaptureQueriesContext(connection) as queries:
        found = ports_of(olt.pk)
    assert len(queries) == 2
    assert [(each.port, each.onus, each.onus_online) for each in found] == [
        ("0/1/7", 2, 1), ("0/1/8", 2, None), ("0/1/12", 1, 1)
    ]  # fmt: skip


def health(olt_id: int, now: datetime = NOW, **cpus: float) -> None:
    known = facts(Entity.BOARD, {Key(0, slot): {"cpu_pct": 10.0 * slot, "name": "GPHF"} for slot in (2, 1)})
    fans = facts(Entity.FAN, {Key(0, extra=2): {"speed_rpm": 3300.0, "state": State("ok", "")}})
    itself = facts(Entity.OLT, {Key(): {"version": "V1", "model": "X17", "uptime_s": 7, **cpus}})
    store_health(olt_id, [itself, known, fans], now)


def test_the_health_of_an_olt_has_a_row_for_each_part() -> None:
    olt = an_olt()
    health(olt.pk)
    assert set(OltHealth.objects.values_list("part", "kind", "frame", "slot")) == {
        ("olt", "olt", None, None), ("board 0/1", "board", 0, 1), ("board 0/2", "board", 0, 2),
        ("fan 0/2", "fan", 0, 2),
    }  # fmt: skip
    found = health_of(olt.pk)
    assert found.olt is not None
    assert (found.olt.name, found.olt.sw_version) == ("X17", "V1")
    assert [(board.place, board.cpu_pct, board.name) for board in found.boards] == [
        ("0/1", 10.0, "GPHF"), ("0/2", 20.0, "GPHF")
    ]  # fmt: skip
    assert [(fan.place, fan.speed_rpm, fan.state) for fan in found.fans] == [("0/2", 3300.0, "ok")]
    assert writes(lambda: health(olt.pk, LATER)) == []


def boards(*slots: int, **more: Any) -> Facts:
    rows = {Key(0, slot): {"state": State("ok", ""), "cpu_pct": 50.0, **more} for slot in slots}
    return facts(Entity.BOARD, rows)


def test_a_board_that_was_pulled_out_is_neither_well_nor_busy() -> None:
    olt, other = an_olt(), an_olt("other")
    for each in (olt, other):
        store_health(each.pk, [boards(1, 2)], NOW)
    store_health(olt.pk, [boards(1)], LATER)
    rows = OltHealth.objects.order_by("olt", "slot").values_list("state", "cpu_pct", "updated_at")
    assert list(rows) == [
        ("ok", 50.0, NOW), ("offline", None, LATER), ("ok", 50.0, NOW), ("ok", 50.0, NOW)
    ]  # fmt: skip
    store_health(olt.pk, [boards(1, 2)], LATER)
    assert set(OltHealth.objects.values_list("state", flat=True)) == {"ok"}


@pytest.mark.parametrize("whole", [True, False])
def test_only_a_whole_list_of_states_says_that_a_board_is_gone(whole: bool) -> None:
    olt = an_olt()
    store_health(olt.pk, [boards(1, 2)], NOW)
    only_cpus = facts(Entity.BOARD, {Key(0, 1): {"cpu_pct": 7.0}})
    if whole:
        store_health(olt.pk, [only_cpus], LATER)
    else:
        store_health(olt.pk, [], LATER, partial=[boards(1)])
    assert OltHealth.objects.get(slot=2).state == "ok"


def test_an_olt_without_a_cpu_of_its_own_is_as_busy_as_its_busiest_board() -> None:
    olt, other = an_olt("boards"), an_olt("own")
    health(olt.pk)
    health(other.pk, cpu_pct=3.0)
    assert health_of(olt.pk).highest("cpu_pct") == 20.0
    assert health_of(other.pk).highest("cpu_pct") == 3.0
    assert health_of(other.pk).highest("temperature_c") is None


def test_who_waits_is_listed_until_the_olt_does_not_say_so_any_more() -> None:
    olt, other = an_olt(), an_olt("other")
    assert list(store_unprovisioned(other.pk, [waiting((1, "HWTC00000009"))], NOW)) == ["HWTC00000009"]
    both = [waiting((10, "HWTC00000001"), (2, "HWTC00000002"))]
    assert list(store_unprovisioned(olt.pk, both, NOW)) == ["HWTC00000001", "HWTC00000002"]
    assert [(each.port, each.serial) for each in unprovisioned_onus(olt)] == [
        ("0/1/2", "HWTC00000002"), ("0/1/10", "HWTC00000001")
    ]  # fmt: skip
    assert store_unprovisioned(olt.pk, [waiting((3, "HWTC00000001"))], LATER) == {}
    (left,) = unprovisioned_onus(olt)
    assert (left.port, left.seen_since, left.last_seen) == ("0/1/3", NOW, LATER)
    store_unprovisioned(olt.pk, [], LATER)
    assert [each.olt for each in unprovisioned_onus()] == ["other"]


def test_each_new_one_that_waits_is_an_event_once() -> None:
    olt = an_olt()
    for hours in range(3):
        store_unprovisioned(olt.pk, [waiting((1, "HWTC00000001"))], NOW + timedelta(hours=hours))
    (event,) = OnuEvent.objects.all()
    assert (event.olt, event.onu, event.kind, event.at) == (olt, None, "unprovisioned", NOW)
    assert (event.serial, event.place) == ("HWTC00000001", "0/1/1")
    store_unprovisioned(olt.pk, [], NOW + timedelta(hours=4))
    store_unprovisioned(olt.pk, [waiting((1, "HWTC00000001"))], NOW + timedelta(hours=5))
    assert OnuEvent.objects.count() == 2


def test_who_has_no_serial_is_known_by_mac_and_else_by_row() -> None:
    olt = an_olt()
    rows: dict[Key, dict[str, Any]] = {
        Key(0, 1, 1, None, 1): {"serial": "000000000000", "mac": "02:00:00:00:00:01"},
        Key(0, 1, 1, None, 2): {"serial": None, "mac": None},
        Key(0, 1, 1, None, 3): {"serial": None, "mac": "00:00:00:00:00:00"},
    }
    store_unprovisioned(olt.pk, [facts(Entity.AUTOFIND, rows)], NOW)
    assert set(Unprovisioned.objects.values_list("identity", flat=True)) == {
        "02:00:00:00:00:01", "0/1/1 2", "0/1/1 3"
    }  # fmt: skip
