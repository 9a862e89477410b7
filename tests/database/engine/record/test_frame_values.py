"""The numbers of a collection are passed on for a frame of the history."""

from __future__ import annotations

from typing import Any

import pytest

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu
from facho.apps.discovery.store import StoredOnus
from facho.apps.hosts.models import Olt
from facho.vendors import State
from tests.findings import an_olt, discovered, facts, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def olt() -> Olt:
    return an_olt()


def by_serial(stored: StoredOnus, fact: str) -> dict[str, float | None]:
    serials = dict(Onu.objects.values_list("id", "serial"))
    assert len(stored.frame.ids) == len(serials)
    return {
        serials[number]: value
        for number, value in zip(stored.frame.ids, stored.frame.columns[fact], strict=True)
    }


def test_what_was_told_is_given_with_the_ids_also_of_those_that_are_new(olt: Olt) -> None:
    store(olt, discovered({2: "B"}))
    rows: list[tuple[int, dict[str, Any]]] = [
        (1, {"serial": "A", "onu_rx_dbm": -20.5, "voltage_v": 3.3}),
        (2, {"serial": "B", "onu_rx_dbm": -21.5, "voltage_v": None}),
    ]
    stored = store(olt, Finding(facts(rows), True))
    assert set(stored.frame.columns) == {"onu_rx_dbm", "voltage_v"}
    assert by_serial(stored, "onu_rx_dbm") == {"A": -20.5, "B": -21.5}
    assert by_serial(stored, "voltage_v") == {"A": 3.3, "B": None}


def test_the_lists_of_a_collection_are_used_as_they_are_when_everybody_is_at_home(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B"}))
    optics = Finding(facts([(1, {"bias_ma": 12.0}), (2, {"bias_ma": 13.0})]))
    stored = store(olt, optics)
    assert stored.frame.columns["bias_ma"] is optics.facts.columns["bias_ma"]


def test_an_old_value_that_is_kept_was_not_told(olt: Olt) -> None:
    store(olt, Finding(facts([(1, {"serial": "A", "distance_m": 1200})]), True))
    asked = Finding(facts([(1, {"distance_m": None})]), keep_last=frozenset({("distance_m", "")}))
    stored = store(olt, asked)
    assert Onu.objects.get().distance_m == 1200
    assert by_serial(stored, "distance_m") == {"A": None}


def test_what_is_said_of_nobody_known_or_of_another_is_left_out(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B"}))
    rows = [
        (9, {"onu_tx_dbm": 1.0, "serial": "X"}),
        (2, {"onu_tx_dbm": 2.0, "serial": "Z"}),
        (1, {"onu_tx_dbm": 3.0, "serial": "A"}),
    ]
    assert by_serial(store(olt, Finding(facts(rows))), "onu_tx_dbm") == {"A": 3.0, "B": None}


def test_of_two_parts_the_last_that_has_a_value_counts(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B"}))
    one = Finding(facts([(1, {"temperature_c": 40.0}), (2, {"temperature_c": 41.0})]))
    two = Finding(facts([(1, {"temperature_c": None}), (2, {"temperature_c": 42.0})]))
    assert by_serial(store(olt, one, two), "temperature_c") == {"A": 40.0, "B": 42.0}


def test_one_that_loses_its_place_to_another_of_the_same_collection_is_not_mixed_up(olt: Olt) -> None:
    optics = Finding(facts([(1, {"onu_rx_dbm": -20.0})]))
    stored = store(olt, discovered({1: "X"}), discovered({1: "Y"}), optics)
    assert by_serial(stored, "onu_rx_dbm") == {"X": None, "Y": -20.0}


def test_it_is_no_count(olt: Olt) -> None:
    stored = store(olt, Finding(facts([(1, {"serial": "A", "state": State("online", "1")})]), True))
    assert stored.frame.columns == {}
    assert stored.frame.ids == [Onu.objects.get().pk]
    assert stored.counts() == {
        "new": 1, "moved": 0, "changed": 0, "absent": 0, "returned": 0, "unknown": 0, "other": 0,
        "duplicates": 0, "onus": 1,
    }  # fmt: skip
