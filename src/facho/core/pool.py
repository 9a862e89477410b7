"""Pollers and their queues: how many pollers there are, how many are free, and how busy they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from typing import Final

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
