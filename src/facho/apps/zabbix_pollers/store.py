"""Writes of workers and their pollers."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q

from facho.apps.db import sql
from facho.apps.executions.store import return_to_queue
from facho.apps.zabbix_pollers.models import Poller, Worker
from facho.core import pool
from facho.core.pool import SNMP_QUEUES
from facho.vendors import current_library


def register_worker(
    worker: str, pollers: int, now: datetime, queues: frozenset[str] = frozenset(SNMP_QUEUES)
) -> None:
    columns = {
        "pollers": pollers,
        "queues": pool.encode_queues(queues),
        "profiles": current_library().own.digest,
        "started_at": now,
        "seen_at": now,
    }
    with sql.write_transaction():
        Worker.objects.update_or_create(name=worker, defaults=columns)
        Poller.objects.filter(worker=worker).delete()
        Poller.objects.bulk_create(
            Poller(poller_id=number, worker=worker, heartbeat=now) for number in range(1, pollers + 1)
        )


def update_heartbeat(
    worker: str, pollers: int, now: datetime, queues: frozenset[str] = frozenset(SNMP_QUEUES)
) -> None:
    row = Worker.objects.filter(name=worker)
    if not row.update(seen_at=now, pollers=pollers, queues=pool.encode_queues(queues)):
        # Others removed it as lost: the machine slept, or the database was away.
        register_worker(worker, pollers, now, queues)


def unregister_worker(worker: str) -> None:
    """Remove the worker. The last one returns what was claimed meanwhile: nobody is there to start it."""
    Worker.objects.filter(name=worker).delete()
    Poller.objects.filter(worker=worker).delete()
    if not Worker.objects.filter(pollers__gt=0).exists():
        return_to_queue()


def remove_lost_workers(now: datetime, *, within: timedelta) -> int:
    """Remove workers without a heartbeat `within` this time of now. Return how many."""
    lost = Worker.objects.filter(Q(seen_at__lt=now - within) | Q(seen_at__gt=now + within))
    names = list(lost.values_list("name", flat=True))
    if names:
        Poller.objects.filter(worker__in=names).delete()
        lost.filter(name__in=names).delete()
    return len(names)
