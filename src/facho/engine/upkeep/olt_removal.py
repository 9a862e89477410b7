"""Remove an OLT with all its rows in chunks, the long tables first, so that other writers do not wait."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Final

from django.db.models import Model

from facho.apps.chassis.models import PonPort, Uplink
from facho.apps.db import sql
from facho.apps.db.database import pause_for_other_writers
from facho.apps.db.sql import delete_plain_rows, delete_rows
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.execution_coordinator.models import ExecutionPlan, QuotaTracker, QuotaViolation
from facho.apps.executions.models import Execution, SkippedSlots
from facho.apps.history.models import HistoryFrame, HistoryHour
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.engine.coordinate.changes import replan
from facho.engine.process.command_transaction import command
from facho.engine.upkeep.retention import lock_removals

_LONG_TABLES: Final[tuple[type[Model], ...]] = (
    Execution,
    SkippedSlots,
    OnuEvent,
    Onu,
    HistoryHour,
    HistoryFrame,
    QuotaTracker,
    QuotaViolation,
    ExecutionPlan,
)
# Chunks while a person waits for the answer: enough for an OLT with little data.
FIRST_CHUNKS: Final = 10
# Chunks of an OLT in one turn of the housekeeping.
_CHUNKS_PER_TURN: Final = 20
# Tables whose rows are counted before a person confirms.
_COUNTED_TABLES: Final[tuple[type[Model], ...]] = (
    SnmpJobHost, Onu, PonPort, Uplink, Execution, OnuEvent, HistoryHour, QuotaTracker, QuotaViolation,
)  # fmt: skip


def count_rows_of(olt_ids: Collection[int]) -> Mapping[type[Model], int]:
    return {
        model: model._default_manager.filter(olt__in=olt_ids).order_by().count() for model in _COUNTED_TABLES
    }


def remove_olt_in_chunks(
    olt_id: int,
    now: datetime,
    config: Config,
    *,
    between: Callable[[], None] = pause_for_other_writers,
    chunks: int | None = None,
) -> bool:
    """Disabled first, so that nothing more comes: what runs there writes nothing. Whether it is gone: what is
    left after so many chunks, or when it is broken off, goes bit by bit as the engine keeps house.
    """
    mark_olt_removed(olt_id, now)
    return _remove_chunks(olt_id, config, between, chunks)


def continue_removals(
    now: datetime, config: Config, *, between: Callable[[], None] = pause_for_other_writers
) -> int:
    """Remove some chunks of each OLT that is being removed, and return how many OLTs are gone."""
    going = Olt.objects.filter(removed_at__lte=now).order_by("removed_at").values_list("id", flat=True)
    return sum(_remove_chunks(olt_id, config, between, _CHUNKS_PER_TURN) for olt_id in list(going))


def _remove_chunks(olt_id: int, config: Config, between: Callable[[], None], chunks: int | None) -> bool:
    for number, _ in enumerate(_chunk_sizes(olt_id, config), 1):
        if number == chunks:
            return False
        between()
    _remove_olt(olt_id)
    return True


@command
def mark_olt_removed(olt_id: int, now: datetime) -> None:
    if Olt.objects.filter(id=olt_id, removed_at=None).update(enabled=False, removed_at=now):
        replan([olt_id], now)


def _chunk_sizes(olt_id: int, config: Config) -> Iterator[int]:
    """Delete chunk by chunk and yield their sizes. Referring rows are deleted before those they refer to."""
    for model in _LONG_TABLES:
        while count := _remove_chunk(model, olt_id, config.retention_chunk):
            yield count


def _remove_chunk(model: type[Model], olt_id: int, most: int) -> int:
    with sql.write_transaction():
        lock_removals()
        rows = model._base_manager.filter(olt=olt_id).order_by("pk")
        keys = list(rows.values_list("pk", flat=True)[:most])
        if keys and model is Onu:
            delete_plain_rows(model, keys)
        elif keys:
            delete_rows(model, keys)
    return len(keys)


@command
def _remove_olt(olt_id: int) -> None:
    Olt.objects.filter(id=olt_id).delete()
