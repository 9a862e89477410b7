"""Claims waiting executions for free pollers: one short transaction that orders and marks them PENDING.

Whoever claims hands the ids to its backend after the transaction. An id that gets lost on the way is taken
back when its reservation runs out.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce

from facho.apps.executions.models import ACTIVE, Execution, State
from facho.apps.zabbix_pollers.models import Worker
from facho.config import Config
from facho.core.order import Waiting, choose
from facho.core.pool import WorkerSeen, free_slots

# Any number that no other program uses in the same database.
_LOCK: Final = 0xFAC40


def claim(now: datetime, config: Config, *, room: int | None = None) -> list[int]:
    """The ids of executions that are now PENDING, the first to start first.

    `room` is how many the caller itself can take, where it has no queue to share with others.
    """
    if room is not None and room <= 0:
        return []
    with transaction.atomic():
        _lock()
        free = free_slots(_workers(), _active(), now, within=config.worker_seen_within)
        chosen = choose(_waiting(now), busy_olts(now), free if room is None else min(free, room), now)
        ids = [each.execution_id for each in chosen]
        if ids:
            Execution.objects.filter(id__in=ids, state=State.WAITING).update(
                state=State.PENDING, lease_expires_at=now + config.lease
            )
    return ids


def claim_one(execution_id: int, now: datetime, config: Config) -> bool:
    """For a person who waits in front of the screen and needs no poller. False while the OLT is busy."""
    with transaction.atomic():
        _lock()
        olt = Execution.objects.filter(id=execution_id).values_list("olt", flat=True).first()
        if olt is None or olt in busy_olts(now):
            return False
        claimed = Execution.objects.filter(id=execution_id, state=State.WAITING).update(
            state=State.PENDING, lease_expires_at=now + config.lease
        )
    return claimed == 1


def _lock() -> None:
    """One at a time: two that order at once would fill one poller twice. SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _workers() -> list[WorkerSeen]:
    return [WorkerSeen(*row) for row in Worker.objects.values_list("name", "pollers", "seen_at")]


def _active() -> int:
    return Execution.objects.filter(state__in=ACTIVE).count()


def busy_olts(now: datetime) -> set[int]:
    """OLTs with an execution under way, or with a holder who may not know yet that it was aborted."""
    held = Q(state__in=ACTIVE) | (~Q(lease_token="") & Q(lease_expires_at__gt=now))
    return set(Execution.objects.filter(held).values_list("olt", flat=True))


def _waiting(now: datetime) -> Iterator[Waiting]:
    rows = Execution.objects.filter(state=State.WAITING, not_before__lte=now).values_list(
        "id",
        "olt_id",
        "slot",
        "not_before",
        "run_now",
        # What a person collects by hand has no node; it is claimed by that person's own process.
        Coalesce("node__interval_s", "node__job__interval_s", 1),
        Coalesce("node__priority", "node__job__priority", 1),
    )
    for execution, olt, slot, not_before, run_now, interval_s, priority in rows.filter(
        node__isnull=False
    ).iterator(2000):
        since = max(slot, not_before)
        yield Waiting(execution, olt, since, timedelta(seconds=interval_s), priority, run_now)
