"""How many pollers there are, how many of them are free, and how busy they were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

WORKER_SEEN_WITHIN: Final = timedelta(seconds=15)
SATURATED_ABOVE: Final = 75.0


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A process with pollers, and when it last said that it lives."""

    name: str
    pollers: int
    seen_at: datetime


def alive(
    workers: Iterable[WorkerSeen], now: datetime, *, within: timedelta = WORKER_SEEN_WITHIN
) -> list[WorkerSeen]:
    """Those seen lately.

    One seen in the future was seen before the clock was set back, and may have died since. Were it believed,
    work would go to a dead worker until the clock has caught up; if it lives, its next sign shows it.
    """
    return [worker for worker in workers if abs(now - worker.seen_at) <= within]


def free_slots(
    workers: Iterable[WorkerSeen], active: int, now: datetime, *, within: timedelta = WORKER_SEEN_WITHIN
) -> int:
    """Pollers without work. `active` may still count what a dead worker has not given back."""
    return max(0, sum(worker.pollers for worker in alive(workers, now, within=within)) - active)


def busy_percentage(busy: timedelta, pollers: int, window: timedelta) -> float:
    """The share of the pollers' time in the window that was spent on work, 0 to 100."""
    available = pollers * window
    return max(0.0, min(100.0, 100.0 * (busy / available))) if available else 0.0


def is_saturated(percentage: float, *, above: float = SATURATED_ABOVE) -> bool:
    return percentage > above
