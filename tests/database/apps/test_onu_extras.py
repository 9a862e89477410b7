"""Facts of ONUs without a column of their own are kept, with their types, and their customer ports too."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Any

import pytest

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu
from facho.apps.extras import read_extras
from facho.vendors import Entity, Facts, Key, State
from tests.findings import an_olt, discovered, facts, store

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
FOUND = {
    "vendor_id": "HWTC",
    "admin_state": State("enabled", "active"),
    "ip": IPv4Address("10.0.0.7"),
    "mac_count": 3,
    "catv_rx_dbm": -4.5,
    "last_dying_gasp": datetime(2026, 1, 1, 2, 14, 7, tzinfo=UTC),
}
STORED = {
    "vendor_id": "HWTC",
    "admin_state": "enabled",
    "ip": "10.0.0.7",
    "mac_count": 3,
    "catv_rx_dbm": -4.5,
    "last_dying_gasp": "2026-01-01T02:14:07+00:00",
}


def extras(serial: str) -> dict[str, Any]:
    return read_extras(Onu.objects.get(serial=serial).extras)


def unis(rows: dict[Key, dict[str, Any]]) -> Facts:
    found = Facts(Entity.UNI, list(rows), [b""] * len(rows), [""] * len(rows))
    names = dict.fromkeys(name for row in rows.values() for name in row)
    found.columns = {name: [row.get(name) for row in rows.values()] for name in names}
    return found


def test_facts_without_a_column_keep_their_types() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A", 2: "B"}), Finding(facts([(1, FOUND)]), complete=True))
    assert extras("A") == STORED
    assert extras("B") == {}


def test_the_same_facts_write_no_row() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    assert store(olt, Finding(facts([(1, FOUND)]))).changed == 1
    assert store(olt, Finding(facts([(1, FOUND)]))).changed == 0


def test_one_fact_leaves_the_others_and_an_empty_answer_removes_its_own() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}), Finding(facts([(1, FOUND)])))
    store(olt, Finding(facts([(1, {"ip": None, "mac_count": 4})]), complete=True))
    assert extras("A") == {**{k: v for k, v in STORED.items() if k != "ip"}, "mac_count": 4}


def test_an_interrupted_part_removes_nothing() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}), Finding(facts([(1, FOUND)])))
    store(olt, Finding(facts([(1, {"ip": None})]), broken=True))
    assert extras("A") == STORED


def test_an_offline_onu_loses_what_only_online_ones_are_asked_for() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}), Finding(facts([(1, FOUND | {"state": State("los", "LOS")})])))
    store(olt, Finding(facts([]), of_online=frozenset({"catv_rx_dbm"})))
    assert "catv_rx_dbm" not in extras("A")
    assert extras("A")["ip"] == "10.0.0.7"


def test_counters_and_numbers_with_a_history_do_not_rewrite_the_row() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    values = {"up_octets": 5, "down_octets": 7, "voltage_v": 3.3, "bias_ma": 12.0}
    assert store(olt, Finding(facts([(1, values)]))).changed == 0
    assert extras("A") == {}


def test_customer_ports_are_kept_with_their_onu() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A", 2: "B"}))
    up, down = State("up", "1"), State("down", "2")
    found = unis(
        {
            Key(0, 1, 7, 1, 1): {"state": up, "speed": "1000M"},
            Key(0, 1, 7, 1, 2): {"state": down, "speed": None},
            Key(0, 1, 7, 9, 1): {"state": up},
        }
    )
    store(olt, Finding(facts([]), unis=found))
    assert extras("A") == {"unis": {"1": {"state": "up", "speed": "1000M"}, "2": {"state": "down"}}}
    assert extras("B") == {}


def test_an_interrupted_part_keeps_the_customer_ports_that_it_did_not_reach() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    up = State("up", "1")
    both = unis({Key(0, 1, 7, 1, number): {"state": up} for number in (1, 2)})
    store(olt, Finding(facts([]), unis=both))
    cut = unis({Key(0, 1, 7, 1, 1): {"state": State("down", "2")}})
    store(olt, Finding(facts([]), unis=cut, broken=True))
    assert extras("A") == {"unis": {"1": {"state": "down"}, "2": {"state": "up"}}}
