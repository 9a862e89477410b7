"""What is too old, and from when on a clock is believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facho.core.retention import (
    SETTLES_IN,
    Hold,
    LargeRemoval,
    SteadyPeriod,
    current_hold,
    extend_steady_period,
    is_behind,
    needs_confirmation,
    oldest_kept,
)

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def turns_every_minute(count: int, start: datetime, before: SteadyPeriod | None = None) -> SteadyPeriod:
    for number in range(count):
        before = extend_steady_period(before, start + number * MINUTE, every=MINUTE)
    assert before is not None
    return before


def test_what_is_kept_is_as_old_as_it_may_be() -> None:
    assert oldest_kept(NOW, timedelta(days=30)) == datetime(2025, 5, 11, 10, 0, tzinfo=UTC)
    assert oldest_kept(NOW, timedelta()) == NOW


def test_what_is_kept_for_ever_can_be_written_as_a_very_long_time() -> None:
    assert oldest_kept(NOW, timedelta.max) == datetime(1970, 1, 1, tzinfo=UTC)


def test_the_first_turns_remove_nothing() -> None:
    assert not extend_steady_period(None, NOW, every=MINUTE).settled
    assert not turns_every_minute(60, NOW).settled
    assert turns_every_minute(61, NOW).settled


@pytest.mark.parametrize("jump", [timedelta(days=3650), timedelta(hours=2), timedelta(days=-400)])
def test_a_clock_that_was_set_is_not_believed_at_once(jump: timedelta) -> None:
    settled = turns_every_minute(61, NOW)
    assert not extend_steady_period(settled, settled.last + jump, every=MINUTE).settled
    assert turns_every_minute(61, settled.last + jump, settled).settled


def test_a_restart_is_no_gap() -> None:
    settled = turns_every_minute(61, NOW)
    assert extend_steady_period(settled, settled.last + timedelta(minutes=20), every=MINUTE).settled


def test_two_processes_whose_clocks_differ_a_little_take_turns() -> None:
    settled = turns_every_minute(61, NOW)
    assert extend_steady_period(settled, settled.last - timedelta(seconds=1), every=MINUTE) == settled


def test_rare_turns_are_no_gaps() -> None:
    rare = timedelta(hours=3)
    first = extend_steady_period(None, NOW, every=rare)
    assert extend_steady_period(first, NOW + rare, every=rare).settled
    assert rare > SETTLES_IN


def removal(before: datetime, table: str = "onu_events") -> LargeRemoval:
    return LargeRemoval(table, before, 900, 1000)


def test_most_of_a_table_is_more_than_half_of_more_than_a_few_rows() -> None:
    assert needs_confirmation(101, 0, HOUR, keep=90 * DAY)
    assert needs_confirmation(501, 499, HOUR, keep=90 * DAY)
    assert not needs_confirmation(500, 500, 3650 * DAY, keep=90 * DAY)
    assert not needs_confirmation(100, 0, 30 * DAY, keep=90 * DAY)
    assert not needs_confirmation(0, 0, HOUR, keep=90 * DAY)


def test_most_of_a_few_rows_is_much_when_they_have_been_too_old_for_long() -> None:
    assert needs_confirmation(2, 1, 31 * DAY, keep=90 * DAY)
    assert not needs_confirmation(1, 1, 31 * DAY, keep=90 * DAY)
    assert needs_confirmation(2, 1, 8 * DAY, keep=7 * DAY)
    assert not needs_confirmation(2, 1, 6 * DAY, keep=7 * DAY)


def test_what_became_too_old_during_an_ordinary_stop_is_no_reason_to_count() -> None:
    before = NOW - 30 * DAY
    assert not is_behind(None, before, every=MINUTE)
    assert not is_behind(before - 2 * HOUR, before, every=MINUTE)
    # A weekend, and the hour in which it settles.
    assert not is_behind(before - 3 * DAY, before, every=MINUTE)
    assert is_behind(before - 3 * DAY - MINUTE, before, every=MINUTE)
    # Turns that are further apart have more to remove.
    assert not is_behind(before - 5 * DAY, before, every=3 * DAY)


def test_a_hold_stays_as_it_was_shown_while_time_goes_by() -> None:
    hold = current_hold(None, [removal(NOW)], NOW)
    assert hold == Hold(NOW, (removal(NOW),))
    assert current_hold(hold, [removal(NOW + 5 * DAY)], NOW + 5 * DAY) is hold
    assert current_hold(hold, [], NOW) is None


def test_another_situation_is_a_new_hold_that_nobody_confirmed() -> None:
    shown = Hold(NOW, (removal(NOW),), confirmed_at=NOW, confirmed_by="ana")
    for other in ([removal(NOW - 2 * HOUR)], [removal(NOW), removal(NOW, "history_hours")]):
        hold = current_hold(shown, other, NOW + MINUTE)
        assert hold is not None
        assert (hold.since, hold.confirmed_at) == (NOW + MINUTE, None)


def test_a_confirmation_is_for_what_was_shown_and_not_for_ever() -> None:
    hold = Hold(NOW, (removal(NOW),), confirmed_at=NOW, confirmed_by="ana")
    assert hold.is_confirmed(NOW + DAY)
    assert hold.limit("onu_events", NOW + DAY) == NOW
    assert hold.limit("onu_events", NOW - DAY) == NOW - DAY
    assert hold.limit("others", NOW + DAY) == NOW + DAY
    assert current_hold(hold, [removal(NOW + DAY)], NOW + DAY) is hold
    for later in (NOW + 8 * DAY, NOW - DAY):
        assert not hold.is_confirmed(later)
    again = current_hold(hold, [removal(NOW + 8 * DAY)], NOW + 8 * DAY)
    assert again == Hold(NOW + 8 * DAY, (removal(NOW + 8 * DAY),))
    assert Hold.from_json(hold.as_json()) == hold
    assert Hold.from_json(again.as_json()) == again
