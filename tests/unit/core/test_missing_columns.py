"""What an OLT does not have is not asked for, until that may have changed."""

from datetime import UTC, datetime, timedelta

from facho.core.missing_columns import columns_to_leave_out, update_missing_columns

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NOTED = {"1.2.3": "2026-03-01T11:00:00+00:00"}


def test_what_was_noted_lately_is_left_out() -> None:
    assert columns_to_leave_out(NOTED, NOW) == {"1.2.3"}


def test_after_a_day_it_is_asked_for_again() -> None:
    assert columns_to_leave_out(NOTED, NOW + DAY) == set()
    assert columns_to_leave_out(NOTED, NOW + DAY, again_after=2 * DAY) == {"1.2.3"}


def test_a_note_from_the_future_counts_no_longer_than_any_other() -> None:
    assert columns_to_leave_out(NOTED, NOW - 2 * DAY) == set()


def test_what_is_missing_is_noted_once_more_and_what_came_is_forgotten() -> None:
    lacks = update_missing_columns(NOTED, {"1.2.4"}, {"1.2.3"}, NOW, renewed=False)
    assert lacks == {"1.2.4": "2026-03-01T12:00:00+00:00"}


def test_who_was_not_asked_keeps_its_note() -> None:
    assert update_missing_columns(NOTED, (), (), NOW, renewed=False) == NOTED


def test_an_olt_that_restarted_may_have_everything() -> None:
    assert update_missing_columns(NOTED, (), (), NOW, renewed=True) == {}
