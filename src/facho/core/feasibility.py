"""Whether an OLT's tasks fit into its hours, and the smallest change that would make them fit.

Found by trying: a change is proposed only when the simulated hours after it lose no slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from facho.core.plan import NONE, Plan, Promise, Task, load, promises, simulate

# What happens later looks like what happened before, except for what runs every few hours.
HORIZON: Final = timedelta(hours=2)
# Grids are moved by whole steps of this.
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
# When the change is made nobody knows, and the new grid begins then: it must fit whenever that is.
_PHASES: Final = 4
# So little is not worth a move.
_LEAST_SAVED: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Slower:
    """One task that runs less often."""

    node_id: int
    job: str
    before: timedelta
    after: timedelta


@dataclass(frozen=True, slots=True)
class Shift:
    """One node's grid moved, and how much less its OLT's runs wait for one another in a day."""

    node_id: int
    job: str
    by: timedelta
    saves: timedelta


@dataclass(frozen=True, slots=True)
class Infeasible:
    """More work than the hours hold: what would get too little, and what would help."""

    p50_min: float
    at_risk: tuple[Promise, ...]
    # None where slowing down one task is not enough.
    change: Slower | None


def surely_fits(tasks: Sequence[Task]) -> bool:
    """Between two slots of any of them all others can run once: nobody ever waits past its next slot."""
    active = [task for task in tasks if not task.suspended]
    return not active or sum((task.p50 for task in active), NONE) <= min(task.interval for task in active)


def fits(tasks: Sequence[Task], now: datetime) -> bool:
    if surely_fits(tasks):
        return True
    if load(tasks).p50_min > _FULL:
        return False
    return not simulate(tasks, now, now + HORIZON, stop_at_loss=True).lost


def infeasible(tasks: Sequence[Task], now: datetime) -> Infeasible | None:
    """None where everything fits. What is suspended is not asked, and takes no time."""
    active = [task for task in tasks if not task.suspended]
    if fits(active, now):
        return None
    plan = _steady(active, now)
    risky = tuple(each for each in promises(active, plan.slots(), now, now + HORIZON, NONE) if each.at_risk)
    return Infeasible(load(active).p50_min, risky, smallest_change(active, now))


def _steady(tasks: Sequence[Task], now: datetime) -> Plan:
    return simulate(tasks, now, now + HORIZON)


def smallest_change(tasks: Sequence[Task], now: datetime) -> Slower | None:
    """The one task that has to be slowed down the least; of two, the one of lower priority."""
    found = (
        (change.after / change.before, task.priority, task.node_id, change)
        for task in tasks
        if (change := _slower(task, tasks, now)) is not None
    )
    return min(found, default=(0, 0, 0, None))[3]


def _slower(task: Task, tasks: Sequence[Task], now: datetime) -> Slower | None:
    others = [each for each in tasks if each.node_id != task.node_id]
    if load(others).p50_min > _FULL:
        return None
    for interval in _ROUND:
        if interval > task.interval and all(
            fits([*others, again], now) for again in _anew(task, interval, now)
        ):
            return Slower(task.node_id, task.job, task.interval, interval)
    return None


def _anew(task: Task, interval: timedelta, now: datetime) -> Iterator[Task]:
    """With its new grid, as it would be if the change were made at several moments."""
    for phase in range(_PHASES):
        yield replace(task, interval=interval, next_slot=now + interval + phase * interval / _PHASES)


def best_shift(tasks: Sequence[Task], now: datetime) -> Shift | None:
    """The move of one node's grid that saves the most waiting, if it saves some."""
    active = [task for task in tasks if not task.suspended]
    before = _waiting(active, now)
    if before * (_DAY / _HOUR) < _LEAST_SAVED:
        return None
    found = [
        (before - _waiting(_moved(active, task, by), now), -by, task.priority, task)
        for task in active
        for by in _steps(task)
    ]
    saved, by, _, task = max(found, key=lambda each: (each[0], each[1], -each[2], -each[3].node_id))
    a_day = saved * (_DAY / _HOUR)
    return Shift(task.node_id, task.job, -by, a_day) if a_day >= _LEAST_SAVED else None


def _waiting(tasks: Sequence[Task], now: datetime) -> timedelta:
    """In an hour, as a mean; a slot that is lost waits for the next one of its grid."""
    intervals = {task.node_id: task.interval for task in tasks}
    plan = _steady(tasks, now)
    lost = sum((intervals[each.node_id] for each in plan.lost), NONE)
    return (plan.waiting + lost) / (HORIZON / _HOUR)


def _moved(tasks: Sequence[Task], moved: Task, by: timedelta) -> list[Task]:
    again = replace(moved, next_slot=moved.next_slot + by)
    return [again if each.node_id == moved.node_id else each for each in tasks]


# Of a grid with long intervals the first moves are tried: more of them find nothing that these do not.
_MOST_STEPS: Final = 20


def _steps(task: Task) -> Iterator[timedelta]:
    count = max(0, -(-task.interval // STEP) - 1)
    return (number * STEP for number in range(1, min(count, _MOST_STEPS) + 1))
