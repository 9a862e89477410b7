"""Windows against the plainest way to find them: minute by minute, on the operator's clock."""

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from facho.core.maintenance import (
    Single,
    Weekly,
    first_overlap,
    merge_spans,
    now_and_next,
    slots_inside,
    span_at,
    spans,
    split_slots,
)
from facho.core.quota import hour_of

ZONES = [ZoneInfo(name) for name in ("UTC", "America/Santiago", "Europe/Berlin", "Australia/Lord_Howe")]
MINUTE = timedelta(minutes=1)

zones = st.sampled_from(ZONES)
# Changes of these zones' clocks are in these months.
moments = st.integers(0, 275 * 24 * 60).map(
    lambda minutes: datetime(2026, 3, 1, tzinfo=UTC) + minutes * MINUTE
)
lengths = st.integers(1, 24 * 60).map(lambda minutes: minutes * MINUTE)
weekly = st.builds(
    Weekly,
    st.frozensets(st.integers(0, 6), min_size=1),
    st.builds(time, st.integers(0, 23), st.integers(0, 59)),
    lengths,
)
single = st.builds(lambda start, length: Single(start, start + length), moments, lengths)


@given(weekly, moments, zones)
def test_it_lasts_when_its_time_was_shown_less_than_its_length_ago(
    plan: Weekly, at: datetime, zone: ZoneInfo
) -> None:
    lasts = span_at(spans(plan, at, at + MINUTE, zone), at) is not None
    ago = (at - minute * MINUTE for minute in range(int(plan.duration / MINUTE)))
    assert lasts == any(_begins(plan, each, zone) for each in ago)


def _begins(plan: Weekly, at: datetime, zone: ZoneInfo) -> bool:
    wall = at.astimezone(zone)
    on_days = {wall.date(), wall.date() - timedelta(days=1)}
    return any(
        day.weekday() in plan.weekdays and datetime.combine(day, plan.start, zone).astimezone(UTC) == at
        for day in on_days
    )


@given(weekly, moments, zones)
def test_weekly_ones_begin_when_the_clock_shows_it(plan: Weekly, at: datetime, zone: ZoneInfo) -> None:
    for start, end in spans(plan, at, at + timedelta(days=9), zone):
        shown = start.astimezone(zone)
        leapt = shown.replace(tzinfo=None) - datetime.combine(shown.date(), plan.start)
        assert leapt in (timedelta(), timedelta(hours=1), timedelta(minutes=30), timedelta(hours=-23))
        assert end - start == plan.duration
        assert start < at + timedelta(days=9)
        assert end > at


def test_the_clock_leaps_over_its_time_or_shows_it_twice() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    nightly = Weekly(frozenset(range(7)), time(2, 30), timedelta(hours=1))
    (spring,) = spans(nightly, *_day("2026-03-29"), berlin)
    (autumn,) = spans(nightly, *_day("2026-10-25"), berlin)
    assert (f"{spring[0]:%H:%M}", f"{autumn[0]:%H:%M}") == ("01:30", "00:30")


def test_one_over_midnight_belongs_to_the_day_on_which_it_begins() -> None:
    late = Weekly(frozenset({5}), time(23), timedelta(hours=3))
    (found,) = spans(late, *_day("2026-06-14"), ZoneInfo("UTC"))
    assert found == (datetime(2026, 6, 13, 23, tzinfo=UTC), datetime(2026, 6, 14, 2, tzinfo=UTC))
    assert not list(spans(late, *_day("2026-06-15"), ZoneInfo("UTC")))


def test_a_person_ends_one_and_the_next_is_whole() -> None:
    ended = datetime(2026, 6, 13, 10, 20, tzinfo=UTC)
    daily = Weekly(frozenset(range(7)), time(10), timedelta(hours=1), ended)
    assert [end for _, end in spans(daily, ended - timedelta(hours=1), ended + timedelta(days=1), UTC)] == [
        ended,
        datetime(2026, 6, 14, 11, tzinfo=UTC),
    ]


