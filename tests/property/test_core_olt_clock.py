"""Whatever the clock of an OLT does, a change is never dated at a time when it cannot have happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from facho.core.olt_clock import DatedChange, OltClock, change_time, infer_clock, past_time, read_clock

START = datetime(2026, 3, 20, tzinfo=UTC)
SLACK = timedelta(seconds=90)
ZONES = st.sampled_from(
    [ZoneInfo(each) for each in ("UTC", "America/Bogota", "Europe/Madrid", "Asia/Kolkata")]
)
# From a clock that was never set, by any zone, to one in the future.
AHEAD = st.one_of(
    st.integers(-2 * 10**9, 10**9),
    st.integers(-60 * 900, 60 * 900),
    st.sampled_from([-18000, 0, 3600, 19800]),
)


@given(
    st.lists(st.tuples(AHEAD, st.integers(10, 7200), st.integers(0, 100), st.booleans()), max_size=12), ZONES
)
def test_a_change_is_dated_between_the_two_collections_or_not_at_all(
    polls: list[tuple[int, int, int, bool]], zone: ZoneInfo
) -> None:
    clock: OltClock | None = None
    before = START
    for ahead_s, gap_s, percent, is_read in polls:
        now = before + timedelta(seconds=gap_s)
        happened = before + timedelta(seconds=gap_s * percent // 100)
        ahead = timedelta(seconds=ahead_s)
        if is_read:
            clock = read_clock(clock, now + ahead, now - timedelta(seconds=5), now)
        else:
            clock = infer_clock(clock, [DatedChange(happened + ahead, before, now)], now)
        found = change_time(clock, zone, happened + ahead, before, now)
        assert found is None or before - SLACK <= found <= now
        before = now


@given(AHEAD, st.integers(0, 400 * 86400), ZONES)
def test_a_date_of_a_clock_that_never_changed_is_right_or_none(
    ahead_s: int, ago_s: int, zone: ZoneInfo
) -> None:
    """An hour off at most, where the operator's zone has daylight saving and the clock does not follow it."""
    now, ahead = START, timedelta(seconds=ahead_s)
    clock = read_clock(None, now + ahead, now - timedelta(seconds=5), now)
    happened = now - timedelta(seconds=ago_s)
    found = past_time(clock, zone, happened + ahead, now)
    assert found is None or abs(found - happened) <= timedelta(hours=1, seconds=10)


@given(st.integers(0, 250_000_000_000), AHEAD, ZONES)
def test_no_date_is_in_the_future_or_ends_in_an_error(shown_s: int, ahead_s: int, zone: ZoneInfo) -> None:
    shown = datetime(1971, 1, 1, tzinfo=UTC) + timedelta(seconds=shown_s)
    clock = read_clock(None, START + timedelta(seconds=ahead_s), START - timedelta(seconds=5), START)
    for found in (past_time(clock, zone, shown, START), change_time(clock, zone, shown, None, START)):
        assert found is None or found <= START
