"""Whatever discoveries find, one after the other: nobody is lost, and no place is held twice."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu, OnuEvent
from tests.findings import an_olt, discovered, facts, store

# Few of each, so that places are swapped, serials are doubled and numbers are missing.
SERIALS = st.sampled_from([None, "", "0" * 16, "A", "B", "C", "D", "E"])
MACS = st.sampled_from([None, "aa:00:00:00:00:01", "aa:00:00:00:00:02"])
FOUND = st.dictionaries(st.integers(0, 5), st.tuples(SERIALS, MACS), max_size=6)
STEPS = st.lists(st.tuples(FOUND, st.booleans()), min_size=1, max_size=8)


@pytest.mark.django_db
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_nobody_is_lost_and_no_place_is_held_twice(
    steps: list[tuple[dict[int, tuple[str | None, str | None]], bool]],
) -> None:
    Onu.objects.all().delete()
    olt = an_olt(f"olt {uuid4()}")
    ids: set[int] = set()
    for found, complete in steps:
        rows = [(onu, {"serial": serial, "mac": mac}) for onu, (serial, mac) in found.items()]
        stored = store(olt, Finding(facts(rows), complete), absent_after=2)
        now = {onu.pk: onu for onu in Onu.objects.filter(olt=olt)}
        assert ids <= now.keys()
        assert len(now) - len(ids) == stored.new
        assert stored.onus == sum(onu.presence == "present" for onu in now.values())
        assert complete or not stored.new + stored.moved + stored.absent + stored.returned
        # What was counted was told, and nothing else.
        told = Counter(OnuEvent.objects.filter(olt=olt).values_list("kind", flat=True))
        begun = told.pop("duplicate", 0)
        counted = {kind: getattr(stored, kind) for kind in ("new", "moved", "absent", "returned")}
        assert told == {kind: count for kind, count in counted.items() if count}
        assert begun <= stored.duplicates
        assert stored.duplicates >= _sharing(found) if complete else not stored.duplicates
        OnuEvent.objects.all().delete()
        ids = set(now)
        if complete:
            _is_as_found(found, list(now.values()))
            # The same again is nothing new.
            again = store(olt, Finding(facts(rows), True), absent_after=9)
            assert (again.new, again.moved, again.changed, again.returned) == (0, 0, 0, 0)
            assert not OnuEvent.objects.exists()


def _sharing(found: dict[int, tuple[str | None, str | None]]) -> int:
    """How many were told with a serial that another one has too; one that was not told now is kept."""
    serials = Counter(serial for serial, _ in found.values() if (serial or "").strip("0"))
    return sum(count for count in serials.values() if count > 1)


def _is_as_found(found: dict[int, tuple[str | None, str | None]], onus: list[Onu]) -> None:
    there = {onu.onu_id: onu for onu in onus if onu.address is not None and onu.missed == 0}
    assert there.keys() == found.keys()
    for onu_id, (serial, mac) in found.items():
        onu = there[onu_id]
        assert onu.presence == "present"
        assert onu.address == f"0/1/7:{onu_id}"
        # An identity that was not told is kept; one that was told is there.
        assert not (serial or "").strip("0") or onu.serial == serial
        assert not mac or onu.mac == mac


@pytest.mark.django_db
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.permutations("ABCDE"), min_size=2, max_size=6))
def test_unique_serials_are_followed_wherever_they_go(rounds: list[list[str]]) -> None:
    Onu.objects.all().delete()
    olt = an_olt(f"olt {uuid4()}")
    store(olt, discovered(dict(enumerate(rounds[0]))))
    before = dict(Onu.objects.values_list("serial", "id"))
    for last, serials in pairwise(rounds):
        stored = store(olt, discovered(dict(enumerate(serials))))
        assert stored.moved == sum(was != now for was, now in zip(last, serials, strict=True))
        assert dict(Onu.objects.values_list("serial", "id")) == before
        assert dict(Onu.objects.values_list("serial", "onu_id")) == {s: onu for onu, s in enumerate(serials)}
