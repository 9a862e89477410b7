"""Where things lie on the timeline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from facho.web.components.timeline import (
    Block,
    TimelineRange,
    TimelineRun,
    closed_blocks,
    draw_run,
    draw_runs,
)

NOON = datetime(2025, 6, 10, 12, tzinfo=UTC)
# Three hours and one: an hour is a quarter of it.
WINDOW = TimelineRange.around(NOON, timedelta(hours=3), timedelta(hours=1))


def minutes(number: float) -> datetime:
    return NOON + timedelta(minutes=number)


def run(start: float, end: float | None, *, slot: float | None = None, late: bool = False) -> TimelineRun:
    return TimelineRun(
        "optics",
        "get",
        "SUCCESS",
        minutes(start if slot is None else slot),
        minutes(start),
        None if end is None else minutes(end),
        late=late,
    )


def test_now_is_where_the_past_ends() -> None:
    assert WINDOW.now_at == 75
    assert [tick.label for tick in WINDOW.ticks(UTC)] == ["09:00", "10:00", "11:00", "12:00", "13:00"]


def test_a_run_lies_from_its_start_to_its_end() -> None:
    found = draw_run(run(-60, -30), WINDOW)
    assert found is not None
    assert found.block == Block(50, 12.5)
    assert found.delay is None


def test_what_runs_has_grown_until_now() -> None:
    found = draw_run(run(-60, None), WINDOW)
    assert found is not None
    assert found.block == Block(50, 25)


def test_what_came_late_shows_how_long_it_waited() -> None:
    found = draw_run(run(-60, -30, slot=-120, late=True), WINDOW)
    assert found is not None
    assert found.delay == Block(25, 25)


def test_a_second_is_seen_and_stays_inside() -> None:
    found = draw_run(run(59.99, 60), WINDOW)
    assert found is not None
    assert found.block == Block(99.75, 0.25)


def test_what_lies_outside_is_left_out_and_what_sticks_out_is_cut() -> None:
    found = draw_runs([run(-300, -200), run(70, 80), run(30, 90), run(-200, -150)], WINDOW)
    assert [each.block for each in found] == [Block(0, 12.5), Block(87.5, 12.5)]


def test_windows_of_maintenance_are_shaded() -> None:
    spans = [(minutes(-600), minutes(-500)), (minutes(-30), minutes(600))]
    assert closed_blocks(spans, WINDOW) == [Block(62.5, 37.5)]
