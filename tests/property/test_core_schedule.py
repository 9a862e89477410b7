"""The grid of a node, whatever happens to the clock and to the engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from facho.core.interval import LONGEST, format_interval, parse_interval
from facho.core.schedule import (
    SPREAD_LIMIT,
    Advance,
    advance,
    first_run_of_changed,
    first_run_of_enabled,
    first_run_of_new,
    is_too_far,
    slots_in,
    spread,
)

SECOND = timedelta(seconds=1)
INSTANTS = st.timedeltas(timedelta(0), timedelta(days=7300)).map(
    lambda since: datetime(2020, 1, 1, tzinfo=UTC) + since
)
INTERVALS = st.integers(1, LONGEST // SECOND).map(lambda seconds: seconds * SECOND) | st.sampled_from(
    [parse_interval(text) for text in ("1s", "30s", "5m", "7m", "1h", "1d", "7d")]
)
# From a step a second to an engine that was stopped for months.
PAUSES = st.timedeltas(timedelta(0), timedelta(days=200)) | st.timedeltas(timedelta(0), timedelta(minutes=10))


def advances(next_run_at: datetime, interval: timedelta, instants: list[datetime]) -> list[Advance]:
    """What a scheduler that looks at these instants does."""
    made = []
    for now in instants:
        if next_run_at <= now:
            made.append(advance(next_run_at, interval, now))
            next_run_at = made[-1].next_run_at
    return made


@given(INSTANTS, INTERVALS, st.lists(PAUSES, min_size=1, max_size=30))
def test_every_slot_is_run_once_or_skipped_once(
    first: datetime, interval: timedelta, pauses: list[timedelta]
) -> None:
    instants = [first + sum(pauses[: number + 1], timedelta(0)) for number in range(len(pauses))]
    made = advances(first, interval, instants)
    ran = [each.slot for each in made]
    assert ran == sorted(set(ran))
    elapsed = slots_in(first, interval, first - interval, instants[-1])
    assert len(made) + sum(each.skipped for each in made) == elapsed
    assert all(
        (each.slot - each.first_skipped) // interval == each.skipped
        for each in made
        if each.first_skipped is not None
    )


@given(INSTANTS, INTERVALS, PAUSES)
def test_a_due_node_goes_on_by_its_grid_after_now(
    due: datetime, interval: timedelta, late: timedelta
) -> None:
    now = due + late
    made = advance(due, interval, now)
    assert due <= made.slot <= now < made.next_run_at <= now + interval
    assert not (made.next_run_at - due) % interval
    # Between the slot that runs and now there is no other: nothing is left to catch up on.
    assert slots_in(due, interval, made.slot, now) == 0


@given(INSTANTS, INTERVALS)
def test_an_enabled_node_runs_within_an_interval(now: datetime, interval: timedelta) -> None:
    assert now < first_run_of_enabled(now, interval) <= now + interval
    assert now < first_run_of_changed(now, interval) <= now + interval


@given(INTERVALS, st.integers(1, 3000))
def test_nodes_that_start_at_once_are_spread_evenly(interval: timedelta, count: int) -> None:
    moved = [spread(position, count, interval) for position in range(count)]
    room = min(interval, SPREAD_LIMIT)
    assert moved[0] == timedelta(0)
    assert moved == sorted(moved)
    assert moved[-1] < room
    gaps = [later - earlier for earlier, later in pairwise(moved)]
    assert all(abs(gap - room / count) <= timedelta(microseconds=1) for gap in gaps)


@given(INSTANTS, INTERVALS, st.integers(1, 3000), st.data())
def test_no_rule_puts_a_slot_too_far_and_a_clock_set_back_far_enough_shows(
    now: datetime, interval: timedelta, count: int, data: st.DataObject
) -> None:
    moved = spread(data.draw(st.integers(0, count - 1)), count, interval)
    for first in (first_run_of_new(now), first_run_of_enabled(now, interval), now):
        assert not is_too_far(first + moved, now, interval)
        assert is_too_far(first + moved, now - interval - timedelta(hours=1), interval)


@given(INSTANTS, INTERVALS, st.lists(INSTANTS, min_size=3, max_size=3).map(sorted))
def test_adjacent_ranges_share_no_slot_and_lose_none(
    anchor: datetime, interval: timedelta, ends: list[datetime]
) -> None:
    after, between, until = ends
    parts = slots_in(anchor, interval, after, between) + slots_in(anchor, interval, between, until)
    assert parts == slots_in(anchor, interval, after, until)


@given(INSTANTS, INTERVALS, INSTANTS, INSTANTS, st.integers(-1000, 1000))
def test_any_slot_tells_the_same_grid(
    anchor: datetime, interval: timedelta, after: datetime, until: datetime, away: int
) -> None:
    other = anchor + away * interval
    assert slots_in(other, interval, after, until) == slots_in(anchor, interval, after, until)


@given(INSTANTS, st.integers(30, 7200).map(lambda seconds: seconds * SECOND), INSTANTS)
def test_slots_are_counted_as_one_would_on_paper(
    anchor: datetime, interval: timedelta, after: datetime
) -> None:
    until = after + timedelta(hours=1)
    slot = anchor + (after - anchor) // interval * interval
    counted = 0
    while slot <= until:
        counted += slot > after
        slot += interval
    assert slots_in(anchor, interval, after, until) == counted


@given(INTERVALS)
def test_what_is_shown_of_an_interval_reads_back(interval: timedelta) -> None:
    assert parse_interval(format_interval(interval)) == interval
