"""The runs of a month: which slots of each node were lost, and the executions of the last day one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from random import Random
from typing import Final

from facho.core.delay import Why, is_delayed
from facho.core.lost_slots import LostSlots, lose_slots, merge_lost_slots
from facho.core.quota import FAILED, Hour, hour_of, hours_between, slots_from
from facho.core.reasons import NO_REASON, Reason
from facho.demo.story import EXECUTIONS, OltOutage, Story


@dataclass(frozen=True, slots=True)
class Member:
    node_id: int
    job: str
    kind: str
    task_type: str


@dataclass(frozen=True, slots=True)
class Node:
    """A composite node: a master and those chained to it."""

    olt_id: int
    olt: str
    # Of the OLT, as people read it.
    address: str
    members: tuple[Member, ...]
    interval_s: int
    priority: int
    max_attempts: int
    retry_delay_s: int

    @property
    def id(self) -> int:
        return self.members[0].node_id

    @property
    def no_answer(self) -> Reason:
        why = Reason.of("off_or_other_community")
        return Reason.of("no_answer", olt=self.address, sent=3, seconds=3 * _TIMEOUT_S, why=why)

    @property
    def interval(self) -> timedelta:
        return timedelta(seconds=self.interval_s)

    def slots(self, start: datetime, now: datetime) -> list[datetime]:
        """Return its slots after `start`. The next one is now, and is not one of them."""
        every = self.interval
        count = -int((start - now) // every) - 1
        return [now - number * every for number in range(count, 0, -1)]


@dataclass(frozen=True, slots=True)
class _Shape:
    """A run of a job on an OLT that answers quickly."""

    requests: int
    values: int
    rows: int
    seconds: float


_SHAPES: Final[Mapping[str, _Shape]] = {
    "discovery": _Shape(30, 1502, 500, 0.16),
    "state": _Shape(14, 1002, 500, 0.11),
    "optics": _Shape(52, 2330, 464, 0.16),
    "description": _Shape(14, 502, 500, 0.07),
    "model": _Shape(12, 502, 500, 0.06),
    "details": _Shape(36, 3002, 500, 0.15),
    "traffic": _Shape(16, 1032, 516, 0.1),
    "uplinks": _Shape(14, 64, 4, 0.04),
    "health": _Shape(13, 60, 14, 0.05),
    "ports": _Shape(9, 64, 8, 0.03),
    "autofind": _Shape(4, 12, 3, 0.01),
}
_OTHER: Final = _Shape(10, 500, 500, 0.1)
# How much slower some OLTs answer, which share of requests they lose, and of slots.
_SLOWER: Final = {"demo-huawei-slow": 9.0}
_LOSS: Final = {"demo-zte-flaky": 0.03}
_FAILING: Final = {"demo-zte-flaky": 0.015, "demo-huawei-slow": 0.001}
_SELDOM: Final = 0.0003
_HOUR: Final = timedelta(hours=1)
_TIMEOUT_S: Final = 3.0
_MOST_TIMEOUTS: Final = 6
# Retries of a node must end before its next slot.
_SHORTEST_RETRIED_S: Final = 300


@dataclass(frozen=True, slots=True)
class PartRun:
    """What became of one member of a node: success, failed, or skipped because its master failed."""

    member: Member
    outcome: str
    seconds: float
    requests: int
    timeouts: int
    values: int
    rows: int


@dataclass(frozen=True, slots=True)
class Run:
    """An execution, by its position in the list of all."""

    node: Node
    slot: datetime
    attempts: tuple[tuple[datetime, datetime], ...]
    parts: tuple[PartRun, ...]
    failed: bool = False
    # The position of the run that held the OLT.
    blocked_by: int | None = None

    @property
    def started_at(self) -> datetime:
        return self.attempts[-1][0]

    @property
    def ended_at(self) -> datetime:
        return self.attempts[-1][1]

    @property
    def delay(self) -> timedelta:
        return self.attempts[0][0] - self.slot


@dataclass(frozen=True, slots=True)
class HourOfTask:
    """What an OLT was owed of a task in an hour, and what it got."""

    node: Node
    member: Member
    hour: Hour
    completed: int
    failed: int
    skipped: int
    reasons: Sequence[LostSlots]
    seconds: float

    @property
    def required(self) -> int:
        return self.completed + self.failed + self.skipped


def failed_slots(node: Node, story: Story) -> list[datetime]:
    """Return slots at which the OLT answered the node in none of its attempts."""
    if node.interval_s < _SHORTEST_RETRIED_S:
        return []
    random = Random(f"failed {node.olt} {node.members[0].job}")
    share = _FAILING.get(node.olt, _SELDOM)
    # At most one in an hour, and none in the first and the last one: no quota is missed for that.
    hours = range(1, int((story.now - story.start) / _HOUR) - 1)
    per_hour = _HOUR / node.interval
    chosen = random.sample(hours, min(len(hours), round(share * per_hour * len(hours))))
    slots = (story.now - hour * _HOUR - node.interval * random.randrange(int(per_hour)) for hour in chosen)
    outages = story.outages_of(node.olt)
    far = [(outage.since - _HOUR, outage.until + _HOUR) for outage in outages]
    return sorted(each for each in slots if not any(since < each < until for since, until in far))


def count_hours(node: Node, story: Story, zone: tzinfo, failed_first: set[datetime]) -> Iterator[HourOfTask]:
    """Yield the hours of each task of a node, up to the running one.

    `failed_first` are its slots with which an outage began.
    """
    random = Random(f"seconds {node.olt} {node.members[0].job}")
    slots = node.slots(story.start, story.now)
    lost = _lost_by_hour(node, story, zone, failed_first)
    for hour in hours_between(story.start, slots[-1], zone) if slots else ():
        here = Hour(hour.start, min(hour.end, slots[-1]))
        if required := slots_from(slots[0], node.interval, here):
            for member in node.members:
                yield _count_hour(node, member, hour, required, lost.get(hour, []), random)


def _lost_by_hour(
    node: Node, story: Story, zone: tzinfo, failed_first: set[datetime]
) -> dict[Hour, list[LostSlots]]:
    found: dict[Hour, list[LostSlots]] = defaultdict(list)
    for slot in failed_slots(node, story):
        found[hour_of(slot, zone)].append(lose_slots(FAILED, node.no_answer, slot, node.interval_s))
    for outage in story.outages_of(node.olt):
        found[hour_of(outage.since, zone)] += _lose_in_outage(node, outage, story, failed_first)
    return found


def _count_hour(
    node: Node, member: Member, hour: Hour, required: int, lost: Sequence[LostSlots], random: Random
) -> HourOfTask:
    """A slot that failed is one of the master; those chained to it were skipped then."""
    is_master = member is node.members[0]
    every = sum(each.count for each in lost)
    failed = sum(each.count for each in lost if each.why == FAILED) if is_master else 0
    completed = required - every
    seconds = _seconds(node.olt, member.job, random) * completed
    reasons = merge_lost_slots(lost)
    return HourOfTask(node, member, hour, completed, failed, every - failed, reasons, seconds)


def outage_run(nodes: Sequence[Node], outage: OltOutage, story: Story) -> Run | None:
    """Return the execution that found the OLT silent; after it, the OLT was suspended."""
    first = [
        (lost[0], -node.priority, node.id, node) for node in nodes if (lost := _lost(node, outage, story))
    ]
    if not first:
        return None
    slot, _priority, _id, node = min(first, key=lambda each: each[:3])
    return _failed_run(node, slot, slot + timedelta(milliseconds=400), timedelta(seconds=node.retry_delay_s))


def skipped_in_outage(
    node: Node, outage: OltOutage, story: Story, failed_first: set[datetime]
) -> list[datetime]:
    return [each for each in _lost(node, outage, story) if each not in failed_first]


def _lost(node: Node, outage: OltOutage, story: Story) -> list[datetime]:
    return [each for each in node.slots(story.start, story.now) if outage.covers(each)]


def _lose_in_outage(
    node: Node, outage: OltOutage, story: Story, failed_first: set[datetime]
) -> Iterator[LostSlots]:
    for each in _lost(node, outage, story):
        if each in failed_first:
            yield lose_slots(FAILED, node.no_answer, each, node.interval_s)
    if skipped := skipped_in_outage(node, outage, story, failed_first):
        yield lose_slots(Why.SUSPENDED, NO_REASON, skipped[0], node.interval_s, len(skipped))


def _seconds(olt: str, job: str, random: Random) -> float:
    shape = _SHAPES.get(job, _OTHER)
    lost = _LOSS.get(olt, 0.0) * shape.requests * _TIMEOUT_S
    return (shape.seconds * _SLOWER.get(olt, 1.0) + lost) * random.uniform(0.85, 1.2)


def run_last_day(nodes: Sequence[Node], story: Story) -> list[Run]:
    """Return the executions of one OLT, in the order of their start. It runs one at a time."""
    random = Random(f"runs {nodes[0].olt}")
    failed = {node.id: set(failed_slots(node, story)) for node in nodes}
    since = max(story.start, story.now - EXECUTIONS)
    due = sorted(
        ((slot, -node.priority, node.id, node) for node in nodes for slot in node.slots(since, story.now)),
        key=lambda each: each[:3],
    )
    outages = story.outages_of(nodes[0].olt)
    runs: list[Run] = []
    free_at, blocker = since, None
    for slot, _priority, _id, node in due:
        if any(outage.covers(slot) for outage in outages):
            continue
        ready = slot + timedelta(seconds=random.uniform(0.1, 0.9))
        start = max(ready, free_at + timedelta(milliseconds=30))
        run = _run(node, slot, start, random, failed=slot in failed[node.id])
        if is_delayed(slot, start):
            run = replace(run, blocked_by=blocker)
        runs.append(run)
        # A retry waits without the OLT.
        free_at = max(free_at, run.attempts[0][1])
        if blocker is None or _seconds_of(run) >= _seconds_of(runs[blocker]) or slot != runs[blocker].slot:
            blocker = len(runs) - 1
    return runs


def _seconds_of(run: Run) -> float:
    return (run.attempts[0][1] - run.attempts[0][0]).total_seconds()


def _run(node: Node, slot: datetime, start: datetime, random: Random, *, failed: bool) -> Run:
    if failed:
        # The last attempt ends before the next slot.
        return _failed_run(node, slot, start, timedelta(seconds=(node.interval_s - 60) // node.max_attempts))
    parts = tuple(_part(node.olt, member, random) for member in node.members)
    # What is not spent on SNMP: the work is built, and the results are stored.
    seconds = sum(part.seconds for part in parts) + random.uniform(0.02, 0.09)
    return Run(node, slot, ((start, start + timedelta(seconds=seconds)),), parts)


def _part(olt: str, member: Member, random: Random) -> PartRun:
    shape = _SHAPES.get(member.job, _OTHER)
    loss = _LOSS.get(olt, 0.0)
    lost = sum(random.random() < loss for _ in range(shape.requests)) if loss else 0
    timeouts = min(_MOST_TIMEOUTS, lost)
    seconds = shape.seconds * _SLOWER.get(olt, 1.0) * random.uniform(0.85, 1.2) + timeouts * _TIMEOUT_S
    return PartRun(
        member,
        "success",
        round(seconds, 3),
        shape.requests + timeouts,
        timeouts,
        shape.values,
        shape.rows,
    )


def _failed_run(node: Node, slot: datetime, start: datetime, wait: timedelta) -> Run:
    tried = timedelta(seconds=_TIMEOUT_S * 3)
    begins = [start + number * (wait + tried) for number in range(node.max_attempts)]
    attempts = tuple((begin, begin + tried) for begin in begins)
    first, *others = node.members
    parts = (
        PartRun(first, "failed", tried.total_seconds(), 3, 3, 0, 0),
        *(PartRun(member, "skipped", 0.0, 0, 0, 0, 0) for member in others),
    )
    return Run(node, slot, attempts, parts, failed=True)
