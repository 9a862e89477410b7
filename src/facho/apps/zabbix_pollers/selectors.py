"""How many pollers there are, and how busy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from facho.apps.executions.selectors import busy_time
from facho.apps.zabbix_pollers.models import Worker
from facho.config import Config
from facho.core.pool import WorkerSeen, alive_workers, busy_percentage, is_saturated


@dataclass(frozen=True, slots=True)
class Pool:
    workers: int
    pollers: int
    busy: int
    # Of the last minute; None where there are none.
    busy_percentage: float | None
    saturated: bool

    @property
    def free(self) -> int:
        return max(0, self.pollers - self.busy)


def pool(now: datetime, config: Config, *, busy: int) -> Pool:
    """`busy` is how many executions are under way: that is known better than what the pollers last said."""
    living = alive_workers(workers(), now, within=config.worker_seen_within)
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


def workers() -> list[WorkerSeen]:
    return [WorkerSeen(*row) for row in Worker.objects.values_list("name", "pollers", "seen_at")]
