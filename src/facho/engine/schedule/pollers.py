"""How busy the pollers are: a heartbeat per process, a row per slot to look at, and statistics."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Q

from facho.apps.db import sql
from facho.apps.executions.models import ACTIVE, Execution, State
from facho.apps.executions.selectors import busy_time
from facho.apps.zabbix_pollers.models import Poller, PollerStats, PollerStatus, Worker
from facho.config import Config
from facho.core import queue
from facho.core.pool import WorkerSeen, alive_workers, busy_percentage, is_saturated
from facho.core.queue import SNMP_QUEUES
from facho.engine.events.stream import publish
from facho.engine.events.types import SaturationEnded, SaturationStarted
from facho.engine.process.leases import StartedExecution


def register_worker(
    worker: str, pollers: int, now: datetime, queues: frozenset[str] = frozenset(SNMP_QUEUES)
) -> None:
    lent = {"pollers": pollers, "queues": queue.encode_queues(queues)}
    with sql.write_transaction():
        Worker.objects.update_or_create(name=worker, defaults={**lent, "started_at": now, "seen_at": now})
        Poller.objects.filter(worker=worker).delete()
        Poller.objects.bulk_create(
            Poller(poller_id=number, worker=worker, heartbeat=now) for number in range(1, pollers + 1)
        )


def update_heartbeat(
    worker: str, pollers: int, now: datetime, queues: frozenset[str] = frozenset(SNMP_QUEUES)
) -> None:
    lent = {"pollers": pollers, "queues": queue.encode_queues(queues)}
    if not Worker.objects.filter(name=worker).update(seen_at=now, **lent):
        # Others thought that we were gone: the machine slept, or the database was away.
        register_worker(worker, pollers, now, queues)


def unregister_worker(worker: str) -> None:
    """Whoever leaves last gives back what was claimed while it was leaving: nobody is there to begin it."""
    Worker.objects.filter(name=worker).delete()
    Poller.objects.filter(worker=worker).delete()
    if not Worker.objects.filter(pollers__gt=0).exists():
        Execution.objects.filter(state=State.PENDING).update(state=State.WAITING, lease_expires_at=None)


@dataclass(slots=True)
class _Slot:
    node_id: int | None = None
    since: datetime | None = None
    busy: timedelta = timedelta()
    completed: int = 0
    delayed: int = 0


class PollerActivity:
    """What the slots of this process do, kept here and written now and then."""

    def __init__(self, worker: str, pollers: int, now: datetime) -> None:
        self._worker = worker
        self._began = now
        self._slots = [_Slot() for _ in range(pollers)]
        self._lock = threading.Lock()
        self._changed = True

    def begin(self, number: int, started: StartedExecution) -> None:
        with self._lock:
            slot = self._slots[number]
            slot.node_id, slot.since = started.node_id, started.started_at
            slot.delayed += started.delayed
            self._changed = True

    def end(self, number: int, now: datetime) -> None:
        with self._lock:
            slot = self._slots[number]
            if slot.since is not None:
                slot.busy += max(timedelta(), now - slot.since)
                slot.completed += 1
            slot.node_id, slot.since = None, None
            self._changed = True

    def write(self, now: datetime, *, always: bool = False) -> None:
        with self._lock:
            if not (self._changed or always):
                return
            rows = [self._row(number, slot, now) for number, slot in enumerate(self._slots, 1)]
            self._changed = False
        given = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s, %s)"] * len(rows))
        with sql.write_transaction():
            sql.execute(_SHOW.format(given), [value for row in rows for value in row])

    def _row(self, number: int, slot: _Slot, now: datetime) -> tuple[Any, ...]:
        """In the order of _SHOWN."""
        running = now - slot.since if slot.since is not None else timedelta()
        return (
            self._worker,
            number,
            (PollerStatus.FREE if slot.since is None else PollerStatus.BUSY).value,
            slot.node_id,
            (slot.busy + running).total_seconds(),
            (now - self._began).total_seconds(),
            slot.completed,
            slot.delayed,
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
    """A row, unless one was written lately, by whatever process."""
    last = last_stats(now)
    if last is not None and now - last.timestamp < config.poller_stats_every:
        return None
    stats = stats_now(now, config, last)
    PollerStats.objects.bulk_create([stats], ignore_conflicts=True)
    if stats.is_saturated != bool(last and last.is_saturated):
        changed = SaturationStarted if stats.is_saturated else SaturationEnded
        publish(changed(busy_percentage=stats.busy_percentage, queue_size=stats.queue_size), now)
    return stats


def last_stats(now: datetime) -> PollerStats | None:
    """One from the future was written before the clock was set back, and says nothing of now."""
    return PollerStats.objects.filter(timestamp__lte=now).order_by("-timestamp").first()


def stats_now(now: datetime, config: Config, last: PollerStats | None) -> PollerStats:
    """Counted from the executions, so that it does not matter who ran them."""
    workers = [WorkerSeen(*row) for row in Worker.objects.values_list("name", "pollers", "seen_at")]
    total = sum(worker.pollers for worker in alive_workers(workers, now, within=config.worker_seen_within))
    busy = min(total, Execution.objects.filter(state__in=ACTIVE).count())
    percentage = busy_percentage(busy_time(now, config.poller_stats_every), total, config.poller_stats_every)
    completed, delayed = _ended_since(last, now)
    return PollerStats(
        timestamp=now,
        total_pollers=total,
        free_pollers=total - busy,
        busy_pollers=busy,
        busy_percentage=round(percentage, 2),
        queue_size=Execution.objects.filter(state=State.WAITING, not_before__lte=now).count(),
        is_saturated=is_saturated(percentage, above=config.saturated_above),
        total_tasks_completed=(last.total_tasks_completed if last else 0) + completed,
        total_tasks_delayed=(last.total_tasks_delayed if last else 0) + delayed,
    )


def _ended_since(last: PollerStats | None, now: datetime) -> tuple[int, int]:
    """How many were completed, and how many of them were late."""
    since = Execution.objects.filter(ended_at__lte=now)
    if last is not None:
        since = since.filter(ended_at__gt=last.timestamp)
    # Found by their end alone: asked for the state too, SQLite would look at all that ever succeeded.
    ran = Q(state__in=(State.SUCCESS, State.FAILED))
    counted = since.aggregate(
        completed=Count("id", filter=ran), delayed=Count("id", filter=ran & ~Q(why_late=""))
    )
    return counted["completed"], counted["delayed"]
