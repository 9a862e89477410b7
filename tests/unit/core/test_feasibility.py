"""Tasks that do not fit into an hour, and what would make them fit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from facho.core.feasibility import best_shift, fits, infeasible
from facho.core.interval import format_interval, parse_interval
from facho.core.plan import Task, hourly_load, simulate

NOW = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)


def task(number: int, job: str, every: str, takes: float, *, at: float = 60, priority: int = 40) -> Task:
    """Due `at` seconds from now."""
    length = timedelta(seconds=takes)
    slot = NOW + timedelta(seconds=at)
    return Task(number, job, (job,), slot, parse_interval(every), priority, length, length)


def test_72_minutes_of_work_an_hour_do_not_fit_and_one_slower_task_would() -> None:
    tasks = [task(1, "discovery", "10m", 180, priority=90), task(2, "optics", "5m", 270)]
    assert hourly_load(tasks).p50_min == 72
    found = infeasible(tasks, NOW)
    assert found is not None
    assert [each.task_type for each in found.at_risk] == ["optics"]
    change = found.change
    assert change is not None
    assert (change.job, format_interval(change.after)) == ("optics", "8m")


def test_a_run_that_is_longer_than_the_interval_of_another_one_costs_it_slots() -> None:
    """There is time enough in the hour, only not at that moment."""
    tasks = [task(1, "discovery", "1h", 400, priority=90), task(2, "state", "5m", 5)]
    assert hourly_load(tasks).p50_min < 8
    assert not fits(tasks, NOW)
    assert fits(tasks[1:], NOW)


def test_what_cannot_be_helped_by_one_task_has_no_proposal() -> None:
    tasks = [task(number, f"job-{number}", "5m", 200) for number in range(1, 6)]
    found = infeasible(tasks, NOW)
    assert found is not None
    assert found.change is None


def test_a_grid_is_moved_to_where_it_waits_least() -> None:
    """Both at the same moment, every 5 minutes: the get waits a minute each time, 288 times a day."""
    tasks = [task(1, "discovery", "5m", 60, priority=90), task(2, "optics", "5m", 20)]
    shift = best_shift(tasks, NOW)
    assert shift is not None
    # Moving the discovery past the get would save as much, and is a shorter way.
    assert (shift.job, shift.by) == ("discovery", timedelta(seconds=30))
    assert shift.saves == timedelta(minutes=288)
    moved = [task(1, "discovery", "5m", 60, at=90, priority=90), tasks[1]]
    assert not simulate(moved, NOW, NOW + timedelta(hours=1)).waiting


def test_tasks_that_do_not_meet_are_left_where_they_are() -> None:
    assert best_shift([task(1, "discovery", "5m", 60), task(2, "optics", "5m", 20, at=180)], NOW) is None


def test_tasks_that_run_too_often_to_be_moved_are_left_where_they_are() -> None:
    """They wait for each other all day, but no step is shorter than their intervals."""
    assert best_shift([task(1, "discovery", "10s", 4), task(2, "optics", "10s", 4)], NOW) is None
