"""Remove an OLT and all that is known of it: what grew long first, chunk by chunk, so that nobody waits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Final

from django.db.models import Model

from facho.apps import sql
from facho.apps.chassis.models import PonPort
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.execution_coordinator.models import ExecutionPlan, QuotaTracker, QuotaViolation
from facho.apps.executions.models import Execution, SkippedSlots
from facho.apps.history.models import HistoryFrame, HistoryHour
from facho.apps.hosts.models import Olt
from facho.apps.rows import delete_rows
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.engine.commands.olts import disable_olts, olt_named
from facho.engine.commands.turns import command
from facho.engine.retention import give_way

_LONG: Final[tuple[type[Model], ...]] = (
    Execution,
    SkippedSlots,
    OnuEvent,
    HistoryHour,
    HistoryFrame,
    QuotaTracker,
    QuotaViolation,
    ExecutionPlan,
)
# What a person would miss, by the name of its table.
_MISSED: Final[tuple[type[Model], ...]] = (
    SnmpJobHost, Onu, PonPort, Execution, OnuEvent, HistoryHour, QuotaTracker, QuotaViolation,
)  # fmt: skip


def goes_with(name: str) -> Mapping[str, int]:
    """How many rows of each table would be lost with the OLT."""
    return {model._meta.db_table: count for model, count in lost_with([olt_named(name).id]).items()}


def lost_with(olt_ids: Collection[int]) -> Mapping[type[Model], int]:
    return {model: model._default_manager.filter(olt__in=olt_ids).order_by().count() for model in _MISSED}


def remove_olt(name: str, now: datetime, config: Config, *, between: Callable[[], None] = give_way) -> None:
    """Disabled first, so that nothing more comes: what runs there writes nothing. Broken off, it stays
    disabled, and is removed by the next try.
    """
    olt = olt_named(name)
    disable_olts([name], now)
    for model in _LONG:
        while _remove_chunk(model, olt, config.retention_chunk):
            between()
    _remove_olt(olt.id)


def _remove_chunk(model: type[Model], olt: Olt, most: int) -> int:
    with sql.writing():
        rows = model._base_manager.filter(olt=olt.pk).order_by("pk")
        keys = list(rows.values_list("pk", flat=True)[:most])
        if keys:
            delete_rows(model, keys)
    return len(keys)


@command
def _remove_olt(olt_id: int) -> None:
    Olt.objects.filter(id=olt_id).delete()
