"""Hours and their slots, on any clock: nothing is lost between two hours, and nothing counted twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from facho.core.quota import (
    Hour,
    Status,
    hour_of,
    hours_between,
    is_met,
    slots_by_hour,
    slots_from,
    slots_left,
    status_of,
)

SECOND = timedelta(seconds=1)
ZONES = st.sampled_from(
    [
        "UTC",
        "America/Bogota",
        "Europe/Madrid",
        "America/St_Johns",
        "Asia/Kolkata",
        "Asia/Kathmandu",
        "Australia/Lord_Howe",
        "Pacific/Chatham",
        "Pacific/Apia",
    ]
).map(ZoneInfo)
INSTANTS = st.timedeltas(timedelta(0), timedelta(days=7300)).map(
    lambda since: datetime(2010, 1, 1, tzinfo=UTC) + since
)
# Around the times at which Madrid and Lord Howe set their clocks, which chance rarely hits.
CHANGES = st.sampled_from(
    [
        datetime(2025, 3, 30, 1, tzinfo=UTC),
        datetime(2025, 10, 26, 1, tzinfo=UTC),
        datetime(2025, 4, 5, 15, tzinfo=UTC),
        datetime(2025, 10, 4, 15, 30, tzinfo=UTC),
    ]
)
TIMES = INSTANTS | st.builds(
    lambda change, seconds: change + seconds * SECOND, CHANGES, st.integers(-7200, 7200)
)
INTERVALS = st.integers(20, 2 * 86400).map(lambda seconds: seconds * SECOND)
SPANS = st.timedeltas(timedelta(0), timedelta(hours=40))
COUNTS = st.integers(1, 500)


@given(TIMES, ZONES)
def test_every_instant_is_in_one_hour_that_begins_and_ends_on_the_stroke(
    slot: datetime, zone: ZoneInfo
) -> None:
    found = hour_of(slot, zone)
    assert slot in found
    for edge in (found.start, found.end):
        assert edge.utcoffset() == timedelta(0)
        wall = edge.astimezone(zone)
        assert (wall.minute, wall.second, wall.microsecond) == (0, 0, 0)
    assert hour_of(found.end, zone) == found
    assert hour_of(found.start, zone).end == found.start


@given(TIMES, ZONES)
def test_no_clock_strikes_within_an_hour(slot: datetime, zone: ZoneInfo) -> None:
    found = hour_of(slot, zone)
    minutes = range(1, (found.end - found.start) // timedelta(minutes=1))
    assert all((found.start + timedelta(minutes=each)).astimezone(zone).minute for each in minutes)


@given(TIMES, SPANS, ZONES)
def test_hours_follow_one_another_without_gap_or_overlap(
    after: datetime, span: timedelta, zone: ZoneInfo
) -> None:
    found = list(hours_between(after, after + span, zone))
    assert all(earlier.end == later.start for earlier, later in pairwise(found))
    if span:
        assert found[0].start <= after < found[0].end
        assert found[-1].start < after + span <= found[-1].end
    else:
        assert not found


@given(TIMES, INTERVALS, SPANS, ZONES)
def test_slots_are_counted_as_one_would_on_paper(
    first: datetime, interval: timedelta, span: timedelta, zone: ZoneInfo
) -> None:
    last = first + span // interval * interval
    counted: dict[Hour, int] = {}
    slot = first
    while slot <= last:
        counted[hour_of(slot, zone)] = counted.get(hour_of(slot, zone), 0) + 1
        slot += interval
    assert dict(slots_by_hour(first, last, interval, zone)) == counted
    assert {
        hour: slots
        for hour in hours_between(first - SECOND, last, zone)
        if (slots := slots_from(first, interval, Hour(hour.start, min(hour.end, last))))
    } == counted


@given(TIMES, INTERVALS, SPANS, ZONES)
def test_what_hours_owe_adds_up_to_the_slots_on_the_grid(
    first: datetime, interval: timedelta, span: timedelta, zone: ZoneInfo
) -> None:
    hours = list(hours_between(first - SECOND, first + span, zone))
    owed = sum(slots_from(first, interval, hour) for hour in hours)
    assert owed == (hours[-1].end - first) // interval + 1


@given(TIMES, INTERVALS, ZONES, st.integers(0, 200))
def test_every_slot_that_comes_is_one_that_is_not_owed_any_more(
    first: datetime, interval: timedelta, zone: ZoneInfo, come: int
) -> None:
    slot = first + come * interval
    hour = hour_of(slot, zone)
    assert slots_from(slot, interval, hour) == slots_from(slot + interval, interval, hour) + 1


@given(COUNTS, st.data())
def test_a_quota_is_kept_when_as_many_are_done_as_it_says(required: int, data: st.DataObject) -> None:
    completed = data.draw(st.integers(0, required))
    pending, needed = slots_left(required - completed, required, completed)
    assert pending == required - completed
    assert is_met(required, completed + needed)
    assert not needed or not is_met(required, completed + needed - 1)
    assert (status_of(required, completed) in (Status.COMPLETED, Status.PARTIAL)) == (needed == 0)
