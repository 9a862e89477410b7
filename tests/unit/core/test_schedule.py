"""When a node runs, with the clock times of an operator's day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from facho.core.schedule import (
    Advance,
    advance,
    first_run_of_changed,
    first_run_of_enabled,
    first_run_of_new,
    is_too_far,
    slots_in,
    spread,
)

SECOND: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
MADRID: Final = ZoneInfo("Europe/Madrid")


def at(clock: str, *, day: int = 10) -> datetime:
    return datetime.fromisoformat(f"2025-06-{day:02} {clock}").replace(tzinfo=UTC)


def runs(
    first: datetime, interval: timedelta, until: datetime, *, took: timedelta = SECOND
) -> list[datetime]:
    """When a node starts, in an engine that steps every second and is busy while the node runs."""
    started = []
    next_run_at, now = first, first
    while now <= until:
        if next_run_at <= now:
            started.append(now)
            next_run_at = advance(next_run_at, interval, now).next_run_at
            now += took
        else:
            now = max(next_run_at, now + SECOND)
    return started


def clocks(times: list[datetime]) -> list[str]:
    return [f"{time:%H:%M}" for time in times]


def test_a_new_node_runs_after_a_minute_and_then_every_interval() -> None:
    first = first_run_of_new(at("10:00"))
    assert clocks(runs(first, 10 * MINUTE, at("10:25"))) == ["10:01", "10:11", "10:21"]


def test_a_node_that_is_enabled_waits_one_full_interval() -> None:
    first = first_run_of_enabled(at("10:50"), 10 * MINUTE)
    assert clocks(runs(first, 10 * MINUTE, at("11:15"))) == ["11:00", "11:10"]


def test_a_changed_interval_starts_a_new_grid_now() -> None:
    first = first_run_of_changed(at("10:07"), 15 * MINUTE)
    assert clocks(runs(first, 15 * MINUTE, at("10:55"))) == ["10:22", "10:37", "10:52"]


@pytest.mark.parametrize("took", [SECOND, 80 * SECOND, 299 * SECOND])
def test_five_minutes_means_twelve_runs_an_hour_however_long_a_run_takes(took: timedelta) -> None:
    started = runs(at("10:05"), 5 * MINUTE, at("11:00"), took=took)
    assert clocks(started) == [f"10:{minute:02}" for minute in range(5, 60, 5)] + ["11:00"]


def test_an_interval_longer_than_a_day_keeps_its_hour() -> None:
    first = first_run_of_enabled(at("10:30"), 36 * HOUR)
    assert runs(first, 36 * HOUR, at("00:00", day=15)) == [
        at("22:30", day=11),
        at("10:30", day=13),
        at("22:30", day=14),
    ]


@pytest.mark.parametrize(
    ("due", "interval", "now", "expected"),
    [
        pytest.param(
            at("10:00"),
            5 * MINUTE,
            at("10:00"),
            Advance(at("10:00"), at("10:05"), 0, None, None),
            id="on time, the slot runs and the next one is an interval later",
        ),
        pytest.param(
            at("10:00"),
            5 * MINUTE,
            at("10:04:59.999999"),
            Advance(at("10:00"), at("10:05"), 0, None, None),
            id="late within the interval, the grid stays",
        ),
        pytest.param(
            at("10:00"),
            5 * MINUTE,
            at("10:05"),
            Advance(at("10:05"), at("10:10"), 1, at("10:00"), at("10:00")),
            id="at the very next slot, that one runs and the first is skipped",
        ),
        pytest.param(
            at("10:00"),
            5 * MINUTE,
            at("10:17"),
            Advance(at("10:15"), at("10:20"), 3, at("10:00"), at("10:10")),
            id="after a stop of 17 minutes one runs and three are skipped",
        ),
        pytest.param(
            at("10:58"),
            5 * MINUTE,
            at("11:04"),
            Advance(at("11:03"), at("11:08"), 1, at("10:58"), at("10:58")),
            id="a run counts in the hour in which it happens",
        ),
        pytest.param(
            at("10:00"),
            30 * SECOND,
            at("10:00") + 365 * DAY + 7 * SECOND,
            Advance(
                at("10:00") + 365 * DAY,
                at("10:00") + 365 * DAY + 30 * SECOND,
                365 * 2880,
                at("10:00"),
                at("10:00") + 365 * DAY - 30 * SECOND,
            ),
            id="a machine that slept for a year runs once",
        ),
        pytest.param(
            at("10:00"),
            7 * DAY,
            at("09:00", day=25),
            Advance(at("10:00", day=24), at("10:00", day=24) + 7 * DAY, 2, at("10:00"), at("10:00", day=17)),
            id="a weekly node that was off for a fortnight keeps its weekday",
        ),
    ],
)
def test_a_due_node_runs_once_and_goes_on_by_its_grid(
    due: datetime, interval: timedelta, now: datetime, expected: Advance
) -> None:
    assert advance(due, interval, now) == expected


def test_a_node_that_is_not_due_has_nothing_to_run() -> None:
    with pytest.raises(ValueError, match="not due"):
        advance(at("10:00:01"), MINUTE, at("10:00"))


@pytest.mark.parametrize(
    ("position", "count", "interval", "moved"),
    [
        pytest.param(0, 1, HOUR, 0 * SECOND, id="one alone keeps its time"),
        pytest.param(0, 100, HOUR, 0 * SECOND, id="the first of many keeps its time"),
        pytest.param(1, 100, HOUR, 3 * SECOND, id="the second of a hundred is three seconds later"),
        pytest.param(99, 100, HOUR, 297 * SECOND, id="the last of a hundred is within five minutes"),
        pytest.param(3, 4, MINUTE, 45 * SECOND, id="short intervals are spread over themselves"),
        pytest.param(1, 2, 5 * MINUTE, 150 * SECOND, id="two at once are half an interval apart"),
    ],
)
def test_nodes_that_start_at_once_are_spread(
    position: int, count: int, interval: timedelta, moved: timedelta
) -> None:
    assert spread(position, count, interval) == moved


@pytest.mark.parametrize(
    ("next_run_at", "too_far"),
    [
        pytest.param(at("10:00"), False, id="due now"),
        pytest.param(at("09:00"), False, id="overdue"),
        pytest.param(at("10:10"), False, id="one interval away, as after enabling"),
        pytest.param(at("10:15"), False, id="one interval and the longest spread away"),
        pytest.param(at("10:16"), False, id="as far as rules could put it"),
        pytest.param(at("10:16:01"), True, id="the clock was set back by a little more than that"),
        pytest.param(at("10:05", day=17), True, id="the clock was set back by a week"),
    ],
)
def test_a_slot_further_away_than_any_rule_puts_it_shows_a_clock_set_back(
    next_run_at: datetime, too_far: bool
) -> None:
    assert is_too_far(next_run_at, at("10:00"), 10 * MINUTE) is too_far


def test_a_clock_set_back_by_an_hour_costs_an_interval_and_not_an_hour() -> None:
    interval = 10 * MINUTE
    next_run_at = advance(at("10:00"), interval, at("10:00")).next_run_at
    now = at("09:00:01")
    assert is_too_far(next_run_at, now, interval)
    assert clocks(runs(first_run_of_changed(now, interval), interval, at("09:35"))) == [
        "09:10",
        "09:20",
        "09:30",
    ]


@pytest.mark.parametrize(
    ("next_run_at", "interval", "after", "until", "count"),
    [
        pytest.param(
            at("10:55"), 5 * MINUTE, at("10:50"), at("11:00"), 2, id="enabled at 10:50: two are left"
        ),
        pytest.param(at("10:55"), 5 * MINUTE, at("11:00"), at("12:00"), 12, id="and twelve in the next hour"),
        pytest.param(at("10:55"), 5 * MINUTE, at("08:00"), at("09:00"), 12, id="the grid reaches back too"),
        pytest.param(
            at("11:00"), HOUR, at("10:00"), at("11:00"), 1, id="a slot at the end of an hour is in it"
        ),
        pytest.param(at("10:00"), HOUR, at("10:00"), at("10:59"), 0, id="a slot at its beginning is not"),
        pytest.param(
            at("10:30"), 2 * HOUR, at("11:00"), at("12:00"), 0, id="an hour between two slots has none"
        ),
        pytest.param(at("10:00"), MINUTE, at("10:00"), at("10:00"), 0, id="no time has no slots"),
        pytest.param(at("10:00"), MINUTE, at("11:00"), at("10:00"), 0, id="backwards there are none"),
    ],
)
def test_slots_of_an_hour_are_counted(
    next_run_at: datetime, interval: timedelta, after: datetime, until: datetime, count: int
) -> None:
    assert slots_in(next_run_at, interval, after, until) == count


def starts_of(day: datetime, interval: timedelta) -> Iterator[datetime]:
    """The starts of a node in a day of Madrid, as its operators read them."""
    midnight, end = day.astimezone(UTC), (day + DAY).astimezone(UTC)
    for start in runs(midnight + interval, interval, end):
        yield start.astimezone(MADRID)


@pytest.mark.parametrize(
    ("day", "hours"),
    [
        pytest.param(datetime(2025, 3, 30, tzinfo=MADRID), 23, id="an hour is left out in spring"),
        pytest.param(datetime(2025, 6, 10, tzinfo=MADRID), 24, id="on any other day"),
        pytest.param(datetime(2025, 10, 26, tzinfo=MADRID), 25, id="an hour comes twice in autumn"),
    ],
)
def test_daylight_saving_neither_adds_nor_drops_a_slot(day: datetime, hours: int) -> None:
    starts = list(starts_of(day, 5 * MINUTE))
    # Backed by a microsecond, since the slot at the full hour belongs to the hour that ends.
    per_hour = Counter(
        (start.astimezone(UTC) - timedelta(microseconds=1)).strftime("%d %H") for start in starts
    )
    assert len(starts) == 12 * hours
    assert set(per_hour.values()) == {12}
    assert len({start.astimezone(UTC) for start in starts}) == len(starts)


@pytest.mark.parametrize(
    ("day", "seen"),
    [
        (datetime(2025, 3, 30, tzinfo=MADRID), ["01:30", "03:00", "03:30"]),
        (
            datetime(2025, 10, 26, tzinfo=MADRID),
            ["01:30", "02:00", "02:30", "02:00", "02:30", "03:00", "03:30"],
        ),
    ],
    ids=["in spring nobody waits for 02:00", "in autumn 02:00 and 02:30 run twice"],
)
def test_operators_read_the_change_of_their_clock_and_nothing_else(day: datetime, seen: list[str]) -> None:
    clock = [f"{start:%H:%M}" for start in starts_of(day, 30 * MINUTE)]
    assert clock[clock.index("01:30") : clock.index("03:30") + 1] == seen
