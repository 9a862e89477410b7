"""Who goes first, of the executions that wait.

Two questions in turn: which one of each OLT, since an OLT runs one at a time, and which of those get the free
pollers. The keys sort the best first.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, TypeAlias

from facho.core.delay import DELAYED_AFTER
from facho.core.queue import DEFAULT

DEFAULT_PRIORITY: Final = {"discovery": 90, "walk": 60, "table": 60, "bulk": 60, "get": 40}

_NONE: Final = timedelta(0)

WithinOlt: TypeAlias = tuple[bool, int, int, datetime, int]
AcrossOlts: TypeAlias = tuple[bool, timedelta, int, datetime, int]


@dataclass(frozen=True, slots=True)
class Waiting:
    """An execution that could start now.

    `slot` is since when it could: a retry waits from the end of its retry delay, a run-now since it was asked
    for.
    """

    execution_id: int
    olt_id: int
    slot: datetime
    interval: timedelta
    priority: int
    run_now: bool
    queue: str = DEFAULT


def within_olt(waiting: Waiting, now: datetime) -> WithinOlt:
    """Run-now, then who waited longer than its own interval, then priority, then the earlier slot.

    An OLT may have more work than time. Were all that waited too long ordered by priority, two nodes of high
    priority could take turns for ever; so who missed more of its own slots comes first.
    """
    return (
        not waiting.run_now,
        -missed_slots(waiting, now),
        -waiting.priority,
        waiting.slot,
        waiting.execution_id,
    )


def across_olts(waiting: Waiting, now: datetime, *, delayed_after: timedelta = DELAYED_AFTER) -> AcrossOlts:
    """Run-now, then the most delayed, then priority, then the earlier slot."""
    return (
        not waiting.run_now,
        min(_NONE, delayed_after - (now - waiting.slot)),
        -waiting.priority,
        waiting.slot,
        waiting.execution_id,
    )


def missed_slots(waiting: Waiting, now: datetime) -> int:
    """How many times it waited longer than its own interval. At exactly one interval: not yet."""
    return max(0, -((waiting.slot - now) // waiting.interval) - 1)


def choose(
    waiting: Iterable[Waiting],
    busy_olts: Container[int],
    free: int,
    now: datetime,
    *,
    take: Callable[[str], bool] | None = None,
) -> list[Waiting]:
    """Those to start on `free` pollers, the best first: one for each OLT, none for an OLT that is busy.

    `take` is asked for a poller of each one's queue in turn; who gets none is passed over.
    """
    if free <= 0:
        return []
    heads = _first_of_each_olt((each for each in waiting if each.olt_id not in busy_olts), now)
    if take is None:
        return heapq.nsmallest(free, heads, key=lambda head: across_olts(head, now))
    return list(islice((head for head in _best_first(heads, now) if take(head.queue)), free))


def _best_first(heads: Iterable[Waiting], now: datetime) -> Iterator[Waiting]:
    """One by one: few of many are wanted. No two keys are the same, for they end with the id."""
    heap = [(across_olts(head, now), head) for head in heads]
    heapq.heapify(heap)
    while heap:
        yield heapq.heappop(heap)[1]


def _first_of_each_olt(waiting: Iterable[Waiting], now: datetime) -> Iterator[Waiting]:
    by_olt: dict[int, list[Waiting]] = defaultdict(list)
    for each in waiting:
        by_olt[each.olt_id].append(each)
    for queue in by_olt.values():
        # Most OLTs have one waiting, and keys are what takes the time.
        yield queue[0] if len(queue) == 1 else min(queue, key=lambda each: within_olt(each, now))
