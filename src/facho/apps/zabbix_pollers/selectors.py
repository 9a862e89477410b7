"""Reads of workers, and of how busy their pollers are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from facho.apps.executions.models import ACTIVE, Execution, State
from facho.apps.executions.selectors import busy_time
from facho.apps.zabbix_pollers.models import PollerStats, Worker
from facho.config import Config
from facho.core.pool import WorkerSeen, alive_workers, busy_percentage, is_saturated


@dataclass(frozen=True, slots=True)
class Pool:
    workers: int
    pollers: int
    busy: int
    # In the last minute; None without pollers.
    busy_percentage: float | None
    saturated: bool

    @property
    def free(self) -> int:
        return max(0, self.pollers - self.busy)


def read_pool(now: datetime, config: Config, *, busy: int) -> Pool:
    """`busy` is how many executions are under way: the pollers' own rows are older."""
    living = alive_workers(read_workers(), now, within=config.worker_seen_within)
    pollers = sum(worker.pollers for worker in living)
    window = config.poller_stats_every
    percentage = busy_percentage(busy_time(now, window), pollers, window)
    return Pool(
        workers=len(living),
        pollers=pollers,
        busy=busy,
        busy_percentage=percentage if pollers else None,
        saturated=is_saturated(percentage, above=config.saturated_above),
    )


def read_workers() -> list[WorkerSeen]:
    return [WorkerSeen(*row) for row in Worker.objects.values_list("name", "pollers", "seen_at")]


def read_worker_profiles(now: datetime, config: Config) -> dict[str, str]:
    """Return the digest of the operator's profiles of each worker that is alive."""
    living = {worker.name for worker in alive_workers(read_workers(), now, within=config.worker_seen_within)}
    rows = Worker.objects.filter(name__in=living).order_by("name")
    return dict(rows.values_list("name", "profiles"))


def last_poller_stats(now: datetime) -> PollerStats | None:
    """Leave out rows from the future: those were written before the clock was set back."""
    return PollerStats.objects.filter(timestamp__lte=now).order_by("-timestamp").first()


def poller_stats(now: datetime, config: Config, last: PollerStats | None) -> PollerStats:
    """Return the statistics of now, not saved. They are counted from executions, whoever ran them."""
    found = read_pool(now, config, busy=Execution.objects.filter(state__in=ACTIVE).count())
    completed, delayed = _count_ended(last, now)
    return PollerStats(
        timestamp=now,
        total_pollers=found.pollers,
        free_pollers=found.free,
        busy_pollers=found.pollers - found.free,
        busy_percentage=round(found.busy_percentage or 0.0, 2),
        queue_size=Execution.objects.filter(state=State.WAITING, not_before__lte=now).count(),
        is_saturated=found.saturated,
        total_tasks_completed=(last.total_tasks_completed if last else 0) + completed,
        total_tasks_delayed=(last.total_tasks_delayed if last else 0) + delayed,
    )


def _count_ended(last: PollerStats | None, now: datetime) -> tuple[int, int]:
    """Return how many executions ended since then, and how many of them were late."""
    since = Execution.objects.filter(ended_at__lte=now)
    if last is not None:
        since = since.filter(ended_at__gt=last.timestamp)
    # Found by their end alone: asked for the state too, SQLite would look at all that ever succeeded.
    ran = Q(state__in=(State.SUCCESS, State.FAILED))
    counted = since.aggregate(
        completed=Count("id", filter=ran), delayed=Count("id", filter=ran & ~Q(why_late=""))
    )
    return counted["completed"], counted["delayed"]
