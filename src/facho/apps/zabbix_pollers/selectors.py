"""How many pollers there are, and how busy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from facho.apps.zabbix_pollers.models import PollerStats, Worker
from facho.config import Config
from facho.core.pool import WorkerSeen, alive


@dataclass(frozen=True, slots=True)
class Pool:
    workers: int
    pollers: int
    busy: int
    # Of the last minute that was measured; None where nobody measures.
    busy_percentage: float | None
    saturated: bool

    @property
    def free(self) -> int:
        return max(0, self.pollers - self.busy)


def pool(now: datetime, config: Config, *, busy: int) -> Pool:
    """`busy` is how many executions are under way: that is known better than what the pollers last said."""
    living = alive(workers(), now, within=config.worker_seen_within)
    measured = _last_measured(now, config)
    return Pool(
        workers=len(living),
        pollers=sum(worker.pollers for worker in living),
        busy=busy,
        busy_percentage=measured.busy_percentage if measured else None,
        saturated=measured.is_saturated if measured else False,
    )


def workers() -> list[WorkerSeen]:
    return [WorkerSeen(*row) for row in Worker.objects.values_list("name", "pollers", "seen_at")]


def _last_measured(now: datetime, config: Config) -> PollerStats | None:
    """Older than two periods, it says nothing about now."""
    newest = PollerStats.objects.order_by("-timestamp").first()
    if newest is None or now - newest.timestamp > 2 * config.poller_stats_every:
        return None
    return newest
