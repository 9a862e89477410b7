"""ONUs that the discovery does not have and another table does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.discovery.selectors import known_onus
from facho.apps.discovery.store import StoredOnus
from facho.apps.hosts.models import Olt
from tests.findings import an_olt, discovered, facts, places, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def olt() -> Olt:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    return olt


def table(*onus: int, task: str = "get_state", complete: bool = True, **more: Any) -> Finding:
    rows = facts((onu, {"description": f"customer {onu}", **more}) for onu in onus)
    return Finding(rows, complete=complete, task=task)


def is_there(address: str) -> bool:
    return Onu.objects.get(address=address).presence == "present"


def test_a_table_read_to_its_end_beside_a_discovery_names_who_is_new(olt: Olt) -> None:
    optics = Finding(facts([(1, {"onu_rx_dbm": -20.0}), (2, {"onu_rx_dbm": -21.0})]))
    assert store(olt, optics, discovered({1: "A"}), table(1, 2)) == StoredOnus(new=1, changed=1, onus=2)
    onu = Onu.objects.get(address="0/1/7:2")
    assert (onu.description, onu.onu_rx_dbm, onu.raw_index) == ("customer 2", -21.0, "4194304000.2")
    assert OnuEvent.objects.get(onu=onu).kind == "new"
    assert [(each.key.onu, each.undiscovered) for each in known_onus(olt.pk)] == [(1, False), (2, True)]
    assert store(olt, optics, discovered({1: "A"}), table(1, 2)) == StoredOnus(onus=2)


def test_without_a_discovery_or_without_its_end_a_table_names_nobody(olt: Olt) -> None:
    assert store(olt, table(1, 2)) == StoredOnus(changed=1, unknown=1, onus=1)
    assert store(olt, discovered({1: "A"}), table(1, 2, complete=False)) == StoredOnus(unknown=1, onus=1)


@pytest.mark.parametrize("known", [{"serial": "A"}, {"mac": "aa:00:00:00:00:01"}])
def test_a_table_moves_nobody(known: dict[str, Any]) -> None:
    olt = an_olt()
    here = Finding(facts([(1, {"serial": "A", "mac": "aa:00:00:00:00:01"})]), True)
    store(olt, here)
    assert store(olt, here, table(2, **known)) == StoredOnus(unknown=1, onus=1)


def test_a_discovery_alone_does_not_count_against_them(olt: Olt) -> None:
    store(olt, discovered({1: "A"}), table(1, 2))
    for _ in range(3):
        assert store(olt, discovered({1: "A"}), absent_after=1).absent == 0
        # Nor does another table.
        assert store(olt, discovered({1: "A"}), table(1, task="get_plan"), absent_after=1).absent == 0
    assert is_there("0/1/7:2")


def test_their_own_table_does(olt: Olt) -> None:
    store(olt, discovered({1: "A"}), table(1, 2))
    rounds = [store(olt, discovered({1: "A"}), table(1)) for _ in range(3)]
    assert [each.absent for each in rounds] == [0, 0, 1]
    assert not is_there("0/1/7:2")
    assert store(olt, discovered({1: "A"}), table(1, 2)).returned == 1
    assert list(OnuEvent.objects.filter(onu__onu_id=2).values_list("kind", flat=True)) == [
        "returned", "absent", "new",
    ]  # fmt: skip


@pytest.mark.parametrize("odd", ["the discovery", "their own table"])
def test_nobody_is_gone_who_may_be_in_a_row_that_cannot_be_read(olt: Olt, odd: str) -> None:
    store(olt, discovered({1: "A"}), table(1, 2))
    discovery = replace(discovered({}), has_gaps=odd == "the discovery")
    states = replace(table(1), has_gaps=odd == "their own table")
    for _ in range(3):
        store(olt, discovery, states)
    assert is_there("0/1/7:2")
    assert is_there("0/1/7:1") is (odd == "the discovery")


def test_any_table_that_still_has_them_counts_for_them(olt: Olt) -> None:
    store(olt, discovered({1: "A"}), table(1, 2))
    store(olt, discovered({1: "A"}), table(1), table(2, task="get_plan"), absent_after=1)
    assert is_there("0/1/7:2")


def test_who_was_discovered_is_judged_by_discoveries_alone(olt: Olt) -> None:
    assert store(olt, discovered({}), table(1), absent_after=1).absent == 1


def test_who_is_discovered_later_is_judged_by_discoveries_from_then_on(olt: Olt) -> None:
    store(olt, discovered({1: "A"}), table(1, 2))
    assert store(olt, discovered({1: "A", 2: "B"})) == StoredOnus(changed=1, onus=2)
    assert places(olt) == {"A": "0/1/7:1", "B": "0/1/7:2"}
    assert store(olt, discovered({1: "A"}), absent_after=1).absent == 1
