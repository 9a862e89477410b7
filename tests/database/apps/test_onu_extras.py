"""Facts of ONUs without a column of their own are kept, with their types, and their customer ports too."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Any

import pytest

from facho.apps.discovery.fact_filters import BadCondition, FactCondition
from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import ClockState, Onu
from facho.apps.discovery.olt_clocks import OLT_DATES
from facho.apps.discovery.onu_search import search_onus
from facho.apps.discovery.selectors import onu_extra_values, onus_with_ip
from facho.apps.extras import read_extras
from facho.apps.hosts.models import Olt
from facho.engine.upkeep.exports import EXPORTS
from facho.vendors import Entity, Facts, Key, State
from tests.findings import NOW, an_olt, discovered, facts, store

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
FOUND = {
    "vendor_id": "HWTC",
    "admin_state": State("enabled", "active"),
    "ip_mac": "aa:bb:cc:00:00:01",
    "mac_count": 3,
    "catv_rx_dbm": -4.5,
    "last_dying_gasp": datetime(2025, 12, 31, 2, 14, 7, tzinfo=UTC),
}
STORED = {
    "vendor_id": "HWTC",
    "admin_state": "enabled",
    "ip_mac": "aa:bb:cc:00:00:01",
    "mac_count": 3,
    "catv_rx_dbm": -4.5,
    "last_dying_gasp": "2025-12-31T02:14:07+00:00",
}


def dated_olt() -> Olt:
    """An OLT whose clock shows UTC."""
    olt = an_olt()
    ClockState.objects.create(olt=olt, low_s=0, high_s=0, since=NOW, checked_at=NOW, read_at=NOW)
    return olt


def extras(serial: str) -> dict[str, Any]:
    """The facts; not the dates as the OLT showed them."""
    found = read_extras(Onu.objects.get(serial=serial).extras)
    return {fact: value for fact, value in found.items() if fact != OLT_DATES}


def unis(rows: dict[Key, dict[str, Any]]) -> Facts:
    found = Facts(Entity.UNI, list(rows), [b""] * len(rows), [""] * len(rows))
    names = dict.fromkeys(name for row in rows.values() for name in row)
    found.columns = {name: [row.get(name) for row in rows.values()] for name in names}
    return found


def test_facts_without_a_column_keep_their_types() -> None:
    olt = dated_olt()
    store(olt, discovered({1: "A", 2: "B"}), Finding(facts([(1, FOUND)]), complete=True))
    assert extras("A") == STORED
    assert extras("B") == {}


def test_versions_and_the_address_have_columns() -> None:
    olt = dated_olt()
    values = {"hw_version": "V1.0", "sw_version": "V5R20", "ip": IPv4Address("10.0.0.7")}
    store(olt, discovered({1: "A"}), Finding(facts([(1, values)]), complete=True))
    onu = Onu.objects.get()
    assert (onu.hw_version, onu.sw_version, onu.ip, onu.extras) == ("V1.0", "V5R20", "10.0.0.7", "")
    assert list(onus_with_ip(Onu.objects.all(), "10.0.0.7")) == [onu]
    assert search_onus("10.0.0") == [onu.id]
    assert search_onus("10.0.1") == []


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("mac_count>=2", ["A"]),
        ("mac_count<=2", ["B"]),
        (" mac_count = 3 ", ["A"]),
        ("admin_state=enabled", ["A", "B"]),
        ("vendor_id=HWTC", ["A"]),
        ("vendor_id=hwtc", []),
        ("line_profile=home", []),
    ],
)
def test_onus_are_found_by_facts_without_a_column(condition: str, found: list[str]) -> None:
    olt = dated_olt()
    other = {"mac_count": 1, "admin_state": State("enabled", "active")}
    store(olt, discovered({1: "A", 2: "B", 3: "C"}), Finding(facts([(1, FOUND), (2, other)])))
    rows = FactCondition.parse(condition).narrow(Onu.objects.all())
    assert sorted(rows.values_list("serial", flat=True)) == found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("uni.state=down", ["A"]),
        ("uni.state=up", ["A", "B"]),
        ("uni.speed = 1000M", ["B"]),
        ("uni.speed=10M", []),
        ("uni.admin_state=enabled", []),
    ],
)
def test_onus_are_found_by_any_of_their_customer_ports(condition: str, found: list[str]) -> None:
    up, down = State("up", "1"), State("down", "2")
    ports: dict[Key, dict[str, Any]] = {
        Key(0, 1, 7, 1, 1): {"state": up},
        Key(0, 1, 7, 1, 2): {"state": down},
        Key(0, 1, 7, 2, 1): {"state": up, "speed": "1000M"},
    }
    store(dated_olt(), discovered({1: "A", 2: "B", 3: "C"}), Finding(facts([(3, FOUND)]), unis=unis(ports)))
    rows = FactCondition.parse(condition).narrow(Onu.objects.all())
    assert sorted(rows.values_list("serial", flat=True)) == found


def test_a_value_of_the_kind_that_a_fact_had_is_no_number() -> None:
    store(dated_olt(), discovered({1: "A"}))
    Onu.objects.update(extras='{"mac_count":"many"}')
    for condition in ("mac_count>=0", "mac_count<=9"):
        assert not FactCondition.parse(condition).narrow(Onu.objects.all()).exists()


@pytest.mark.parametrize(
    "condition",
    [
        *("", "mac_count", "mac_count>2", "nothing=1", "mac_count=many", "serial=A", "mac_count<=nan"),
        *("mac_count>=inf", "uni.nothing=1", "port.state=up", "uni.=1", "state=up"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(condition: str) -> None:
    with pytest.raises(BadCondition):
        FactCondition.parse(condition)


def test_the_export_has_a_column_for_each_fact() -> None:
    olt = dated_olt()
    ports = unis({Key(0, 1, 7, 1, 1): {"state": State("up", "1")}})
    store(olt, discovered({1: "A"}), Finding(facts([(1, FOUND)]), unis=ports))
    export = EXPORTS["onus"]
    [row] = csv.DictReader(io.StringIO("".join(export.csv(export.rows(None, None, None)))))
    assert (row["vendor_id"], row["mac_count"], row["line_profile"]) == ("HWTC", "3", "")
    assert row["last_dying_gasp"] == "2025-12-31T02:14:07+00:00"
    assert json.loads(row["unis"]) == {"1": {"state": "up"}}


def test_the_same_facts_write_no_row() -> None:
    olt = dated_olt()
    store(olt, discovered({1: "A"}))
    assert store(olt, Finding(facts([(1, FOUND)]))).changed == 1
    assert store(olt, Finding(facts([(1, FOUND)]))).changed == 0


def test_one_fact_leaves_the_others_and_an_empty_answer_removes_its_own() -> None:
    olt = dated_olt()
    store(olt, discovered({1: "A"}), Finding(facts([(1, FOUND)])))
    store(olt, Finding(facts([(1, {"ip_mac": None, "mac_count": 4})]), complete=True))
    assert extras("A") == {**{k: v for k, v in STORED.items() if k != "ip_mac"}, "mac_count": 4}


def test_an_interrupted_part_removes_nothing() -> None:
    olt = dated_olt()
    store(olt, discovered({1: "A"}), Finding(facts([(1, FOUND)])))
    store(olt, Finding(facts([(1, {"ip_mac": None})]), broken=True))
    assert extras("A") == STORED


def test_an_offline_onu_loses_what_only_online_ones_are_asked_for() -> None:
    olt = dated_olt()
    store(olt, discovered({1: "A"}), Finding(facts([(1, FOUND | {"state": State("los", "LOS")})])))
    store(olt, Finding(facts([]), of_online=frozenset({"catv_rx_dbm"})))
    assert "catv_rx_dbm" not in extras("A")
    assert extras("A")["mac_count"] == 3


def test_a_declared_number_that_became_a_built_in_one_is_not_shown_as_it_was_then() -> None:
    """From then on its values are in the history alone."""
    onu = Onu(extras='{"mac_count":3,"voltage_v":3.2}')
    assert onu_extra_values(onu) == {"mac_count": 3}


def test_counters_and_numbers_with_a_history_do_not_rewrite_the_row() -> None:
    olt = dated_olt()
    store(olt, discovered({1: "A"}))
    values = {"up_octets": 5, "down_octets": 7, "voltage_v": 3.3, "bias_ma": 12.0}
    assert store(olt, Finding(facts([(1, values)]))).changed == 0
    assert extras("A") == {}


def test_customer_ports_are_kept_with_their_onu() -> None:
    olt = dated_olt()
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
    olt = dated_olt()
    store(olt, discovered({1: "A"}))
    up = State("up", "1")
    both = unis({Key(0, 1, 7, 1, number): {"state": up} for number in (1, 2)})
    store(olt, Finding(facts([]), unis=both))
    cut = unis({Key(0, 1, 7, 1, 1): {"state": State("down", "2")}})
    store(olt, Finding(facts([]), unis=cut, broken=True))
    assert extras("A") == {"unis": {"1": {"state": "down"}, "2": {"state": "up"}}}


def test_customer_ports_are_collected_fact_by_fact() -> None:
    olt = dated_olt()
    port, other = Key(0, 1, 7, 1, 1), Key(0, 1, 7, 1, 2)
    states = unis({port: {"state": State("up", "1")}, other: {"state": State("down", "2")}})
    speeds = unis({port: {"speed": "1000"}, other: {"speed": "100"}})
    store(olt, discovered({1: "A"}), Finding(facts([]), unis=states), Finding(facts([]), unis=speeds))
    both = {"1": {"state": "up", "speed": "1000"}, "2": {"state": "down", "speed": "100"}}
    assert extras("A") == {"unis": both}
    store(olt, Finding(facts([]), unis=states, complete=True))
    assert extras("A") == {"unis": both}
    store(olt, Finding(facts([]), unis=unis({port: {"speed": None}}), complete=True))
    assert extras("A") == {"unis": {"1": {"state": "up"}, "2": {"state": "down"}}}


def test_an_onu_whose_customer_ports_have_no_state_any_more_has_none() -> None:
    olt = dated_olt()
    port = Key(0, 1, 7, 1, 1)
    store(olt, discovered({1: "A"}), Finding(facts([]), unis=unis({port: {"state": State("up", "1")}})))
    store(olt, Finding(facts([]), unis=unis({port: {"state": None}}), broken=True))
    assert extras("A") == {"unis": {"1": {"state": "up"}}}
    store(olt, Finding(facts([]), unis=unis({port: {"state": None}}), complete=True))
    assert extras("A") == {}
