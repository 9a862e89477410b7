"""How many pollers there are, how many of them are free, and how busy they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from typing import Final

from facho.core.queue import SNMP_QUEUES

WORKER_SEEN_WITHIN: Final = timedelta(seconds=15)
SATURATED_ABOVE: Final = 75.0


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A process with pollers, and when it last said that it lives."""

    name: str
    pollers: int
    seen_at: datetime
    queues: frozenset[str] = frozenset(SNMP_QUEUES)


@dataclass(frozen=True, slots=True)
class Active:
    """An execution that a poller has, or is meant for: then no worker is known yet, only the queue."""

    queue: str
    worker: str | None


def is_alive(seen_at: datetime, now: datetime, *, within: timedelta = WORKER_SEEN_WITHIN) -> bool:
    """Whether a worker that was last seen then is taken to live.

    One seen in the future was seen before the clock was set back, and may have died since. Were it believed,
    work would go to a dead worker until the clock has caught up; if it lives, its next sign shows it.
    """
    return abs(now - seen_at) <= within


def alive(
    workers: Iterable[WorkerSeen], now: datetime, *, within: timedelta = WORKER_SEEN_WITHIN
) -> list[WorkerSeen]:
    """Those seen lately."""
    return [worker for worker in workers if is_alive(worker.seen_at, now, within=within)]


class FreePollers:
    """Those without work, counted down as they are given away.

    Which worker gets an execution is open until it has taken it. There is a poller for all of them exactly if
    for each set of queues there are as many idle ones that take any of it as executions on their way there.
    """

    def __init__(
        self,
        workers: Iterable[WorkerSeen],
        active: Iterable[Active],
        now: datetime,
        *,
        within: timedelta = WORKER_SEEN_WITHIN,
    ) -> None:
        living = alive(workers, now, within=within)
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
            for queues in _sets(self._served)
        }

    @property
    def total(self) -> int:
        return max(0, self._free.get(self._served, 0))

    def serves(self, queue: str) -> bool:
        """Whether anybody takes it, free or not."""
        return queue in self._served

    def take(self, queue: str) -> bool:
        """One for an execution of this queue; False when there is none for it."""
        concerned = [queues for queues in self._free if queue in queues]
        if not concerned or any(self._free[queues] <= 0 for queues in concerned):
            return False
        for queues in concerned:
            self._free[queues] -= 1
        return True


def _sets(queues: frozenset[str]) -> Iterator[frozenset[str]]:
    for size in range(1, len(queues) + 1):
        yield from map(frozenset, combinations(queues, size))


def busy_percentage(busy: timedelta, pollers: int, window: timedelta) -> float:
    """The share of the pollers' time in the window that was spent on work, 0 to 100."""
    available = pollers * window
    return max(0.0, min(100.0, 100.0 * (busy / available))) if available else 0.0


def is_saturated(percentage: float, *, above: float = SATURATED_ABOVE) -> bool:
    return percentage > above
