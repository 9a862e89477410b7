"""Stored form of a plan: JSON with seconds from the start of its hour."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from facho.core.plan import NONE, Entry, Plan, PredictedQuota, Slot, Task

# Node id, and slot in milliseconds.
Key: TypeAlias = tuple[int, int]


class Planned(NamedTuple):
    """A run. `first` is when it was to start by the plan as it was made, before reality changed it."""

    node_id: int
    job: str
    task_types: tuple[str, ...]
    slot: datetime
    start: datetime
    end: datetime
    waits_for: str
    first: datetime

    @property
    def wait(self) -> timedelta:
        return max(NONE, self.start - self.slot)

    @property
    def key(self) -> Key:
        return key_of(self.node_id, self.slot)


class PredictedLoss(NamedTuple):
    node_id: int
    job: str
    slot: datetime
    why: str

    @property
    def key(self) -> Key:
        return key_of(self.node_id, self.slot)


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A stored plan of an hour."""

    entries: tuple[Planned, ...] = ()
    lost: tuple[PredictedLoss, ...] = ()
    promises: tuple[PredictedQuota, ...] = ()
    # All durations were learned from runs, none guessed.
    sure: bool = True

    def slots(self) -> Iterator[Slot]:
        yield from ((each.node_id, each.slot, each.end) for each in self.entries)
        yield from ((each.node_id, each.slot, None) for each in self.lost)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Median error of predicted starts, and the share of runs that started near the prediction."""

    count: int
    median_s: float | None
    near_pct: float | None


def key_of(node_id: int, slot: datetime) -> Key:
    return node_id, round(slot.timestamp() * 1000)


def signature(tasks: Iterable[Task]) -> str:
    """Return a hash that changes with the tasks, their intervals and order, but not with their grids."""
    told = sorted(
        (task.node_id, task.interval.total_seconds(), task.priority, task.task_types) for task in tasks
    )
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def encode_plan(start: datetime, tasks: Sequence[Task], hours: StoredPlan) -> dict[str, Any]:
    def seconds(moment: datetime, digits: int = 1) -> float:
        return round((moment - start).total_seconds(), digits)

    return {
        "tasks": [_task_json(task) for task in tasks],
        "entries": [
            [
                each.node_id,
                seconds(each.slot, 3),
                seconds(each.start),
                seconds(each.end),
                each.waits_for,
                seconds(each.first),
            ]
            for each in hours.entries
        ],
        "lost": [[each.node_id, seconds(each.slot, 3), str(each.why)] for each in hours.lost],
        "quotas": [[each.task_type, each.required, each.completed] for each in hours.promises],
    }


def _task_json(task: Task) -> dict[str, Any]:
    return {
        "node": task.node_id,
        "job": task.job,
        "task_types": list(task.task_types),
        "interval_s": task.interval.total_seconds(),
        "p50_s": round(task.p50.total_seconds(), 2),
        "p95_s": round(task.p95.total_seconds(), 2),
        "sure": task.sure,
    }


def decode_plan(start: datetime, data: Mapping[str, Any]) -> StoredPlan:
    def moment(seconds: float) -> datetime:
        return start + timedelta(seconds=seconds)

    tasks = {each["node"]: each for each in data.get("tasks", ())}
    entries = (
        Planned(
            node_id,
            tasks[node_id]["job"],
            tuple(tasks[node_id]["task_types"]),
            moment(slot),
            moment(begin),
            moment(end),
            waits_for,
            moment(first),
        )
        for node_id, slot, begin, end, waits_for, first in data.get("entries", ())
        if node_id in tasks
    )
    lost = (
        PredictedLoss(node_id, tasks[node_id]["job"], moment(slot), why)
        for node_id, slot, why in data.get("lost", ())
        if node_id in tasks
    )
    quotas = tuple(PredictedQuota(*each) for each in data.get("quotas", ()))
    return StoredPlan(tuple(entries), tuple(lost), quotas, all(each["sure"] for each in tasks.values()))


def planned_times(
    start: datetime, data: Mapping[str, Any], node_id: int, slot: datetime
) -> tuple[datetime, datetime] | None:
    """Return when the run of a slot is to start and to end, from the stored form.

    Like looking for its key in the entries of `decode_plan`, which would decode all of them for one.
    """
    at = round((slot - start).total_seconds() * 1000)
    for node, seconds, begin, end, *_ in data.get("entries", ()):
        if node == node_id and round(seconds * 1000) == at:
            return start + timedelta(seconds=begin), start + timedelta(seconds=end)
    return None


def continue_plan(before: StoredPlan, tasks: Iterable[Task], plan: Plan, now: datetime) -> StoredPlan:
    """Merge plans: what has begun stays as planned before, the rest is as planned now."""
    named = {task.node_id: task for task in tasks}
    first = {each.key: each.first for each in before.entries}
    found = {key_of(each.node_id, each.slot): each for each in plan.entries if each.node_id in named}
    entries = [_planned(each, named[each.node_id], first.get(key)) for key, each in found.items()]
    lost = [PredictedLoss(each.node_id, named[each.node_id].job, each.slot, each.why) for each in plan.lost]
    known = found.keys() | {each.key for each in lost}
    entries += [each for each in before.entries if each.slot <= now and each.key not in known]
    lost += [each for each in before.lost if each.slot <= now and each.key not in known]
    return StoredPlan(
        tuple(sorted(entries, key=lambda each: (each.start, each.node_id))),
        tuple(sorted(lost, key=lambda each: (each.slot, each.node_id))),
    )


def _planned(entry: Entry, task: Task, first: datetime | None) -> Planned:
    node_id, slot, start, end, waits_for = entry
    return Planned(node_id, task.job, task.task_types, slot, start, end, waits_for, first or start)


def compare_with_runs(
    hours: StoredPlan, began: Mapping[Key, datetime], *, made: datetime, near: timedelta
) -> Comparison:
    """Compare the plan as `made` with when the runs really began.

    Runs before `made` are not predictions. Runs that were not planned count as not near.
    """
    first = {each.key: each.first for each in hours.entries}
    later = {key: at for key, at in began.items() if at > made}
    errors = [abs((at - first[key]).total_seconds()) for key, at in later.items() if key in first]
    if not later:
        return Comparison(0, None, None)
    close = sum(error <= near.total_seconds() for error in errors)
    median = round(statistics.median(errors), 2) if errors else None
    return Comparison(len(later), median, round(100 * close / len(later), 1))
