"""What is known about an ONU follows what was collected, and nothing else."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Collected, Onu
from facho.apps.discovery.store import StoredOnus, note_collected
from facho.apps.hosts.models import Olt
from facho.vendors import Key, State
from tests.findings import NOW, an_olt, discovered, facts, places, store

pytestmark = pytest.mark.django_db
ONLINE, LOS = State("online", "working"), State("los", "LOSi")
KNOWN: dict[str, Any] = {
    "serial": "A",
    "mac": "aa:00:00:00:00:01",
    "description": "Ana",
    "model": "EG8145V5",
    "plan": "300M",
    "distance_m": 1200,
    "state": ONLINE,
    "down_cause": LOS,
    "onu_rx_dbm": -20.5,
    "onu_tx_dbm": 2.25,
    "olt_rx_dbm": -22.125,
    "temperature_c": 45.0,
}
STORED = {**KNOWN, "state": "online", "down_cause": "los"}


@pytest.fixture
def olt() -> Olt:
    olt = an_olt()
    store(olt, Finding(facts([(1, KNOWN)]), True))
    return olt


def now_known() -> dict[str, Any]:
    known: dict[str, Any] = Onu.objects.values(*KNOWN).get(address="0/1/7:1")
    return known


def got(**values: Any) -> Finding:
    """What a GET brings."""
    return Finding(facts([(1, values)]))


def kept(fact: str, value: object) -> Finding:
    """What a GET brings of a fact of which an empty answer says nothing."""
    return Finding(facts([(1, {fact: value})]), keep_last=frozenset({(fact, "")}))


def test_what_a_walk_that_broke_off_did_not_read_is_kept(olt: Olt) -> None:
    store(olt, Finding(facts([(1, {"state": LOS, "onu_rx_dbm": None, "description": None})]), broken=True))
    assert now_known() == {**STORED, "state": "los"}
    store(olt, Finding(facts([(1, {"name": "from another column"})]), broken=True))
    assert now_known()["description"] == "Ana"


def test_what_an_onu_did_not_answer_is_kept(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B"}), Finding(facts([(2, {"onu_rx_dbm": -19.0})])))
    silence = facts([(onu, {"temperature_c": 40.0, "onu_rx_dbm": None}) for onu in (1, 2)])
    store(olt, Finding(silence, unanswered=frozenset({"0/1/7:1"})))
    assert now_known() == {**STORED, "temperature_c": 40.0}
    assert Onu.objects.get(address="0/1/7:2").onu_rx_dbm is None


def test_a_new_onu_has_all_that_was_found(olt: Olt) -> None:
    assert now_known() == STORED


@pytest.mark.parametrize(
    ("fact", "value", "expected"),
    [
        ("description", "Eva", "Eva"),
        ("description", None, ""),
        ("description", "a\0b", "ab"),
        ("description", "x" * 5000, "x" * 5000),
        ("model", "m" * 500, "m" * 120),
        ("plan", "\0", ""),
        ("state", LOS, "los"),
        ("state", None, ""),
        ("down_cause", None, ""),
        ("distance_m", 0, 0),
        ("distance_m", None, None),
        ("distance_m", 2**40, None),
        ("onu_rx_dbm", -31.25, -31.25),
        ("onu_rx_dbm", None, None),
        ("onu_rx_dbm", math.nan, None),
        ("onu_tx_dbm", math.inf, None),
        ("olt_rx_dbm", -math.inf, None),
        ("temperature_c", 0, 0.0),
        # Who it is, is not forgotten.
        ("serial", None, "A"),
        ("mac", None, "aa:00:00:00:00:01"),
        ("mac", "aa:00:00:00:00:99", "aa:00:00:00:00:99"),
    ],
)
def test_a_value_is_stored_as_the_database_can_hold_it(
    olt: Olt, fact: str, value: object, expected: object
) -> None:
    given = {fact: value} if fact != "mac" or value is None else {fact: value, "serial": "A"}
    stored = store(olt, got(**given))
    assert stored.changed == (STORED[fact] != expected)
    # What was not asked for is as it was.
    assert now_known() == {**STORED, fact: expected}
    assert store(olt, got(**given)).changed == 0


@pytest.mark.parametrize("fact", ["description", "model", "state", "distance_m", "onu_rx_dbm"])
def test_an_empty_answer_keeps_the_value_where_the_profile_says_so(olt: Olt, fact: str) -> None:
    assert store(olt, kept(fact, None)).changed == 0
    assert now_known() == STORED


def test_an_empty_answer_keeps_the_value_of_the_technology_that_the_profile_says_it_of() -> None:
    olt = an_olt()
    rows: list[tuple[int | Key, dict[str, Any]]] = [
        (onu, {"serial": serial, "description": serial}) for onu, serial in enumerate("ABC")
    ]
    store(olt, Finding(facts(rows), True))
    empty = facts((onu, {"description": None}) for onu in range(3))
    empty.technologies = ["gpon", "epon", "gpon"]
    store(olt, Finding(empty, keep_last=frozenset({("description", "gpon"), ("model", "epon")})))
    assert dict(Onu.objects.values_list("serial", "description")) == {"A": "A", "B": "", "C": "C"}


@pytest.mark.parametrize("column", ["onu_rx_dbm", "distance_m", "temperature_c"])
def test_what_is_no_number_keeps_the_value_too(olt: Olt, column: str) -> None:
    store(olt, kept(column, math.nan))
    assert now_known() == STORED


@pytest.mark.parametrize(
    ("first", "second", "column"), [("description", "name", "description"), ("model", "type", "model")]
)
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([("one", "two")], "one"),
        ([(None, "two")], "two"),
        ([("", "two")], "two"),
        ([(None, None)], ""),
        # Only the second is asked for: then it is what there is.
        ([(..., "two")], "two"),
        ([(..., None)], ""),
        # In several parts of a collection, in any order.
        ([("one", ...), (..., "two")], "one"),
        ([(..., "two"), ("one", ...)], "one"),
        ([(..., "two"), (None, ...)], "two"),
    ],
)
def test_a_second_fact_serves_where_the_first_is_empty(
    olt: Olt, first: str, second: str, column: str, told: list[tuple[Any, Any]], expected: str
) -> None:
    findings = [
        got(**{name: value for name, value in zip((first, second), pair, strict=True) if value is not ...})
        for pair in told
    ]
    store(olt, *findings)
    assert now_known()[column] == expected


def test_without_a_complete_discovery_nobody_is_new_moved_or_gone(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B"}))
    broken_off = Finding(discovered({2: "A", 5: "E"}).facts, False)
    for _ in range(5):
        assert store(olt, broken_off) == StoredOnus(unknown=1, other=1, onus=2)
    assert places(olt) == {"A": "0/1/7:1", "B": "0/1/7:2"}
    assert set(Onu.objects.values_list("presence", "missed")) == {("present", 0)}


def test_what_is_said_about_another_onu_is_not_stored(olt: Olt) -> None:
    # The optics of the same collection have no serial, and are of the other one all the same.
    stored = store(olt, got(onu_rx_dbm=-9.0), got(serial="Z", description="Zoe"))
    assert (stored.other, stored.changed) == (1, 0)
    assert now_known() == STORED


def test_another_mac_is_another_onu_where_there_is_no_serial() -> None:
    olt = an_olt()
    store(olt, Finding(facts([(1, {"mac": "aa:00:00:00:00:01"})]), True))
    assert store(olt, got(mac="aa:00:00:00:00:02", description="x")) == StoredOnus(other=1, onus=1)


def test_a_serial_that_is_told_later_is_learned_unless_it_is_known_elsewhere() -> None:
    olt = an_olt()
    store(olt, discovered({1: None, 2: "B", 3: None}))
    later = Finding(facts([(1, {"serial": "B"}), (3, {"serial": "C"})]), False)
    assert store(olt, later) == StoredOnus(changed=1, other=1, onus=3)
    assert list(Onu.objects.order_by("onu_id").values_list("serial", flat=True)) == ["", "B", "C"]


def test_values_come_with_the_discovery_that_finds_the_onu() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A", 2: "B"}))
    optics = Finding(
        facts([(1, {"onu_rx_dbm": -11.0}), (2, {"onu_rx_dbm": -12.0}), (3, {"onu_rx_dbm": -13.0})])
    )
    stored = store(olt, optics, discovered({1: "B", 2: "A", 3: "C"}))
    assert (stored.new, stored.moved, stored.changed, stored.unknown) == (1, 2, 2, 0)
    assert dict(Onu.objects.values_list("serial", "onu_rx_dbm")) == {"A": -12.0, "B": -11.0, "C": -13.0}


def test_an_absent_onu_that_answers_at_its_place_has_values_but_is_absent(olt: Olt) -> None:
    store(olt, discovered({}), absent_after=1)
    assert store(olt, got(description="Eva")) == StoredOnus(changed=1, onus=0)
    assert Onu.objects.get().presence == "absent"


def test_only_what_changed_is_written(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B", 3: "C"}))
    rows = [(1, {"description": "Ana", "state": ONLINE}), (2, {"description": "Bea", "state": ONLINE})]
    with CaptureQueriesContext(
        connection,
    ) as first:
        assert store(olt, Finding(facts(rows))).changed == 1
    updates = [query["sql"] for query in first if "UPDATE" in query["sql"]]
    assert len(updates) == 1
    assert "temperature_c" not in updates[0]
    with CaptureQueriesContext(connection) as second:
        assert store(olt, Finding(facts(rows))).changed == 0
    assert not [query for query in second if "UPDATE" in query["sql"]]


def test_nothing_found_changes_nothing(olt: Olt) -> None:
    assert store(olt) == StoredOnus(onus=1)
    assert store(olt, Finding(facts([]))) == StoredOnus(onus=1)
    assert now_known() == STORED


def test_when_a_datum_was_collected_is_noted_once_for_each_olt(
    olt: Olt, django_assert_num_queries: Any
) -> None:
    other = an_olt("other")
    note_collected(other.pk, ["serial"], NOW)
    note_collected(olt.pk, ["serial", "state"], NOW)
    later = NOW + timedelta(hours=1)
    with django_assert_num_queries(1):
        note_collected(olt.pk, ["state", "state", "olt_rx_dbm", "x" * 99], later)
    note_collected(olt.pk, [], later)
    noted = dict(Collected.objects.filter(olt=olt).values_list("datum", "collected_at"))
    assert noted == {"serial": NOW, "state": later, "olt_rx_dbm": later, "x" * 60: later}
    assert Collected.objects.get(olt=other).collected_at == NOW


def of_online(
    *rows: tuple[int, dict[str, Any]], keep_last: frozenset[tuple[str, str]] = frozenset()
) -> Finding:
    """What a GET brings of a fact that is asked of ONUs that are online."""
    return Finding(facts(rows), of_online=frozenset({"onu_rx_dbm", "voltage_v"}), keep_last=keep_last)


def test_the_power_of_an_onu_that_went_offline_is_not_known_any_more(olt: Olt) -> None:
    store(olt, got(state=LOS), of_online())
    assert now_known()["onu_rx_dbm"] is None
    assert now_known()["olt_rx_dbm"] == KNOWN["olt_rx_dbm"], "it was not asked for"


def test_the_power_of_one_that_is_online_stays_when_it_was_not_told(olt: Olt) -> None:
    store(olt, of_online())
    assert now_known()["onu_rx_dbm"] == KNOWN["onu_rx_dbm"]


def test_the_power_of_one_that_went_offline_stays_where_the_profile_says_so(olt: Olt) -> None:
    store(olt, got(state=LOS), of_online(keep_last=frozenset({("onu_rx_dbm", "")})))
    assert now_known()["onu_rx_dbm"] == KNOWN["onu_rx_dbm"]
