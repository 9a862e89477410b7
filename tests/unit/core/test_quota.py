"""What an hour owes, with the clock times of an operator's day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from facho.core.quota import (
    Hour,
    Status,
    hour_of,
    hours_between,
    is_met,
    must_close,
    slots_by_hour,
    slots_from,
    slots_left,
    status_of,
)
from facho.core.schedule import first_run_of_enabled

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
MADRID: Final = ZoneInfo("Europe/Madrid")


def at(clock: str, *, day: str = "2025-06-10") -> datetime:
    return datetime.fromisoformat(f"{day} {clock}").replace(tzinfo=UTC)


def hour(start: str, end: str, *, day: str = "2025-06-10") -> Hour:
    return Hour(at(start, day=day), at(end, day=day))


def test_a_partial_hour_owes_only_the_slots_that_fit_and_the_next_one_nothing_more() -> None:
    first, interval = first_run_of_enabled(at("10:50"), 5 * MINUTE), 5 * MINUTE
    assert slots_from(first, interval, hour("10:00", "11:00")) == 2
    assert slots_from(first, interval, hour("11:00", "12:00")) == 12


def test_an_hour_that_was_over_before_the_first_slot_owes_nothing() -> None:
    assert slots_from(at("11:01"), 5 * MINUTE, hour("10:00", "11:00")) == 0


@pytest.mark.parametrize(
    ("first", "interval", "slots"),
    [
        ("10:00", 5 * MINUTE, 12),
        ("10:00:01", 5 * MINUTE, 12),
        ("10:05", 5 * MINUTE, 12),
        ("10:05:01", 5 * MINUTE, 11),
        ("11:00", 5 * MINUTE, 1),
        ("11:00:01", 5 * MINUTE, 0),
        ("10:30", HOUR, 1),
        ("10:01", 7 * MINUTE, 9),
        ("09:30", 36 * HOUR, 0),
    ],
)
def test_the_slots_that_an_hour_still_owes(first: str, interval: timedelta, slots: int) -> None:
    """At ten sharp is the hour before: it owes one slot less than it would seem."""
    assert slots_from(at(first), interval, hour("10:00", "11:00")) == slots


@pytest.mark.parametrize(
    ("slot", "of"),
    [
        ("10:00:00.000001", ("10:00", "11:00")),
        ("10:59:59.999999", ("10:00", "11:00")),
        ("11:00", ("10:00", "11:00")),
        ("11:00:00.000001", ("11:00", "12:00")),
    ],
)
def test_a_slot_on_the_stroke_of_the_hour_belongs_to_the_hour_before(slot: str, of: tuple[str, str]) -> None:
    assert hour_of(at(slot), UTC) == hour(*of)
    assert at(slot) in hour(*of)


@pytest.mark.parametrize(
    ("zone", "of"),
    [
        ("America/Bogota", ("10:00", "11:00")),
        ("Asia/Kolkata", ("10:30", "11:30")),
        ("Asia/Kathmandu", ("10:15", "11:15")),
        ("Australia/Lord_Howe", ("10:30", "11:30")),
    ],
)
def test_hours_begin_where_the_operators_clock_shows_them(zone: str, of: tuple[str, str]) -> None:
    assert hour_of(at("10:45"), ZoneInfo(zone)) == hour(*of)


@pytest.mark.parametrize(
    ("day", "hours"),
    [(date(2025, 3, 30), 23), (date(2025, 6, 10), 24), (date(2025, 10, 26), 25)],
    ids=["clocks go forward", "an ordinary day", "clocks go back"],
)
def test_a_day_on_which_the_clock_is_set_has_an_hour_less_or_more(day: date, hours: int) -> None:
    start = datetime(day.year, day.month, day.day, tzinfo=MADRID).astimezone(UTC)
    tomorrow = day + timedelta(days=1)
    end = datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=MADRID).astimezone(UTC)
    found = list(hours_between(start, end, MADRID))
    assert len(found) == hours
    assert {each.end - each.start for each in found} == {HOUR}
    assert sum(slots for _, slots in slots_by_hour(start + 5 * MINUTE, end, 5 * MINUTE, MADRID)) == 12 * hours


def test_the_hour_that_comes_twice_is_two_hours() -> None:
    first, second = (at(clock, day="2025-10-26") for clock in ("00:30", "01:30"))
    assert {f"{each.astimezone(MADRID):%H:%M}" for each in (first, second)} == {"02:30"}
    assert hour_of(first, MADRID) != hour_of(second, MADRID)


@pytest.mark.parametrize(
    ("day", "start", "end"),
    [("2025-10-04", "14:30", "16:00"), ("2025-04-05", "14:00", "15:30")],
    ids=["forward", "back"],
)
def test_a_clock_that_is_set_by_half_an_hour_makes_one_longer_hour(day: str, start: str, end: str) -> None:
    zone = ZoneInfo("Australia/Lord_Howe")
    longer = hour(start, end, day=day)
    assert hour_of(at("15:00:01", day=day), zone) == longer
    assert slots_from(longer.start + 5 * MINUTE, 5 * MINUTE, longer) == 18
    around = list(hours_between(longer.start - 5 * MINUTE, longer.end + 5 * MINUTE, zone))
    assert around == [
        Hour(longer.start - HOUR, longer.start),
        longer,
        Hour(longer.end, longer.end + HOUR),
    ]


def test_between_an_instant_and_itself_there_is_no_hour() -> None:
    assert list(hours_between(at("10:30"), at("10:30"), UTC)) == []
    assert list(hours_between(at("10:00"), at("11:00"), UTC)) == [hour("10:00", "11:00")]


def test_slots_that_an_outage_swallowed_are_counted_in_their_hours() -> None:
    missed = list(slots_by_hour(at("09:58"), at("12:00"), 2 * MINUTE, UTC))
    assert missed == [
        (hour("09:00", "10:00"), 2),
        (hour("10:00", "11:00"), 30),
        (hour("11:00", "12:00"), 30),
    ]


def test_hours_without_a_slot_are_left_out() -> None:
    daily = list(slots_by_hour(at("10:30"), at("10:30", day="2025-06-11"), 24 * HOUR, UTC))
    assert daily == [(hour("10:00", "11:00"), 1), (hour("10:00", "11:00", day="2025-06-11"), 1)]


@pytest.mark.parametrize(
    ("required", "completed", "status"),
    [
        (12, 12, Status.COMPLETED),
        (12, 11, Status.PARTIAL),
        (12, 10, Status.PARTIAL),
        (12, 9, Status.QUOTA_NOT_MET),
        (10, 8, Status.PARTIAL),
        (5, 4, Status.PARTIAL),
        (100, 79, Status.QUOTA_NOT_MET),
        (12, 1, Status.QUOTA_NOT_MET),
        (12, 0, Status.FAILED),
        (1, 0, Status.FAILED),
        (1, 1, Status.COMPLETED),
    ],
)
def test_the_status_of_an_hour_that_is_over(required: int, completed: int, status: Status) -> None:
    assert status_of(required, completed) == status


def test_how_much_is_enough_is_a_setting() -> None:
    assert status_of(12, 11, kept=95.0) == Status.QUOTA_NOT_MET
    assert status_of(12, 6, kept=50.0) == Status.PARTIAL
    assert not is_met(200, 199, kept=99.9)


def test_an_hour_waits_ten_minutes_for_what_is_still_pending() -> None:
    assert not must_close(at("11:00"), at("11:10"))
    assert must_close(at("11:00"), at("11:10:00.000001"))
    assert must_close(at("11:00"), at("11:05"), within=4 * MINUTE)


@pytest.mark.parametrize(
    ("completed", "needed"), [(0, 10), (9, 1), (10, 0), (12, 0)], ids=["none", "9", "10", "12"]
)
def test_how_many_of_the_slots_left_must_succeed(completed: int, needed: int) -> None:
    """Of twelve, ten: nine would be 75 %."""
    assert slots_left(3, 12, completed) == (3, needed)