def _day(date: str) -> tuple[datetime, datetime]:
    start = datetime.fromisoformat(date).replace(tzinfo=UTC)
    return start, start + timedelta(days=1)


@given(st.lists(single, max_size=6))
def test_merged_ones_cover_the_same_time_and_are_apart(plans: list[Single]) -> None:
    every = [(each.starts_at, each.ends_at) for each in plans]
    found = merge_spans(every)
    assert all(one[1] < other[0] for one, other in pairwise(found))
    edges = [moment + step for span in every for moment in span for step in (-MINUTE, 0 * MINUTE)]
    for at in edges:
        assert (span_at(found, at) is None) == (span_at(every, at) is None)


@given(st.one_of(single, weekly), single, moments, zones)
def test_an_overlap_is_a_moment_of_both(
    one: Single | Weekly, other: Single, now: datetime, zone: ZoneInfo
) -> None:
    found = first_overlap(one, other, now, zone)
    assert found == first_overlap(other, one, now, zone)
    minutes = int((other.ends_at - other.starts_at) / MINUTE)
    every = list(spans(one, other.starts_at, other.ends_at, zone))
    shared = [other.starts_at + minute * MINUTE for minute in range(minutes)]
    assert found == min((at for at in shared if at >= now and span_at(every, at)), default=None)


def test_weekly_ones_may_meet_only_when_the_clock_changes() -> None:
    berlin, now = ZoneInfo("Europe/Berlin"), datetime(2026, 6, 1, tzinfo=UTC)
    early = Weekly(frozenset({6}), time(1), timedelta(hours=2))
    late = Weekly(frozenset({6}), time(3), timedelta(hours=2))
    assert first_overlap(early, late, now, ZoneInfo("UTC")) is None
    assert first_overlap(early, late, now, berlin) == datetime(2027, 3, 28, 1, tzinfo=UTC)


@given(moments, st.integers(1, 40), st.lists(single, max_size=4), zones)
def test_slots_inside_are_those_found_one_by_one(
    next_run_at: datetime, every: int, plans: list[Single], zone: ZoneInfo
) -> None:
    closed = merge_spans((each.starts_at, each.ends_at) for each in plans)
    near = [next_run_at, *(moment for span in closed for moment in span)]
    for hour in {hour_of(moment, zone) for moment in near}:
        interval = every * MINUTE
        first = max(0, (hour.start - next_run_at) // interval - 1)
        slots = (next_run_at + (first + number) * interval for number in range(70))
        inside = [slot for slot in slots if slot in hour and span_at(closed, slot)]
        assert slots_inside(next_run_at, interval, hour, closed) == len(inside)


@given(moments, st.integers(1, 90), st.integers(1, 60), st.lists(single, max_size=4))
def test_runs_are_the_slots_in_their_order_cut_at_the_edges(
    first: datetime, every: int, count: int, plans: list[Single]
) -> None:
    near = [(each.starts_at - first) % timedelta(days=2) + first for each in plans]
    lengths = [each.ends_at - each.starts_at for each in plans]
    closed = merge_spans((start, start + length) for start, length in zip(near, lengths, strict=True))
    interval = every * MINUTE
    slots = [first + number * interval for number in range(count)]
    found = list(split_slots(first, slots[-1], interval, closed))
    told = [(run.first + number * interval, run.inside) for run in found for number in range(run.count)]
    assert told == [(slot, span_at(closed, slot) is not None) for slot in slots]
    assert all(run.last == run.first + (run.count - 1) * interval for run in found)


@given(st.one_of(single, weekly), moments, zones)
def test_what_lasts_and_what_comes_next(plan: Single | Weekly, now: datetime, zone: ZoneInfo) -> None:
    lasting, coming = now_and_next(plan, now, zone)
    assert lasting is None or lasting[0] <= now < lasting[1]
    assert coming is None or coming[0] > now
    if isinstance(plan, Single):
        whole = plan.starts_at, plan.ends_at
        assert (lasting or coming) == (whole if plan.ends_at > now else None)
    else:
        assert coming is not None
        assert not any(now < start < coming[0] for start, _ in spans(plan, now, coming[0], zone))
