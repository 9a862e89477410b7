"""What is known about ONUs, for GETs and for people."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
import typer

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu
from facho.apps.discovery.onu_search import filter_onus
from facho.apps.discovery.selectors import Census, KnownRow, OnuRow, census, known_onus, onu_rows
from facho.cli.onu import list_onus
from facho.vendors import Key, State
from tests.findings import NOW, an_olt, discovered, facts, store

pytestmark = pytest.mark.django_db
FIELDS = [
    "olt", "slot", "port", "onu", "interface", "serial", "mac", "description", "model", "hw_version",
    "sw_version", "ip", "state", "down_cause", "rx_dbm", "tx_dbm", "olt_rx_dbm", "distance_m",
    "temperature_c", "presence", "last_seen", "shown_state", "status", "cause", "weak", "unknown_because",
    "offline_since", "offline_dated", "facts", "unis",
]  # fmt: skip


def test_who_can_be_asked_is_who_is_present_at_a_place() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A", 2: "B", 3: "C"}))
    store(olt, discovered({1: "A", 2: "B"}), absent_after=1)
    store(olt, discovered({1: "A", 2: "X"}))
    online, offline = State("online", "1"), State("offline", "2")
    store(olt, Finding(facts([(1, {"state": online}), (2, {"state": offline})])))
    assert [row[:3] for row in known_onus(olt.pk)] == [
        (Key(0, 1, 7, 1), "gpon", True),
        (Key(0, 1, 7, 2), "gpon", False),
    ]
    assert known_onus(an_olt("other").pk) == []


def test_onus_are_counted_by_what_is_known_of_them() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A", 2: "B", 3: "C", 4: "D"}))
    store(olt, discovered({1: "A", 2: "B", 3: "C"}), absent_after=1)
    online, unknown = State("online", "1"), State("unknown", "9")
    store(olt, Finding(facts([(1, {"state": online}), (2, {"state": unknown})])))
    assert census(olt.pk) == {"gpon": Census(known=4, present=3, online=1, with_state=1)}
    assert census(an_olt("other").pk) == {}


@pytest.mark.parametrize("key", [Key(None, 1, 2, 3), Key(1, 1, 2, 3), Key(extra="aa:00:00:00:00:01")])
def test_a_place_comes_back_as_it_was(key: Key) -> None:
    olt = an_olt()
    finding = Finding(facts([(key, {"serial": "A"})]), True)
    store(olt, finding)
    assert known_onus(olt.pk) == [KnownRow(key, "gpon", False, raw_index=finding.facts.indexes[0])]


def test_an_index_that_was_cut_when_it_was_stored_is_not_asked_for() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    Onu.objects.update(raw_index="1.2.")
    assert [row.raw_index for row in known_onus(olt.pk)] == [b""]


def all_rows() -> list[OnuRow]:
    return list(onu_rows(filter_onus()))


def test_a_row_has_the_fields_that_scripts_rely_on() -> None:
    olt = an_olt()
    rows: list[tuple[int | Key, dict[str, Any]]] = [
        (3, {"serial": "A", "onu_rx_dbm": 0.0, "distance_m": 0, "state": State("online", "1")}),
        (Key(None, 2, 1, 4), {}),
        (Key(extra="pon1/onu2"), {}),
    ]
    store(olt, Finding(facts(rows), True))
    named, frameless, found = (asdict(row) for row in all_rows())
    assert list(found) == FIELDS
    nothing = dict.fromkeys(FIELDS)
    common = {"olt": "olt", "presence": "present", "last_seen": NOW, "status": "unknown", "weak": False}
    common |= {"offline_dated": False, "facts": {}, "unis": {}}
    assert named == {**nothing, **common, "interface": "pon1/onu2"}
    assert frameless == {**nothing, **common, "slot": 2, "port": 1, "onu": 4, "interface": "2/1:4"}
    numbers = {"slot": 1, "port": 7, "onu": 3, "interface": "0/1/7:3", "rx_dbm": 0.0, "distance_m": 0}
    assert found == {
        **nothing,
        **common,
        **numbers,
        "serial": "A",
        "state": "online",
        "shown_state": "online",
        "status": "online",
    }
    json.dumps({**found, "last_seen": found["last_seen"].isoformat()})


def test_rows_are_ordered_by_number() -> None:
    first, second = an_olt("a"), an_olt("b")
    store(second, discovered({1: "Z"}))
    store(first, discovered({10: "J", 9: "I", 2: "B"}))
    assert [(row.olt, row.onu) for row in all_rows()] == [("a", 2), ("a", 9), ("a", 10), ("b", 1)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "ABC"),
        ({"search": "c0a"}, "A"),
        ({"search": "00:02"}, "B"),
        ({"search": "ana hwtc"}, "A"),
        ({"search": "ana nobody"}, ""),
        ({"state": "online"}, "A"),
        ({"presence": "absent"}, "C"),
        ({"presence": "present", "state": "los"}, "B"),
    ],
)
def test_rows_can_be_looked_for(asked: dict[str, Any], expected: str) -> None:
    olt, other = an_olt(), an_olt("other")
    rows: list[tuple[int | Key, dict[str, Any]]] = [
        (1, {"serial": "HWTC0A", "description": "Mariana", "state": State("online", "1")}),
        (2, {"serial": "HWTC0B", "mac": "aa:00:00:00:00:02", "state": State("los", "2")}),
    ]
    store(olt, Finding(facts(rows), True))
    store(other, discovered({1: "HWTC0C"}))
    store(other, discovered({}), absent_after=1)
    assert "".join((row.serial or "")[-1:] for row in onu_rows(filter_onus(**asked))) == expected


def test_rows_of_one_olt() -> None:
    first, second = an_olt("a"), an_olt("b")
    for olt in (first, second):
        store(olt, discovered({1: "A"}))
    assert [row.olt for row in onu_rows(filter_onus(second))] == ["b"]


def test_duplicates_are_listed_for_scripts_with_exactly_the_fields_they_know(
    capsys: pytest.CaptureFixture[str],
) -> None:
    store(an_olt(), discovered({10: "A", 9: "A", 2: "B"}))
    list_onus(None, "", "", duplicates=True, absent=False, limit=None, as_json=True)
    rows = json.loads(capsys.readouterr().out)
    assert [(list(row), row["onu"], row["rx_dbm"]) for row in rows] == [(FIELDS, 9, None), (FIELDS, 10, None)]


def test_a_state_that_no_onu_can_have_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(typer.Exit) as ended:
        list_onus(state="onlin", as_json=True)
    assert ended.value.exit_code == 2
    assert "--state: 'onlin' is no state of an ONU; these are: online, " in capsys.readouterr().err
