"""The pool of pollers: how many there are, are free and were busy, and which waiting executions get them.

Choosing is two decisions in turn: which execution of each OLT, since an OLT runs one at a time, then which
OLTs get the free pollers. Keys sort the best first.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations, islice
from typing import Final, TypeAlias

from facho.core.delay import DELAYED_AFTER

DEFAULT: Final = "snmp_default"
HIGH_PRIORITY: Final = "snmp_highprio"
RETRY: Final = "snmp_retry"
# In the order in which a worker consumes them.
SNMP_QUEUES: Final = (HIGH_PRIORITY, DEFAULT, RETRY)

WORKER_SEEN_WITHIN: Final = timedelta(seconds=15)
SATURATED_ABOVE: Final = 75.0


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A process with pollers, and its last heartbeat."""

    name: str
    pollers: int
    seen_at: datetime
    queues: frozenset[str] = frozenset(SNMP_QUEUES)


@dataclass(frozen=True, slots=True)
class ActiveExecution:
    """A claimed execution. The worker is unknown until a poller starts it."""

    queue: str
    worker: str | None


def is_alive(seen_at: datetime, now: datetime, *, within: timedelta = WORKER_SEEN_WITHIN) -> bool:
    """Return whether a worker last seen at `seen_at` counts as alive.

    A time in the future was written before the clock was set back, and the worker may have died since.
    Trusting it would send work to a dead worker until the clock catches up; a living one soon writes again.
    """
    return abs(now - seen_at) <= within


def alive_workers(
    workers: Iterable[WorkerSeen], now: datetime, *, within: timedelta = WORKER_SEEN_WITHIN
) -> list[WorkerSeen]:
    """Return the workers that are alive."""
    return [worker for worker in workers if is_alive(worker.seen_at, now, within=within)]


class FreePollers:
    """Count of idle pollers, reduced as they are taken.

    Which worker gets a queued execution is open until one takes it. By Hall's theorem all of them get a
    poller exactly if every set of queues has at least as many idle pollers as executions on their way to it.
    """

    def __init__(
        self,
        workers: Iterable[WorkerSeen],
        active: Iterable[ActiveExecution],
        now: datetime,
        *,
        within: timedelta = WORKER_SEEN_WITHIN,
    ) -> None:
        living = alive_workers(workers, now, within=within)
        running, coming = Counter[str](), Counter[str]()
        for each in active:
            if each.worker is None:
                coming[each.queue] += 1
            else:
                running[each.worker] += 1
        idle = [(worker.queues, max(0, worker.pollers - running[worker.name])) for worker in living]
        self._served: frozenset[str] = frozenset().union(*(taken for taken, _ in idle))
        self._free = {
            queues: sum(count for taken, count in idle if taken & queues)
            - sum(coming[queue] for queue in queues)
            for queues in _subsets(self._served)
        }

    @property
    def total(self) -> int:
        return max(0, self._free.get(self._served, 0))

    def serves(self, queue: str) -> bool:
        """Return whether any worker takes this queue, idle or not."""
        return queue in self._served

    def take(self, queue: str) -> bool:
        """Take a poller for an execution of this queue; return False if none is free."""
        concerned = [queues for queues in self._free if queue in queues]
        if not concerned or any(self._free[queues] <= 0 for queues in concerned):
            return False
        for queues in concerned:
            self._free[queues] -= 1
        return True


def _subsets(queues: frozenset[str]) -> Iterator[frozenset[str]]:
    for size in range(1, len(queues) + 1):
        yield from map(frozenset, combinations(queues, size))


def busy_percentage(busy: timedelta, pollers: int, window: timedelta) -> float:
    """The share of the pollers' time in the window that was spent on work, 0 to 100."""
    available = pollers * window
    return max(0.0, min(100.0, 100.0 * (busy / available))) if available else 0.0


def is_saturated(percentage: float, *, above: float = SATURATED_ABOVE) -> bool:
    return percentage > above


def poller_processes(cores: int, pollers: int, wanted: int) -> int:
    """Return how many processes share the pollers of one machine; `wanted` is 0 to follow the cores.

    Half of the cores: the database, the web and the fleet's answers need the others.
    """
    return max(1, min(wanted or cores // 2, pollers))


def share_pollers(pollers: int, processes: int) -> list[int]:
    """Return the pollers of each process, as even as possible; the first also schedules and has fewest."""
    each, more = divmod(pollers, processes)
    return [each + (number >= processes - more) for number in range(processes)]


def queue_of(*, run_now: bool, attempts: int) -> str:
    """Return the queue of an execution after `attempts` attempts."""
    if run_now:
        return HIGH_PRIORITY
    return RETRY if attempts else DEFAULT


def encode_queues(queues: frozenset[str]) -> str:
    """Encode a set of queues as one word; all of them are the empty word."""
    return "" if queues.issuperset(SNMP_QUEUES) else ",".join(sorted(queues))


def decode_queues(word: str) -> frozenset[str]:
    return frozenset(word.split(",") if word else SNMP_QUEUES)


# Of the reading of one ONU too, which has no job.
HIGHEST_PRIORITY: Final = 100
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

    An OLT has the place of the first of all that wait for it. Another may go before that one on the OLT,
    because it has missed more of its own slots; it takes that place, or the first would wait even longer.
    `take` reserves a poller for a queue; an execution that gets none is passed over.
    """
    if free <= 0:
        return []
    by_olt = _group_by_olt(each for each in waiting if each.olt_id not in busy_olts)
    return list(islice((head for head in _best_first(by_olt, now) if take is None or take(head.queue)), free))


def is_settled(
    chosen: Sequence[Waiting], wanted: int, waiting: Iterable[Waiting], last_read: Waiting, now: datetime
) -> bool:
    """Return whether the choice of `wanted` stands, though only the first of the queue were known to it.

    `waiting` were the first in the order of `across_olts`, up to `last_read`, with all that waits for their
    OLTs and every run-now. Others wait for other OLTs, and come after it.
    """
    last, by_olt = across_olts(last_read, now), _group_by_olt(waiting)
    return len(chosen) >= wanted and all(_place(by_olt[each.olt_id], now) <= last for each in chosen)


def _best_first(by_olt: Mapping[int, Sequence[Waiting]], now: datetime) -> Iterator[Waiting]:
    """Yield what each OLT runs next, in the order of the OLTs. Lazy, since few of many are needed; no two
    places are the same, as they end with the id.
    """
    heap = [(_place(queue, now), olt_id) for olt_id, queue in by_olt.items()]
    heapq.heapify(heap)
    while heap:
        queue = by_olt[heapq.heappop(heap)[1]]
        # Most OLTs have one execution waiting, and computing keys is what takes the time.
        yield queue[0] if len(queue) == 1 else min(queue, key=lambda each: within_olt(each, now))


def _place(queue: Iterable[Waiting], now: datetime) -> AcrossOlts:
    return min(across_olts(each, now) for each in queue)


def _group_by_olt(waiting: Iterable[Waiting]) -> dict[int, list[Waiting]]:
    by_olt: dict[int, list[Waiting]] = defaultdict(list)
    for each in waiting:
        by_olt[each.olt_id].append(each)
    return by_olt
