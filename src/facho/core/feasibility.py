"""Whether the tasks of an OLT fit into an hour, and the smallest change that makes them fit.

A change is proposed only if the simulated hours after it lose no slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from facho.core.plan import NONE, Plan, PredictedQuota, Task, hourly_load, predicted_quotas, simulate

# Longer horizons only repeat this one, except for tasks that run every few hours.
HORIZON: Final = timedelta(hours=2)
# Grids are moved by multiples of this.
STEP: Final = timedelta(seconds=30)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_FULL: Final = 60.0
# Intervals as people choose them.
_ROUND: Final = (
    *(timedelta(seconds=number) for number in (30, 45)),
    *(timedelta(minutes=number) for number in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 45)),
    *(timedelta(hours=number) for number in (1, 2, 3, 4, 6, 8, 12, 24)),
)
# The new grid starts when the change is made, so the tasks must fit for several such moments.
_PHASES: Final = 4
# Smaller savings are not proposed.
_LEAST_SAVED: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Slower:
    """A task with a longer interval."""

    node_id: int
    job: str
    before: timedelta
    after: timedelta


@dataclass(frozen=True, slots=True)
class Shift:
    """A moved grid of one node, and the waiting that it saves per day."""

    node_id: int
    job: str
    by: timedelta
    saves: timedelta


@dataclass(frozen=True, slots=True)
class Infeasible:
    """More work than an hour holds: the task types at risk, and a change that would help."""

    p50_min: float
    at_risk: tuple[PredictedQuota, ...]
    # None if slowing down one task is not enough.
    change: Slower | None


def certainly_fits(tasks: Sequence[Task]) -> bool:
    """Return whether all tasks fit between two slots of any of them, so that none ever misses a slot."""
    active = [task for task in tasks if not task.suspended]
    return not active or sum((task.p50 for task in active), NONE) <= min(task.interval for task in active)


def fits(tasks: Sequence[Task], now: datetime) -> bool:
    if certainly_fits(tasks):
        return True
    if hourly_load(tasks).p50_min > _FULL:
        return False
    return not simulate(tasks, now, now + HORIZON, stop_at_loss=True).lost


def infeasible(tasks: Sequence[Task], now: datetime) -> Infeasible | None:
    """Return why the tasks do not fit, None if they do. Suspended tasks take no time."""
    active = [task for task in tasks if not task.suspended]
    if fits(active, now):
        return None
    plan = _simulate_horizon(active, now)
    risky = tuple(
        each for each in predicted_quotas(active, plan.slots(), now, now + HORIZON, NONE) if each.at_risk
    )
    return Infeasible(hourly_load(active).p50_min, risky, smallest_change(active, now))


def _simulate_horizon(tasks: Sequence[Task], now: datetime) -> Plan:
    return simulate(tasks, now, now + HORIZON)


def smallest_change(tasks: Sequence[Task], now: datetime) -> Slower | None:
    """Return the task that must be slowed down the least; of two, the one with lower priority."""
    found = (
        (change.after / change.before, task.priority, task.node_id, change)
        for task in tasks
        if (change := _slower(task, tasks, now)) is not None
    )
    return min(found, default=(0, 0, 0, None))[3]


def _slower(task: Task, tasks: Sequence[Task], now: datetime) -> Slower | None:
    others = [each for each in tasks if each.node_id != task.node_id]
    if hourly_load(others).p50_min > _FULL:
        return None
    for interval in _ROUND:
        if interval > task.interval and all(
            fits([*others, again], now) for again in _restarted_grids(task, interval, now)
        ):
            return Slower(task.node_id, task.job, task.interval, interval)
    return None


def _restarted_grids(task: Task, interval: timedelta, now: datetime) -> Iterator[Task]:
    """Yield the task with its new grid, for several moments at which the change could be made."""
    for phase in range(_PHASES):
        yield replace(task, interval=interval, next_slot=now + interval + phase * interval / _PHASES)


def best_shift(tasks: Sequence[Task], now: datetime) -> Shift | None:
    """Return the move of one node's grid that saves the most waiting, None if none is worth it."""
    active = [task for task in tasks if not task.suspended]
    before = _mean_waiting(active, now)
    if before * (_DAY / _HOUR) < _LEAST_SAVED:
        return None
    found = [
        (before - _mean_waiting(_shift_grid(active, task, by), now), -by, task.priority, task)
        for task in active
        for by in _shifts_to_try(task)
    ]
    if not found:
        # All intervals are too short for a shift.
        return None
    saved, by, _, task = max(found, key=lambda each: (each[0], each[1], -each[2], -each[3].node_id))
    a_day = saved * (_DAY / _HOUR)
    return Shift(task.node_id, task.job, -by, a_day) if a_day >= _LEAST_SAVED else None


def _mean_waiting(tasks: Sequence[Task], now: datetime) -> timedelta:
    """Return the mean waiting per hour; a lost slot waits for the next slot of its grid."""
    intervals = {task.node_id: task.interval for task in tasks}
    plan = _simulate_horizon(tasks, now)
    lost = sum((intervals[each.node_id] for each in plan.lost), NONE)
    return (plan.waiting + lost) / (HORIZON / _HOUR)


def _shift_grid(tasks: Sequence[Task], moved: Task, by: timedelta) -> list[Task]:
    again = replace(moved, next_slot=moved.next_slot + by)
    return [again if each.node_id == moved.node_id else each for each in tasks]


# For long intervals only the first moves are tried: more of them were never better.
_MOST_STEPS: Final = 20


def _shifts_to_try(task: Task) -> Iterator[timedelta]:
    count = max(0, -(-task.interval // STEP) - 1)
    return (number * STEP for number in range(1, min(count, _MOST_STEPS) + 1))
