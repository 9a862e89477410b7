"""Dates of OLTs on our clock: never a wrong one, whatever the clock of the OLT does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from facho.core.olt_clock import (
    Bounds,
    DatedChange,
    OltClock,
    change_time,
    earlier_change_time,
    infer_clock,
    is_worth_storing,
    past_time,
    read_clock,
    time_since,
)

NOW = datetime(2026, 11, 18, 2, 18, tzinfo=UTC)
BEFORE = NOW - timedelta(minutes=5)
HAPPENED = NOW - timedelta(minutes=3, seconds=53)
BOGOTA = ZoneInfo("America/Bogota")
MADRID = ZoneInfo("Europe/Madrid")


def shows(at: datetime, ahead: timedelta) -> datetime:
    """What an OLT without a zone shows at a time, when its clock is so far ahead of UTC."""
    return at + ahead


def clock_ahead(ahead: timedelta, at: datetime = BEFORE, known: OltClock | None = None) -> OltClock:
    return read_clock(known, shows(at, ahead), at - timedelta(seconds=2), at)


@pytest.mark.parametrize(
    "ahead",
    [
        timedelta(),
        timedelta(hours=-5),
        timedelta(hours=5, minutes=30),
        timedelta(hours=-5, minutes=7, seconds=-11),
        timedelta(hours=14),
        timedelta(seconds=-37),
    ],
)
def test_a_date_is_corrected_by_what_the_clock_showed(ahead: timedelta) -> None:
    found = change_time(clock_ahead(ahead), UTC, shows(HAPPENED, ahead), BEFORE, NOW)
    assert found is not None
    assert abs(found - HAPPENED) <= timedelta(seconds=3)


@pytest.mark.parametrize("years", [-56, -26, -2, 3, 40])
def test_a_clock_that_is_years_off_dates_what_it_was_seen_to_date(years: int) -> None:
    ahead = timedelta(days=365 * years, seconds=1234)
    shown = shows(HAPPENED, ahead)
    clock = clock_ahead(ahead, at=NOW, known=clock_ahead(ahead))
    assert not clock.is_set
    found = change_time(clock, UTC, shown, BEFORE, NOW)
    assert found is not None
    assert abs(found - HAPPENED) <= timedelta(seconds=3)
    # It began anew with the OLT: what happened before that has the same dates.
    assert past_time(clock, UTC, shown, NOW) is None
    assert change_time(clock, UTC, shown, None, NOW) is None
    assert change_time(clock, UTC, shown - timedelta(days=1), BEFORE, NOW) is None


def test_a_clock_that_is_years_off_dates_nothing_of_the_time_before_it_was_known() -> None:
    ahead = timedelta(days=-365 * 26)
    assert change_time(clock_ahead(ahead, at=NOW), UTC, shows(HAPPENED, ahead), BEFORE, NOW) is None
    restarted = clock_ahead(ahead - timedelta(days=9), at=NOW, known=clock_ahead(ahead))
    for shown in (shows(HAPPENED, ahead), shows(HAPPENED, ahead - timedelta(days=9))):
        assert change_time(restarted, UTC, shown, BEFORE, NOW) is None


def test_nothing_is_dated_by_a_clock_that_nobody_knows() -> None:
    assert change_time(None, UTC, HAPPENED, BEFORE, NOW) is None
    assert past_time(None, UTC, HAPPENED, NOW) is None


@pytest.mark.parametrize("wrong", [timedelta(hours=1), timedelta(minutes=2), -timedelta(minutes=10)])
def test_a_date_outside_of_the_two_collections_is_not_that_of_the_change(wrong: timedelta) -> None:
    at = (NOW if wrong > timedelta() else BEFORE) + wrong
    assert change_time(clock_ahead(timedelta()), UTC, at, BEFORE, NOW) is None


def test_a_date_a_moment_ahead_of_us_is_now() -> None:
    at = NOW + timedelta(seconds=10)
    assert change_time(clock_ahead(timedelta()), UTC, at, BEFORE, NOW) == NOW


def test_a_table_that_the_agent_kept_dates_a_change_shortly_before_the_collection_before() -> None:
    at = BEFORE - timedelta(seconds=40)
    found = change_time(clock_ahead(timedelta()), UTC, at, BEFORE, NOW)
    assert found is not None
    assert found < BEFORE


def test_an_event_of_the_other_time_of_the_year_has_its_own_offset() -> None:
    winter = datetime(2026, 1, 18, 1, 0, tzinfo=UTC)
    summer_now = datetime(2026, 7, 1, tzinfo=UTC)
    clock = clock_ahead(timedelta(hours=2, seconds=20), at=summer_now)
    found = past_time(clock, MADRID, shows(winter, timedelta(hours=1, seconds=20)), summer_now)
    assert found is not None
    assert abs(found - winter) <= timedelta(seconds=3)
    # Nobody says that an OLT at this time follows the daylight saving of Madrid.
    assert past_time(clock, UTC, shows(winter, timedelta(hours=1)), summer_now) is None


def test_in_the_hour_that_comes_twice_the_two_collections_tell_which_it_was() -> None:
    # 2026-10-25 03:00 in Madrid is 02:00 again, at 01:00 UTC.
    first, second = datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    shown = datetime(2026, 10, 25, 2, 30, tzinfo=UTC)
    for happened, ahead in ((first, 2), (second, 1)):
        before, now = happened - timedelta(minutes=2), happened + timedelta(minutes=2)
        clock = clock_ahead(timedelta(hours=ahead), at=before)
        found = change_time(clock, MADRID, shown, before, now)
        assert found is not None
        assert abs(found - happened) <= timedelta(seconds=3)
    later = datetime(2026, 11, 1, tzinfo=UTC)
    assert past_time(clock_ahead(timedelta(hours=1), at=later), MADRID, shown, later) is None


def test_a_date_with_its_own_zone_is_corrected_by_the_error_of_the_clock() -> None:
    zone = timezone(timedelta(hours=-5))
    error = timedelta(seconds=90)
    clock = read_clock(None, (BEFORE + error).astimezone(zone), BEFORE - timedelta(seconds=2), BEFORE)
    found = change_time(clock, UTC, (HAPPENED + error).astimezone(zone), BEFORE, NOW)
    assert found is not None
    assert abs(found - HAPPENED) <= timedelta(seconds=3)


def test_a_clock_with_a_zone_whose_dates_have_none_is_read_in_the_zone_of_the_operator() -> None:
    clock = read_clock(None, BEFORE.astimezone(BOGOTA), BEFORE - timedelta(seconds=2), BEFORE)
    shown = shows(HAPPENED, timedelta(hours=-5))
    found = change_time(clock, BOGOTA, shown, BEFORE, NOW)
    assert found is not None
    assert abs(found - HAPPENED) <= timedelta(seconds=3)
    assert change_time(clock, UTC, shown, BEFORE, NOW) is None


def test_a_jump_of_the_clock_is_noticed_and_earlier_dates_are_not_read_by_it() -> None:
    clock = clock_ahead(timedelta(), at=BEFORE - timedelta(hours=1))
    yesterday = NOW - timedelta(days=1)
    assert past_time(clock, UTC, yesterday, NOW) is not None
    jumped = clock_ahead(timedelta(hours=3), known=clock)
    assert jumped.has_jumped
    assert past_time(jumped, UTC, yesterday, NOW) is None
    # A change after the jump is dated.
    found = change_time(jumped, UTC, shows(HAPPENED, timedelta(hours=3)), BEFORE, NOW)
    assert found is not None
    assert abs(found - HAPPENED) <= timedelta(seconds=3)


def test_a_change_during_which_the_clock_was_set_is_not_dated() -> None:
    """Whether its date is of the time before or after is not known."""
    clock = clock_ahead(timedelta(), at=BEFORE)
    set_ahead = clock_ahead(timedelta(minutes=3), at=NOW, known=clock)
    assert change_time(set_ahead, UTC, HAPPENED, BEFORE, NOW) is None
    assert change_time(set_ahead, UTC, shows(HAPPENED, timedelta(minutes=3)), BEFORE, NOW) is None


@pytest.mark.parametrize("stands_since", [-40, 0, 7])
def test_a_clock_that_stands_dates_nothing(stands_since: int) -> None:
    stands_at = BEFORE + timedelta(minutes=stands_since)
    clock: OltClock | None = None
    before = BEFORE - timedelta(minutes=5)
    for minute in range(0, 60, 5):
        now = BEFORE + timedelta(minutes=minute)
        clock = read_clock(clock, min(now, stands_at), now - timedelta(seconds=2), now)
        if minute > stands_since and minute:
            assert change_time(clock, UTC, stands_at, before, now) is None
            assert past_time(clock, UTC, stands_at, now) is None
        before = now


def test_dates_with_a_zone_are_not_shifted_by_a_clock_without_one() -> None:
    """The clock shows the time of that zone, or UTC; any other one proves nothing."""
    zone = timezone(timedelta(hours=-5))
    error = timedelta(seconds=40)
    shown = (HAPPENED + error).astimezone(zone)
    for ahead in (timedelta(hours=-5), timedelta()):
        clock = clock_ahead(ahead + error)
        for found in (change_time(clock, UTC, shown, BEFORE, NOW), past_time(clock, UTC, shown, NOW)):
            assert found is not None
            assert abs(found - HAPPENED) <= timedelta(seconds=3)
    clock = clock_ahead(timedelta(hours=3))
    assert change_time(clock, UTC, shown, BEFORE, NOW) is None
    assert past_time(clock, UTC, shown, NOW) is None


def test_a_date_that_was_never_set_is_that_of_no_change() -> None:
    assert (
        change_time(clock_ahead(timedelta()), UTC, datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), None, NOW)
        is None
    )


def test_drift_is_followed_and_is_no_jump() -> None:
    clock = clock_ahead(timedelta(), at=BEFORE)
    for minute in range(1, 60):
        at = BEFORE + timedelta(minutes=minute)
        clock = clock_ahead(timedelta(seconds=minute), at=at, known=clock)
    assert not clock.has_jumped
    assert 55 <= clock.bounds.middle_s <= 61


def test_readings_narrow_the_bounds_and_hardly_ever_need_to_be_stored() -> None:
    first = read_clock(None, BEFORE, BEFORE - timedelta(seconds=20), BEFORE)
    again = clock_ahead(timedelta(), at=BEFORE + timedelta(minutes=5), known=first)
    assert again.bounds.width_s < first.bounds.width_s
    assert is_worth_storing(None, first)
    assert is_worth_storing(first, again)
    more = clock_ahead(timedelta(), at=BEFORE + timedelta(minutes=10), known=again)
    assert not is_worth_storing(again, more)
    assert is_worth_storing(again, clock_ahead(timedelta(), at=BEFORE + timedelta(hours=2), known=again))


def test_without_a_clock_that_can_be_read_changes_tell_how_it_is_set() -> None:
    shown = shows(HAPPENED, timedelta(hours=-5))
    clock = infer_clock(None, [DatedChange(shown, BEFORE, NOW)], NOW)
    for zone in (UTC, BOGOTA):
        assert change_time(clock, zone, shown, BEFORE, NOW) == HAPPENED
    # It follows the zone of the operator: older dates are right too.
    old = NOW - timedelta(days=100)
    assert past_time(clock, BOGOTA, shows(old, timedelta(hours=-5)), NOW) == old
    assert past_time(clock, UTC, shows(old, timedelta(hours=-5)), NOW) is None


def test_a_clock_that_is_wrong_dates_changes_only_once_it_is_known_well() -> None:
    ahead = timedelta(hours=-5, minutes=-7)
    shown = shows(HAPPENED, ahead)
    clock = infer_clock(None, [DatedChange(shown, BEFORE, NOW)], NOW)
    assert change_time(clock, UTC, shown, BEFORE, NOW) is None
    for seconds in (290, 8):
        at = NOW - timedelta(seconds=seconds)
        clock = infer_clock(clock, [DatedChange(shows(at, ahead), BEFORE, NOW)], NOW)
    found = change_time(clock, UTC, shown, BEFORE, NOW)
    assert found is not None
    assert abs(found - HAPPENED) <= timedelta(seconds=30)


def test_one_date_that_contradicts_the_others_moves_no_clock() -> None:
    known = infer_clock(None, [DatedChange(HAPPENED, BEFORE, NOW)], NOW)
    assert known is not None
    odd = DatedChange(HAPPENED - timedelta(hours=4), BEFORE, NOW)
    assert infer_clock(known, [odd], NOW) == known
    again = infer_clock(
        known, [odd, DatedChange(HAPPENED, BEFORE, NOW), DatedChange(HAPPENED, BEFORE, NOW)], NOW
    )
    assert again is not None
    assert not again.has_jumped


def test_a_reading_is_believed_rather_than_changes() -> None:
    clock = clock_ahead(timedelta())
    late = [DatedChange(HAPPENED - timedelta(hours=1), BEFORE, NOW)] * 3
    assert infer_clock(clock, late, NOW) == clock


def test_dates_years_off_are_no_evidence() -> None:
    assert infer_clock(None, [DatedChange(datetime(1970, 1, 3, tzinfo=UTC), BEFORE, NOW)], NOW) is None


def test_a_wide_gap_between_collections_is_read_in_the_zone_of_the_operator() -> None:
    clock = OltClock(Bounds(-6 * 3600.0, -3 * 3600.0), BEFORE, NOW)
    before = NOW - timedelta(hours=3)
    shown = shows(HAPPENED, timedelta(hours=-5))
    assert change_time(clock, BOGOTA, shown, before, NOW) == HAPPENED
    # In any other zone it may be one hour or the other.
    assert change_time(clock, UTC, shown, before, NOW) is None


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (HAPPENED, HAPPENED),
        (NOW + timedelta(seconds=30), NOW),
        (NOW + timedelta(seconds=31), None),
        (BEFORE - timedelta(seconds=90), BEFORE - timedelta(seconds=90)),
        (BEFORE - timedelta(seconds=91), None),
    ],
)
def test_a_date_that_comes_later_is_of_a_change_between_the_one_before_and_when_it_was_seen(
    at: datetime, expected: datetime | None
) -> None:
    assert earlier_change_time(at, BEFORE, NOW) == expected


def test_how_long_ago_needs_no_clock() -> None:
    assert time_since(233, BEFORE, NOW) == HAPPENED
    assert time_since(1e6, BEFORE, NOW) is None
    assert time_since(1e18, None, NOW) is None
    assert time_since(-5, BEFORE, NOW) is None
