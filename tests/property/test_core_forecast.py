"""Whatever runs took, a prediction is a time that can be planned with."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from facho.core.forecast import Learned, learn, predict

BEGINS = datetime(2026, 3, 1, tzinfo=UTC)
_ANY = st.floats(allow_nan=True, allow_infinity=True)
_USUAL = st.floats(min_value=0.0005, max_value=4000)
RUNS = st.lists(
    st.tuples(st.integers(1, 100_000), st.one_of(_USUAL, _USUAL, _ANY), st.integers(0, 100_000)), max_size=60
)
ZONES = st.sampled_from(
    [UTC, ZoneInfo("America/Bogota"), ZoneInfo("Asia/Kolkata"), ZoneInfo("Europe/Madrid")]
)
AT = st.integers(0, 365 * 24 * 60).map(lambda minutes: BEGINS + timedelta(minutes=minutes))


def taught(runs: list[tuple[int, float, int]], zone: tzinfo) -> Learned:
    learned, now = Learned(), BEGINS
    for later, seconds, onus in runs:
        now += timedelta(seconds=later)
        learned = learn(learned, now, seconds, onus, zone)
    return learned


@given(RUNS, ZONES, AT, st.integers(0, 10**6))
def test_it_is_a_time_from_a_millisecond_to_a_day(
    runs: list[tuple[int, float, int]], zone: tzinfo, at: datetime, onus: int
) -> None:
    found = predict(taught(runs, zone), at, onus, zone)
    assert 0.00099 < found.p50_s <= found.p95_s < 86_401


@given(RUNS, ZONES, AT, st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_onus_never_take_less(
    runs: list[tuple[int, float, int]], zone: tzinfo, at: datetime, onus: int, more: int
) -> None:
    learned = taught(runs, zone)
    few, many = predict(learned, at, onus, zone), predict(learned, at, onus + more, zone)
    assert few.p50_s <= many.p50_s
    assert few.p95_s <= many.p95_s


@given(RUNS, ZONES)
def test_what_is_kept_is_of_one_size_and_has_plain_numbers(
    runs: list[tuple[int, float, int]], zone: tzinfo
) -> None:
    learned = taught(runs, zone)
    written = json.dumps(learned.as_json(), allow_nan=False)
    assert len(written) < 1500
    assert (len(learned.hours), len(learned.recent) <= 12) == (24, True)
    assert Learned.from_json(json.loads(written)).as_json() == learned.as_json()
    assert all(map(math.isfinite, (learned.fixed_s, learned.per_onu_s)))
    assert learned.error_pct is None or learned.error_pct > 0


@given(
    st.floats(min_value=0.01, max_value=1000), st.floats(min_value=0.001, max_value=1e5), st.integers(3, 12)
)
def test_one_run_among_many_moves_it_by_little(usual: float, other: float, place: int) -> None:
    runs = [(300, usual, 500)] * 12
    runs[-place] = (300, other, 500)
    found = predict(taught(runs, UTC), BEGINS, 500, UTC)
    assert usual / 1.2 < found.p50_s < usual * 1.2
