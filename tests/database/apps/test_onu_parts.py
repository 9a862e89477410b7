"""Where an ONU is, told by columns where the index does not tell it."""

from __future__ import annotations

from typing import Any

import pytest

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.discovery.onu_search import filter_onus
from facho.apps.discovery.selectors import known_onus, onu_rows
from facho.apps.hosts.models import Olt
from facho.vendors import Key, State
from facho.vendors.index import join_arcs
from tests.findings import an_olt, facts, store

pytestmark = pytest.mark.django_db
KEEP = frozenset({("port", "")})
NAMED = Key(extra="UBNT20731888")


@pytest.fixture
def olt() -> Olt:
    return an_olt()


def table(port: int | None, *, key: Key = NAMED, complete: bool = True, **more: Any) -> Finding:
    """A table whose index is a name, and whose column has the PON port."""
    return Finding(facts([(key, {"serial": "A", "port": port, **more})]), complete, KEEP)


def moves() -> list[tuple[str, str]]:
    return list(OnuEvent.objects.filter(kind="moved").order_by("id").values_list("before", "place"))


def test_a_port_that_a_column_tells_is_stored_and_is_no_part_of_the_address(olt: Olt) -> None:
    store(olt, table(3))
    onu = Onu.objects.get()
    assert (onu.address, onu.port, onu.extra, onu.slot) == ("UBNT20731888", 3, "UBNT20731888", None)
    (row,) = onu_rows(filter_onus())
    assert (row.interface, row.port) == ("3:UBNT20731888", 3)
    # It is asked about by its index.
    assert [row.key for row in known_onus(olt.pk)] == [NAMED]
    assert OnuEvent.objects.get().place == "3:UBNT20731888"


def test_the_last_known_port_is_kept(olt: Olt) -> None:
    store(olt, table(3))
    assert store(olt, table(None)).changed == 0
    assert Onu.objects.get().port == 3
    # Also where the profile does not say so: its chart is read from where it was.
    store(olt, Finding(table(None).facts, True))
    assert Onu.objects.get().port == 3
    assert moves() == []


def test_another_port_is_a_move(olt: Olt) -> None:
    store(olt, table(None))
    assert store(olt, table(3)).moved == 0
    store(olt, table(None))
    assert store(olt, table(5)).moved == 1
    assert store(olt, table(5)).moved == 0
    assert moves() == [("3:UBNT20731888", "5:UBNT20731888")]
    assert [row.key for row in known_onus(olt.pk)] == [NAMED]


def test_what_broke_off_moves_nobody_but_may_tell_a_port_that_was_not_known(olt: Olt) -> None:
    store(olt, table(None))
    store(olt, table(3, complete=False))
    assert Onu.objects.get().port == 3
    assert store(olt, table(5, complete=False)).moved == 0
    assert Onu.objects.get().port == 3
    assert store(olt, table(5)).moved == 1


def test_a_number_of_the_index_counts_more_than_a_column(olt: Olt) -> None:
    store(olt, table(9, key=Key(0, 1, 7, 3), onu_id=4, slot=None))
    onu = Onu.objects.get()
    assert (onu.address, onu.slot, onu.port, onu.onu_id, onu.told_parts) == ("0/1/7:3", 1, 7, 3, "")


def test_all_numbers_may_come_from_columns(olt: Olt) -> None:
    key = Key(extra=2000001)
    finding = table(4, key=key, frame=0, slot=1, onu_id=2**40)
    finding.facts.indexes[0] = join_arcs((2000001,))
    store(olt, finding)
    (row,) = onu_rows(filter_onus())
    assert (row.interface, row.slot, row.port, row.onu) == ("0/1/4:2000001", 1, 4, None)
    # A number, as the index has it.
    assert [row.key for row in known_onus(olt.pk)] == [key]


def test_a_name_of_digits_is_still_a_name(olt: Olt) -> None:
    names = ["5", "53", "2000001", "48", "57"]
    found = facts((Key(extra=name), {"serial": f"S{name}"}) for name in names)
    found.indexes = [join_arcs((len(name), *name.encode())) for name in names]
    store(olt, Finding(found, True))
    assert [row.key.extra for row in known_onus(olt.pk)] == names


def test_who_comes_to_another_index_keeps_the_port_that_was_told(olt: Olt) -> None:
    store(olt, table(3))
    other = Finding(facts([(Key(extra="OTHER"), {"serial": "A"})]), True)
    assert store(olt, other).moved == 1
    onu = Onu.objects.get()
    assert (onu.address, onu.extra, onu.port, onu.told_parts) == ("OTHER", "OTHER", 3, "port")
    assert store(olt, table(5, key=Key(extra="OTHER"))).moved == 1
    # From here on its index says where it is.
    store(olt, Finding(facts([(1, {"serial": "A"})]), True))
    onu.refresh_from_db()
    assert (onu.address, onu.port, onu.onu_id, onu.told_parts) == ("0/1/7:1", 7, 1, "")


def test_an_event_says_the_port_that_a_column_told_before(olt: Olt) -> None:
    store(olt, table(3, state=State("online", "1")))
    store(olt, Finding(facts([(NAMED, {"state": State("offline", "2")})])))
    assert OnuEvent.objects.get(kind="offline").place == "3:UBNT20731888"


@pytest.mark.parametrize(
    ("key", "port", "expected"),
    [
        (Key(None, 1, 2, 3), None, "1/2:3"),
        (Key(extra="aa:00:00:00:00:01"), None, "aa:00:00:00:00:01"),
        (Key(), None, "4194304000.0"),
        (Key(None, None, 0), None, "0"),
    ],
)
def test_an_interface_is_named_by_whatever_is_known(
    olt: Olt, key: Key, port: int | None, expected: str
) -> None:
    store(olt, table(port, key=key))
    (row,) = onu_rows(filter_onus())
    assert row.interface == expected
