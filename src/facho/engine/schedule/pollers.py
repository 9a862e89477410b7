"""Writes how busy the pollers are: a row for each poller, and statistics of all."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.zabbix_pollers.models import PollerStats, PollerStatus
from facho.apps.zabbix_pollers.selectors import last_poller_stats, poller_stats
from facho.config import Config
from facho.engine.events.stream import publish
from facho.engine.events.types import SaturationEnded, SaturationStarted
from facho.engine.process.leases import StartedExecution


@dataclass(slots=True)
class _Poller:
    node_id: int | None = None
    since: datetime | None = None
    busy: timedelta = timedelta()
    completed: int = 0
    delayed: int = 0


class PollerActivity:
    """The activity of each poller of this process: kept in memory, and written now and then."""

    def __init__(self, worker: str, pollers: int, now: datetime) -> None:
        self._worker = worker
        self._began = now
        self._pollers = [_Poller() for _ in range(pollers)]
        self._lock = threading.Lock()
        self._changed = True

    def begin(self, number: int, started: StartedExecution) -> None:
        with self._lock:
            poller = self._pollers[number]
            poller.node_id, poller.since = started.node_id, started.started_at
            poller.delayed += started.delayed
            self._changed = True

    def end(self, number: int, now: datetime) -> None:
        with self._lock:
            poller = self._pollers[number]
            if poller.since is not None:
                poller.busy += max(timedelta(), now - poller.since)
                poller.completed += 1
            poller.node_id, poller.since = None, None
            self._changed = True

    def write(self, now: datetime, *, always: bool = False) -> None:
        with self._lock:
            if not (self._changed or always):
                return
            rows = [self._row(number, poller, now) for number, poller in enumerate(self._pollers, 1)]
            self._changed = False
        given = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s, %s)"] * len(rows))
        with sql.write_transaction():
            sql.execute(_SHOW.format(given), [value for row in rows for value in row])

    def _row(self, number: int, poller: _Poller, now: datetime) -> tuple[Any, ...]:
        """Return the values of the columns, in the order of _SHOWN."""
        running = now - poller.since if poller.since is not None else timedelta()
        return (
            self._worker,
            number,
            (PollerStatus.FREE if poller.since is None else PollerStatus.BUSY).value,
            poller.node_id,
            (poller.busy + running).total_seconds(),
            (now - self._began).total_seconds(),
            poller.completed,
            poller.delayed,
            sql.db_time(now),
        )


_SHOWN: Final = (
    "status", "current_node_id", "busy_time", "total_time", "tasks_completed", "tasks_delayed", "heartbeat"
)  # fmt: skip
_SHOW: Final = (
    f"INSERT INTO pollers (worker, poller_id, {', '.join(_SHOWN)}) VALUES {{}}"  # noqa: S608
    " ON CONFLICT (worker, poller_id) DO UPDATE SET "
    + ", ".join(f"{each} = excluded.{each}" for each in _SHOWN)
)


def write_poller_stats(now: datetime, config: Config) -> PollerStats | None:
    """Write a row of statistics, unless a process wrote one lately."""
    last = last_poller_stats(now)
    if last is not None and now - last.timestamp < config.poller_stats_every:
        return None
    stats = poller_stats(now, config, last)
    PollerStats.objects.bulk_create([stats], ignore_conflicts=True)
    if stats.is_saturated != bool(last and last.is_saturated):
        changed = SaturationStarted if stats.is_saturated else SaturationEnded
        publish(changed(busy_percentage=stats.busy_percentage, queue_size=stats.queue_size), now)
    return stats
