"""Order of waiting executions.

Two decisions in turn: which execution of each OLT, since an OLT runs one at a time, then which of those get
the free pollers. Keys sort the best first.
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
from facho.core.pool import DEFAULT

DEFAULT_PRIORITY: Final = {"discovery": 90, "walk": 60, "table": 60, "bulk": 60, "get": 40}

_NONE: Final = timedelta(0)

WithinOlt: TypeAlias = tuple[bool, int, int, datetime, int]
AcrossOlts: TypeAlias = tuple[bool, timedelta, int, datetime, int]


@dataclass(frozen=True, slots=True)
class Waiting:
    """An execution that could start now.

    `slot` is when it became ready: a retry at the end of its delay, a run-now when it was requested.
    """

    execution_id: int
    olt_id: int
    slot: datetime
    interval: timedelta
    priority: int
    run_now: bool
    queue: str = DEFAULT


def within_olt(waiting: Waiting, now: datetime) -> WithinOlt:
    """Sort key within an OLT: run-now, longest over its own interval, priority, earlier slot.

    On an OLT with more work than time, ordering overdue nodes by priority would let two of high priority
    alternate for ever; so the node that missed more of its own slots goes first.
    """
    return (
        not waiting.run_now,
        -missed_slots(waiting, now),
        -waiting.priority,
        waiting.slot,
        waiting.execution_id,
    )


def across_olts(waiting: Waiting, now: datetime, *, delayed_after: timedelta = DELAYED_AFTER) -> AcrossOlts:
    """Sort key across OLTs: run-now, most delayed, priority, earlier slot."""
    return (
        not waiting.run_now,
        min(_NONE, delayed_after - (now - waiting.slot)),
        -waiting.priority,
        waiting.slot,
        waiting.execution_id,
    )


def missed_slots(waiting: Waiting, now: datetime) -> int:
    """Return how many times it has waited longer than its own interval; exactly one interval is not yet."""
    return max(0, -((waiting.slot - now) // waiting.interval) - 1)


def choose(
    waiting: Iterable[Waiting],
    busy_olts: Container[int],
    free: int,
    now: datetime,
    *,
    take: Callable[[str], bool] | None = None,
) -> list[Waiting]:
    """Return the executions to start on `free` pollers, best first: at most one per OLT, none on a busy one.

    `take` reserves a poller for a queue; an execution that gets none is passed over.
    """
    if free <= 0:
        return []
    heads = _first_of_each_olt((each for each in waiting if each.olt_id not in busy_olts), now)
    if take is None:
        return heapq.nsmallest(free, heads, key=lambda head: across_olts(head, now))
    return list(islice((head for head in _best_first(heads, now) if take(head.queue)), free))


def _best_first(heads: Iterable[Waiting], now: datetime) -> Iterator[Waiting]:
    """Yield heads in order. Lazy, since few of many are needed; keys are unique as they end with the id."""
    heap = [(across_olts(head, now), head) for head in heads]
    heapq.heapify(heap)
    while heap:
        yield heapq.heappop(heap)[1]


def _first_of_each_olt(waiting: Iterable[Waiting], now: datetime) -> Iterator[Waiting]:
    by_olt: dict[int, list[Waiting]] = defaultdict(list)
    for each in waiting:
        by_olt[each.olt_id].append(each)
    for queue in by_olt.values():
        # Most OLTs have one execution waiting, and computing keys is what takes the time.
        yield queue[0] if len(queue) == 1 else min(queue, key=lambda each: within_olt(each, now))
