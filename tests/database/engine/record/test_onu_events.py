"""What happens to ONUs is told once, when it happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.discovery.onu_search import filter_onus
from facho.apps.discovery.selectors import events_like, events_of
from facho.apps.hosts.models import Olt
from facho.vendors import Key, State
from tests.findings import NOW, an_olt, discovered, facts, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def olt() -> Olt:
    return an_olt()


def told() -> list[tuple[str, ...]]:
    """Everything since it was last asked for: kind and serial, and what else there is to say."""
    events = list(OnuEvent.objects.order_by("id"))
    OnuEvent.objects.all().delete()
    return [
        (event.kind, event.serial, event.place, *filter(None, (event.before, event.cause)))
        for event in events
    ]


def said(state: str | None, cause: str | None = None, *, onu: int = 1) -> Finding:
    """What a GET of the state brings."""
    row: dict[str, Any] = {"state": state and State(state, "its word")}
    if cause is not None:
        row["down_cause"] = State(cause, "its word") if cause else None
    return Finding(facts([(onu, row)]))


def test_who_is_found_first_is_new(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B"}))
    event = OnuEvent.objects.get(serial="A")
    assert (event.olt, event.onu, event.kind, event.at) == (olt, Onu.objects.get(serial="A"), "new", NOW)
    assert told() == [("new", "A", "0/1/7:1"), ("new", "B", "0/1/7:2")]
    store(olt, discovered({1: "A", 2: "B"}))
    assert told() == []


def test_one_without_a_serial_is_told_by_its_mac(olt: Olt) -> None:
    store(olt, Finding(facts([(1, {"mac": "aa:00:00:00:00:01"})]), True))
    assert told() == [("new", "aa:00:00:00:00:01", "0/1/7:1")]


def test_two_that_swap_places_are_two_moves(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B"}))
    told()
    store(olt, discovered({1: "B", 2: "A"}))
    assert told() == [("moved", "A", "0/1/7:2", "0/1/7:1"), ("moved", "B", "0/1/7:1", "0/1/7:2")]


def test_who_returns_elsewhere_is_returned_and_moved_and_the_same_row(olt: Olt) -> None:
    store(olt, discovered({1: "A"}))
    onu = Onu.objects.get()
    for hours in range(3):
        store(olt, discovered({}), hours=hours)
    assert told() == [("new", "A", "0/1/7:1"), ("absent", "A", "0/1/7:1")]
    store(olt, Finding(facts([(Key(0, 2, 3, 5), {"serial": "A"})]), True))
    assert told() == [("returned", "A", "0/2/3:5"), ("moved", "A", "0/2/3:5", "0/1/7:1")]
    assert Onu.objects.get().pk == onu.pk


def test_who_lost_its_place_and_is_found_elsewhere_moved_from_there(olt: Olt) -> None:
    store(olt, discovered({1: "A"}))
    store(olt, discovered({1: "B"}))
    told()
    store(olt, discovered({1: "B", 2: "A"}))
    assert told() == [("moved", "A", "0/1/7:2", "0/1/7:1")]


def test_a_collection_that_broke_off_tells_of_states_and_of_nothing_else(olt: Olt) -> None:
    store(olt, Finding(facts([(1, {"serial": "A", "state": State("online", "1")})]), True))
    told()
    rows = [
        (1, {"serial": "A", "state": State("los", "2")}),
        (5, {"serial": "E", "state": State("los", "2")}),
    ]
    store(olt, Finding(facts(rows)), absent_after=1)
    assert told() == [("offline", "A", "0/1/7:1", "los")]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["online", "los", "online"], ["offline los", "online"]),
        (["online", "starting", "online"], ["online"]),
        (["online", "starting", "los"], ["offline los"]),
        (["los", "starting", "online"], ["online"]),
        (["los", "power_off", "los"], []),
        # What says nothing does not make anything forgotten.
        (["online", "unknown", "power_off"], ["offline power_off"]),
        (["online", None, "unknown", None, "los"], ["offline los"]),
        (["los", None, "los"], []),
        (["online", None, "online"], []),
        (["online", "offline", None, "online"], ["offline", "online"]),
        # There is no before.
        ([None, "unknown", "los"], []),
        (["online"], []),
    ],
)
def test_states_in_a_row(olt: Olt, states: list[str | None], expected: list[str]) -> None:
    store(olt, discovered({1: "A", 2: "B"}))
    told()
    for state in states:
        store(olt, said(state))
    assert [" ".join((kind, *rest)) for kind, _, _, *rest in told()] == expected


@pytest.mark.parametrize(
    ("cause", "expected"),
    [("power_off", ["power_off"]), ("unknown", ["los"]), ("", ["los"]), (None, ["los"])],
)
def test_the_cause_is_that_of_this_time(olt: Olt, cause: str | None, expected: list[str]) -> None:
    store(olt, discovered({1: "A"}))
    store(olt, said("online", "reboot"))
    told()
    store(olt, said("los", cause))
    assert told() == [("offline", "A", "0/1/7:1", *expected)]


def test_the_cause_may_come_in_another_part(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "B"}))
    store(olt, said("online"))
    told()
    store(olt, said("offline"), Finding(facts([(2, {}), (1, {"down_cause": State("power_off", "gasp")})])))
    assert told() == [("offline", "A", "0/1/7:1", "power_off")]


def test_the_first_state_of_a_new_onu_is_no_event(olt: Olt) -> None:
    store(olt, Finding(facts([(1, {"serial": "A", "state": State("los", "2")})]), True))
    assert told() == [("new", "A", "0/1/7:1")]


def test_two_that_swapped_places_have_each_its_own_state(olt: Olt) -> None:
    on, gone = {"state": State("online", "1")}, {"state": State("los", "2")}
    store(olt, Finding(facts([(1, {"serial": "A", **on}), (2, {"serial": "B", **gone})]), True))
    told()
    store(olt, discovered({1: "B", 2: "A"}), Finding(facts([(1, gone), (2, gone)])))
    assert told()[2:] == [("offline", "A", "0/1/7:2", "los")]


def test_a_serial_at_two_places_is_told_when_it_begins(olt: Olt) -> None:
    assert store(olt, discovered({1: "A", 2: "B"})).duplicates == 0
    told()
    assert store(olt, discovered({1: "A", 2: "B", 3: "A"})).duplicates == 2
    assert told() == [
        ("new", "A", "0/1/7:3"), ("duplicate", "A", "0/1/7:1"), ("duplicate", "A", "0/1/7:3"),
    ]  # fmt: skip
    assert store(olt, discovered({1: "A", 2: "B", 3: "A"})).duplicates == 2
    # One of them is missed once.
    assert store(olt, discovered({2: "B", 3: "A"})).duplicates == 0
    assert store(olt, discovered({1: "A", 2: "B", 3: "A"})).duplicates == 2
    assert told() == []
    # A third one.
    assert store(olt, discovered({1: "A", 2: "B", 3: "A", 4: "A"})).duplicates == 3
    assert told() == [("new", "A", "0/1/7:4"), ("duplicate", "A", "0/1/7:4")]


def test_a_serial_that_was_at_two_places_long_ago_is_told_again(olt: Olt) -> None:
    store(olt, discovered({1: "A", 2: "A"}))
    store(olt, discovered({1: "A"}), absent_after=1)
    told()
    store(olt, discovered({1: "A", 2: "A"}))
    assert told() == [
        ("returned", "A", "0/1/7:2"), ("duplicate", "A", "0/1/7:1"), ("duplicate", "A", "0/1/7:2"),
    ]  # fmt: skip


@pytest.mark.parametrize("serial", [None, "", "0" * 16])
def test_what_is_no_serial_is_no_duplicate(olt: Olt, serial: str | None) -> None:
    assert store(olt, discovered({1: serial, 2: serial})).duplicates == 0
    assert {kind for kind, *_ in told()} == {"new"}
    assert not filter_onus(duplicates=True)


def test_duplicates_can_be_looked_for(olt: Olt) -> None:
    other = an_olt("other")
    store(other, discovered({1: "A"}))
    store(olt, discovered({1: "A", 2: "B", 3: "A"}))
    assert [onu.address for onu in filter_onus(duplicates=True)] == ["0/1/7:1", "0/1/7:3"]
    assert not filter_onus(other, duplicates=True)
    # As the last discovery found it.
    store(olt, discovered({2: "B", 3: "A"}))
    assert not filter_onus(duplicates=True)


def test_events_are_written_in_one_statement_and_only_if_there_are_any(olt: Olt) -> None:
    store(olt, discovered({onu: f"S{onu}" for onu in range(20)}))
    online = Finding(facts((onu, {"state": State("online", "1")}) for onu in range(20)))
    store(olt, online)
    with CaptureQueriesContext(connection) as none:
        store(olt, online)
    assert len([query for query in none if "SAVEPOINT" not in query["sql"]]) == 1
    with CaptureQueriesContext(connection) as some:
        store(olt, Finding(facts((onu, {"state": State("los", "1")}) for onu in range(20))))
    assert len([query for query in some if "onu_events" in query["sql"]]) == 1
    assert OnuEvent.objects.filter(kind="offline").count() == 20


def test_events_are_read_by_onu_olt_kind_and_time(olt: Olt) -> None:
    other = an_olt("other")
    store(other, discovered({1: "Z"}))
    store(olt, discovered({1: "A", 2: "B"}))
    store(olt, discovered({1: "B", 2: "A"}), hours=1)
    onu = Onu.objects.get(serial="A")
    assert [event.kind for event in events_of(onu)] == ["moved", "new"]
    assert [event.serial for event in events_like(other)] == ["Z"]
    assert {event.serial for event in events_like(kind="new")} == {"A", "B", "Z"}
    assert {event.kind for event in events_like(olt, since=NOW + timedelta(minutes=1))} == {"moved"}
    assert not events_like(other, kind="moved")
