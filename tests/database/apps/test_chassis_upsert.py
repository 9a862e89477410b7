"""However an OLT is told about, its rows are what was told last of each column."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facho.apps.chassis.models import PonPort
from facho.apps.chassis.olt_rows import OltRows, upsert_rows
from facho.apps.hosts.models import Olt
from tests.findings import NOW, an_olt

pytestmark = pytest.mark.django_db

EMPTY = {"name": "", "tx_dbm": None, "onus_told": None}
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["", "a", "b"]),
        "tx_dbm": st.none() | st.floats(-10, 10),
        "onus_told": st.none() | st.integers(0, 128),
    },
)
TELLINGS = st.lists(st.dictionaries(st.sampled_from("pqrs"), VALUES, max_size=4), max_size=5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tellings=TELLINGS)
def test_rows_are_what_was_told_last_and_dated_by_their_last_change(
    tellings: list[dict[str, dict[str, Any]]],
) -> None:
    Olt.objects.all().delete()
    olt = an_olt()
    expected: dict[str, dict[str, Any]] = {}
    for minute, told in enumerate(tellings):
        now = NOW + timedelta(minutes=minute)
        stored = upsert_rows(OltRows(PonPort, olt.pk, "place", "updated_at"), told, now)
        assert list(stored.ids) == list(told)
        assert stored.new == [place for place in told if place not in expected]
        for place, values in told.items():
            before = expected.get(place, {"updated_at": None, **EMPTY})
            changed = place not in expected or before != {**before, **values}
            expected[place] = {**before, **values, "updated_at": now if changed else before["updated_at"]}
    rows = PonPort.objects.filter(olt=olt).values("place", "updated_at", *EMPTY)
    assert {row.pop("place"): row for row in map(dict, rows)} == expected
