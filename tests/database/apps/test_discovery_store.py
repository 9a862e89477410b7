"""Who is new, who moved, who is gone: only a complete discovery says so."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from facho.apps.db.sql import fetch_columns
from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu
from facho.apps.discovery.store import StoredOnus, store_findings
from facho.vendors import Key
from tests.findings import NOW, an_olt, discovered, facts, places, store

pytestmark = pytest.mark.django_db


def test_what_is_found_first_is_new() -> None:
    olt = an_olt()
    assert store(olt, discovered({3: "HWTC00000001", 4: "HWTC00000002"})) == StoredOnus(new=2, onus=2)
    onu = Onu.objects.get(serial="HWTC00000001")
    assert (onu.address, onu.raw_index) == ("0/1/7:3", "4194304000.3")
    assert (onu.frame, onu.slot, onu.port, onu.onu_id, onu.extra) == (0, 1, 7, 3, "")
    assert (onu.technology, onu.presence, onu.missed) == ("gpon", "present", 0)
    assert (onu.first_seen, onu.last_seen) == (NOW, NOW)
    assert (onu.description, onu.state, onu.onu_rx_dbm, onu.distance_m) == ("", "", None, None)


def test_it_is_stored_in_the_callers_transaction_only(transactional_db: None) -> None:
    olt = an_olt()
    with pytest.raises(AssertionError, match="together"):
        store_findings(olt.pk, [discovered({1: "A"})], NOW)


@pytest.mark.parametrize(
    ("before", "after", "moved", "new"),
    [
        pytest.param({1: "A", 2: "B"}, {1: "B", 2: "A"}, 2, 0, id="swap"),
        pytest.param({1: "A", 2: "B", 3: "C"}, {1: "C", 2: "A", 3: "B"}, 3, 0, id="cycle of three"),
        pytest.param({1: "A", 2: "B"}, {2: "A"}, 1, 0, id="to the place of one that is gone"),
        pytest.param({1: "A", 2: "B", 3: "C"}, {2: "A", 3: "B", 4: "C"}, 3, 0, id="all one further"),
        pytest.param({1: "A"}, {1: "B", 2: "A"}, 1, 1, id="pushed away by a new one"),
        pytest.param({1: "A"}, {1: "B"}, 0, 1, id="replaced"),
        pytest.param({1: "A", 2: "B"}, {2: "B", 1: "A"}, 0, 0, id="told in another order"),
    ],
)
def test_an_onu_is_recognised_by_its_serial(
    before: dict[int, str | None], after: dict[int, str | None], moved: int, new: int
) -> None:
    olt = an_olt()
    store(olt, discovered(before))
    ids = dict(Onu.objects.values_list("serial", "id"))
    stored = store(olt, discovered(after), hours=1)
    assert (stored.moved, stored.new) == (moved, new)
    there = {f"0/1/7:{onu}": serial for onu, serial in after.items()}
    assert {address: serial for serial, address in places(olt).items() if address in there} == there
    assert ids.items() <= dict(Onu.objects.values_list("serial", "id")).items()
    for onu in Onu.objects.filter(serial__in=[*after.values()]):
        assert onu.raw_index == f"4194304000.{onu.onu_id}"
        assert onu.address == f"0/1/7:{onu.onu_id}"


def test_who_lost_the_place_keeps_the_row() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    store(olt, discovered({1: "B"}))
    assert places(olt) == {"A": None, "B": "0/1/7:1"}
    assert Onu.objects.get(serial="A").onu_id == 1


def test_who_comes_back_to_the_place_it_lost_has_not_moved() -> None:
    olt = an_olt()
    for serial in ("A", "B"):
        store(olt, discovered({1: serial}))
    assert store(olt, discovered({1: "A"})).moved == 0
    assert places(olt) == {"A": "0/1/7:1", "B": None}


def test_an_onu_is_absent_after_three_complete_discoveries_and_returns() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A", 2: "B"}))
    told = [store(olt, discovered({1: "A"}), hours=hours) for hours in range(1, 6)]
    assert [each.absent for each in told] == [0, 0, 1, 0, 0]
    assert [each.onus for each in told] == [2, 2, 1, 1, 1]
    gone = Onu.objects.get(serial="B")
    assert (gone.presence, gone.missed, gone.last_seen) == ("absent", 3, NOW + timedelta(hours=3))
    # Nobody took its place.
    assert gone.address == "0/1/7:2"
    back = store(olt, discovered({1: "A", 2: "B"}), hours=9)
    assert (back.returned, back.new, back.moved, back.onus) == (1, 0, 0, 2)
    gone.refresh_from_db()
    assert (gone.presence, gone.missed) == ("present", 0)
    assert (gone.first_seen, gone.last_seen) == (NOW, NOW + timedelta(hours=9))


def test_one_that_is_seen_again_in_time_was_never_absent() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A", 2: "B"}))
    for hours in (1, 2):
        store(olt, discovered({1: "A"}), hours=hours)
    assert store(olt, discovered({1: "A", 2: "B"}), hours=3).returned == 0
    onu = Onu.objects.get(serial="B")
    assert (onu.missed, onu.last_seen) == (0, NOW)


def test_how_many_discoveries_is_a_setting() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    assert store(olt, discovered({}), absent_after=1) == StoredOnus(absent=1, onus=0)


def test_an_absent_one_that_returns_elsewhere_moved() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    store(olt, discovered({}), absent_after=1)
    stored = store(olt, discovered({5: "A"}))
    assert (stored.returned, stored.moved) == (1, 1)
    assert places(olt) == {"A": "0/1/7:5"}


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param([{1: "A", 2: "A"}, {1: "A", 2: "A"}], id="the same serial twice"),
        pytest.param([{1: None, 2: None}, {1: None, 2: None}], id="no serials"),
        pytest.param([{1: "0" * 16, 2: "0" * 16}] * 2, id="serials of zeros"),
        pytest.param([{1: "A", 2: "B"}, {1: "A", 2: None}], id="a serial that was not told once"),
        pytest.param([{1: None, 2: "B"}, {1: "A", 2: "B"}], id="a serial that is told later"),
        pytest.param([{1: "A", 2: "A"}, {2: "A"}, {1: "A", 2: "A"}], id="one of two goes and comes"),
    ],
)
def test_serials_that_recognise_nobody_leave_the_place(rounds: list[dict[int, str | None]]) -> None:
    olt = an_olt()
    store(olt, discovered(rounds[0]))
    before = dict(Onu.objects.values_list("address", "id"))
    for found in rounds[1:]:
        stored = store(olt, discovered(found))
        assert (stored.new, stored.moved) == (0, 0)
    assert dict(Onu.objects.values_list("address", "id")) == before


@pytest.mark.parametrize("nothing", [None, "", "000000000000"])
def test_a_serial_that_was_told_is_not_forgotten(nothing: str | None) -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    store(olt, discovered({1: nothing}))
    store(olt, Finding(discovered({1: nothing}).facts))
    assert places(olt) == {"A": "0/1/7:1"}


def test_of_a_serial_at_two_places_the_one_that_stays_is_the_same() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A", 2: "A"}))
    ids = dict(Onu.objects.values_list("address", "id"))
    stored = store(olt, discovered({2: "A"}))
    assert (stored.new, stored.moved) == (0, 0)
    assert Onu.objects.get(missed=0).pk == ids["0/1/7:2"]


@pytest.mark.parametrize("serial", ["", "0000000000000000", "SAME"])
def test_a_mac_recognises_where_the_serial_does_not(serial: str) -> None:
    olt = an_olt()

    def found(*macs: str) -> Finding:
        rows = [(onu, {"serial": serial, "mac": mac}) for onu, mac in enumerate(macs)]
        return Finding(facts(rows), True)

    one, two = "aa:00:00:00:00:01", "aa:00:00:00:00:02"
    store(olt, found(one, two))
    ids = dict(Onu.objects.values_list("mac", "id"))
    stored = store(olt, found(two, one))
    assert (stored.new, stored.moved) == (0, 2)
    assert dict(Onu.objects.values_list("mac", "id")) == ids
    assert Onu.objects.get(mac=two).onu_id == 0


def test_another_mac_at_the_place_is_another_onu() -> None:
    olt = an_olt()
    for mac in ("aa:00:00:00:00:01", "aa:00:00:00:00:02"):
        store(olt, Finding(facts([(1, {"mac": mac})]), True))
    assert Onu.objects.count() == 2
    assert Onu.objects.get(address="0/1/7:1").mac == "aa:00:00:00:00:02"


def test_the_serial_counts_more_than_the_mac() -> None:
    olt = an_olt()
    store(olt, Finding(facts([(1, {"serial": "A", "mac": "aa:00:00:00:00:01"})]), True))
    store(olt, Finding(facts([(1, {"serial": "A", "mac": "aa:00:00:00:00:02"})]), True))
    assert Onu.objects.get().mac == "aa:00:00:00:00:02"


def test_two_rows_of_one_place_are_the_first_of_them() -> None:
    olt = an_olt()
    # Different places to the decoder, and the same text.
    rows: list[tuple[int | Key, dict[str, Any]]] = [
        (Key(1, 2, None, 3), {"serial": "A"}),
        (Key(None, 1, 2, 3), {"serial": "B"}),
    ]
    for _ in range(2):
        store(olt, Finding(facts(rows), True))
    assert places(olt) == {"A": "1/2:3"}


def test_an_index_that_changed_at_the_same_place_is_kept_up_to_date() -> None:
    olt = an_olt()
    store(olt, discovered({1: "A"}))
    again = discovered({1: "A"})
    again.facts.indexes[0] = b"\x05"
    assert store(olt, again) == StoredOnus(onus=1)
    assert Onu.objects.get().raw_index == "5"


def test_two_discoveries_of_one_collection_count_as_one() -> None:
    olt = an_olt()
    epon = Finding(facts([(9, {"mac": "aa:00:00:00:00:01"})]), True)
    assert store(olt, discovered({1: "A"}), epon) == StoredOnus(new=2, onus=2)
    assert store(olt, discovered({1: "A"}), epon, absent_after=1) == StoredOnus(onus=2)
    # They contradict one another: the later one counts, and nobody is lost.
    store(olt, discovered({1: "X"}), discovered({1: "Y"}))
    assert {"A": None, "X": None, "Y": "0/1/7:1"}.items() <= places(olt).items()


def test_olts_do_not_see_one_another() -> None:
    first, second = an_olt("first"), an_olt("second")
    store(first, discovered({1: "A"}))
    assert store(second, discovered({1: "A"})) == StoredOnus(new=1, onus=1)
    assert store(second, discovered({}), absent_after=1).absent == 1
    assert Onu.objects.get(olt=first).presence == "present"


def test_places_that_no_column_can_hold_do_no_harm() -> None:
    olt = an_olt()
    keys = [Key(None, 1, 2**32 - 1, 3), Key(extra="x" * 255), Key(extra="aa:00:00:00:00:01")]
    store(olt, Finding(facts([(key, {"serial": f"S{row}"}) for row, key in enumerate(keys)]), True))
    found = {
        onu.serial: (onu.slot, onu.port, len(onu.extra), len(onu.address or "")) for onu in Onu.objects.all()
    }
    assert found == {"S0": (1, None, 0, 14), "S1": (None, None, 200, 200), "S2": (None, None, 17, 17)}


def test_few_statements_are_made(django_assert_max_num_queries: Any) -> None:
    olt = an_olt()
    store(olt, discovered({onu: f"S{onu}" for onu in range(50)}))
    with transaction.atomic(), django_assert_max_num_queries(1):
        store_findings(olt.pk, [discovered({onu: f"S{onu}" for onu in range(50)})], NOW)
    # Three reads, who leaves and who comes, whose usual power is unknown again, who was missed, who is new
    # and the ids of those, the events.
    with transaction.atomic(), django_assert_max_num_queries(13):
        store_findings(olt.pk, [discovered({onu: f"S{onu + 10}" for onu in range(50)})], NOW)


def test_a_mac_that_was_at_two_places_is_the_onu_of_the_place_where_it_stayed() -> None:
    olt = an_olt()
    mac = "aa:00:00:00:00:01"
    store(olt, Finding(facts([(1, {"mac": mac}), (2, {"mac": mac})]), True))
    ids = dict(Onu.objects.values_list("address", "id"))
    stored = store(olt, Finding(facts([(2, {"mac": mac})]), True))
    assert (stored.new, stored.moved) == (0, 0)
    assert Onu.objects.get(missed=0).pk == ids["0/1/7:2"]


def test_the_same_mac_with_another_serial_is_another_onu() -> None:
    olt = an_olt()
    for serial in ("A", "B"):
        store(olt, Finding(facts([(1, {"serial": serial, "mac": "aa:00:00:00:00:01"})]), True))
    assert places(olt) == {"A": None, "B": "0/1/7:1"}


@pytest.mark.parametrize(
    "texts",
    [
        ["x"],
        ["x", "x", "x"],
        ["", "", ""],
        ["a,b", "a,b"],
        ['","', '","', "n,ul"],
        ["x", "x", "y"],
        ['"', "\\", "ñ"],
    ],
)
def test_columns_are_read_as_they_were_stored(texts: list[str]) -> None:
    """Those in which everybody has the same are read in a way of their own, which no comma may mislead."""
    olt = an_olt()
    store(olt, Finding(facts((onu, {"description": text}) for onu, text in enumerate(texts)), True))
    ids = list(Onu.objects.order_by("id").values_list("id", flat=True))
    nothing, none = [None] * len(texts), [0] * len(texts)
    assert fetch_columns(Onu, olt.pk, ("description", "distance_m", "id", "missed")) == [
        texts,
        nothing,
        ids,
        none,
    ]


def test_nobody_is_read_as_empty_columns() -> None:
    assert fetch_columns(Onu, an_olt().pk, ("id", "serial", "onu_rx_dbm")) == [[], [], []]
