"""Prediction of what an OLT runs until the end of an hour: one run at a time, each as long as forecast.

The rules are those of the engine: `order` decides who goes first, and a slot that comes while the node's own
run waits or runs is lost, as in `due`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from facho.core.delay import Why
from facho.core.pool import Waiting, within_olt

NONE: Final = timedelta(0)
_HOUR: Final = timedelta(hours=1)

ClosedSpans: TypeAlias = Sequence[tuple[datetime, datetime]]
# Node, slot, and end of its run; None if there is no run.
Slot: TypeAlias = tuple[int, datetime, datetime | None]


@dataclass(frozen=True, slots=True)
class Task:
    """A composite node: what one of its runs counts for, when it is due, and how long a run takes."""

    node_id: int
    job: str
    task_types: tuple[str, ...]
    next_slot: datetime
    interval: timedelta
    priority: int
    p50: timedelta
    p95: timedelta
    # The prediction was learned from runs of this task on this OLT.
    sure: bool = True
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """The execution that holds the OLT now. `slot` is None for one that belongs to no slot."""

    node_id: int
    job: str
    started: datetime
    until: datetime
    slot: datetime | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    """A run that waits already. `since` is from when it may start: later than its slot for a retry."""

    node_id: int
    slot: datetime
    since: datetime
    run_now: bool = False
    # Requested by a person; it is not the run of a slot.
    by_hand: bool = False


class Entry(NamedTuple):
    node_id: int
    slot: datetime
    start: datetime
    end: datetime
    # The job that held the OLT while this run waited.
    waits_for: str = ""

    @property
    def wait(self) -> timedelta:
        return max(NONE, self.start - self.slot)


class LostSlot(NamedTuple):
    """A slot that nobody will run."""

    node_id: int
    slot: datetime
    why: Why


@dataclass(frozen=True, slots=True)
class Plan:
    entries: tuple[Entry, ...]
    lost: tuple[LostSlot, ...]

    @property
    def waiting(self) -> timedelta:
        return sum((entry.wait for entry in self.entries), NONE)

    def slots(self) -> Iterator[Slot]:
        yield from ((each.node_id, each.slot, each.end) for each in self.entries)
        yield from ((each.node_id, each.slot, None) for each in self.lost)


@dataclass(frozen=True, slots=True)
class PredictedQuota:
    """The predicted quota of a task type in an hour."""

    task_type: str
    required: int
    completed: int

    @property
    def at_risk(self) -> bool:
        return self.completed < self.required


@dataclass(frozen=True, slots=True)
class Load:
    """Minutes of SNMP work in an hour: in half of the hours at most, and in 19 of 20."""

    p50_min: float
    p95_min: float


def simulate(
    tasks: Sequence[Task],
    now: datetime,
    until: datetime,
    *,
    running: Running | None = None,
    queued: Iterable[Queued] = (),
    closed: ClosedSpans = (),
    lag: timedelta = NONE,
    stop_at_loss: bool = False,
) -> Plan:
    """Simulate all slots after `now` up to `until`, with what already waits or runs.

    `lag` is the time until the scheduler sees a due slot. Slots in `closed` times do not count, and nothing
    starts then.
    """
    return _Simulation(tasks, now, until, closed, lag, stop_at_loss).run(running, queued)


@dataclass(slots=True)
class _WaitingTask:
    task: Task
    slot: datetime
    by_hand: bool
    place: Waiting


@dataclass(slots=True)
class _Simulation:
    tasks: Sequence[Task]
    now: datetime
    until: datetime
    closed: ClosedSpans
    lag: timedelta
    stop_at_loss: bool
    arrivals: list[tuple[datetime, int, Task]] = field(default_factory=list)
    waits: dict[int, _WaitingTask] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    lost: list[LostSlot] = field(default_factory=list)
    # The last run and its end.
    last_job: str = ""
    last_end: datetime | None = None

    def run(self, running: Running | None, queued: Iterable[Queued]) -> Plan:
        self.arrivals = [(task.next_slot, task.node_id, task) for task in self.tasks]
        heapq.heapify(self.arrivals)
        self._add_queued(queued)
        clock: datetime | None = self._finish_running(running) if running else self.now
        while clock is not None and not (self.stop_at_loss and self.lost):
            clock = self._step(clock)
        return Plan(tuple(self.entries), tuple(self.lost))

    def _add_queued(self, queued: Iterable[Queued]) -> None:
        tasks = {task.node_id: task for task in self.tasks}
        for each in queued:
            if each.node_id in tasks:
                self._enqueue(tasks[each.node_id], each.slot, each.since, each.run_now, each.by_hand)

    def _finish_running(self, running: Running) -> datetime:
        """Let the running execution end, and return when."""
        end = max(self.now, running.until)
        if running.slot is not None:
            self.entries.append(Entry(running.node_id, running.slot, running.started, end))
        self._process_slots(end, running.node_id)
        self.last_job, self.last_end = running.job, end
        return end

    def _step(self, clock: datetime) -> datetime | None:
        """Start the first in order, or move the clock to the next one. Return None when nothing is left."""
        self._process_slots(clock, None)
        opens = _next_open(clock, self.closed)
        if opens > clock:
            return opens
        ready = [each for each in self.waits.values() if each.place.slot <= clock]
        if ready:
            return self._start(_first_in_order(ready, clock), clock)
        return self._next(clock)

    def _next(self, clock: datetime) -> datetime | None:
        times = [each.place.slot for each in self.waits.values()]
        if self.arrivals and self.arrivals[0][0] <= self.until:
            times.append(self.arrivals[0][0] + self.lag)
        return max(clock, min(times)) if times else None

    def _start(self, chosen: _WaitingTask, clock: datetime) -> datetime:
        task = chosen.task
        end = clock + task.p50
        del self.waits[task.node_id]
        if not chosen.by_hand:
            waited = self.last_end == clock and clock - chosen.slot > self.lag
            self.entries.append(Entry(task.node_id, chosen.slot, clock, end, self.last_job if waited else ""))
        self._process_slots(end, task.node_id)
        self.last_job, self.last_end = task.job, end
        return end

    def _process_slots(self, upto: datetime, runs: int | None) -> None:
        """Process the slots up to `upto`. A slot at the very end of the running execution finds it ended."""
        while self.arrivals:
            slot, node_id, task = self.arrivals[0]
            if slot > min(upto, self.until) or (runs is not None and slot == upto):
                return
            heapq.heapreplace(self.arrivals, (slot + task.interval, node_id, task))
            if _next_open(slot, self.closed) == slot:
                self._slot_due(task, slot, runs)

    def _slot_due(self, task: Task, slot: datetime, runs: int | None) -> None:
        before = self.waits.get(task.node_id)
        if task.suspended:
            self.lost.append(LostSlot(task.node_id, slot, Why.SUSPENDED))
        elif before is None and runs == task.node_id:
            self.lost.append(LostSlot(task.node_id, slot, Why.STILL_RUNNING))
        elif before is None or before.place.slot > slot:
            # A retry that is not due yet is replaced by the slot, which is the next attempt.
            self._enqueue(task, slot, slot, False, False)
        elif before.by_hand:
            self._enqueue(task, slot, before.place.slot, before.place.run_now, False)
        else:
            self.lost.append(LostSlot(task.node_id, slot, Why.OLT_BUSY))

    def _enqueue(self, task: Task, slot: datetime, since: datetime, run_now: bool, by_hand: bool) -> None:
        place = Waiting(task.node_id, 0, since, task.interval, task.priority, run_now)
        self.waits[task.node_id] = _WaitingTask(task, slot, by_hand, place)


def _first_in_order(ready: Sequence[_WaitingTask], clock: datetime) -> _WaitingTask:
    return ready[0] if len(ready) == 1 else min(ready, key=lambda each: within_olt(each.place, clock))


def _next_open(at: datetime, closed: ClosedSpans) -> datetime:
    """Return when work may begin: at `at`, or at the end of the closed time it lies in."""
    for start, end in closed:
        if start <= at < end:
            at = end
    return at


def predicted_quotas(
    tasks: Iterable[Task], slots: Iterable[Slot], after: datetime, until: datetime, within: timedelta
) -> list[PredictedQuota]:
    """Return the quotas of slots in (after, until]; runs that end over `within` later do not count."""
    types = {task.node_id: task.task_types for task in tasks}
    required: Counter[str] = Counter()
    completed: Counter[str] = Counter()
    for node_id, slot, end in slots:
        if after < slot <= until and node_id in types:
            required.update(types[node_id])
            if end is not None and end <= until + within:
                completed.update(types[node_id])
    return [PredictedQuota(name, count, completed[name]) for name, count in sorted(required.items())]


def hourly_load(tasks: Iterable[Task]) -> Load:
    """Return the hourly work that the tasks ask of an OLT, whether it fits or not."""
    p50 = p95 = 0.0
    for task in tasks:
        runs = _HOUR / task.interval
        p50 += runs * task.p50.total_seconds() / 60
        p95 += runs * task.p95.total_seconds() / 60
    return Load(round(p50, 2), round(p95, 2))
