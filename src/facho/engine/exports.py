"""Lists as CSV: what of each row is written, and in what order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Model, QuerySet

from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation
from facho.apps.executions.models import Execution
from facho.apps.hosts.models import Olt
from facho.core.spreadsheet import lines

_CHUNK: Final = 2000


@dataclass(frozen=True, slots=True)
class Export:
    model: type[Model]
    # A name of a column, and where it is.
    columns: dict[str, str]
    # The time by which it can be narrowed, if it has one.
    at: str = ""

    def rows(self, olt: Olt | None, since: datetime | None, until: datetime | None) -> QuerySet[Any]:
        wanted = {"olt": olt, f"{self.at}__gte": since, f"{self.at}__lt": until}
        given = {name: value for name, value in wanted.items() if value is not None}
        return self.model._default_manager.filter(**given)

    def csv(self, rows: QuerySet[Any]) -> Iterator[str]:
        """In the order that they have. Read as they are written: there may be a million."""
        values: QuerySet[Any, Any] = rows.values_list(*self.columns.values())
        return lines(list(self.columns), values.iterator(chunk_size=_CHUNK))


def _columns(names: Sequence[str], **elsewhere: str) -> dict[str, str]:
    return {name: elsewhere.get(name, name) for name in names}


EXPORTS: Final = {
    "executions": Export(
        Execution,
        _columns(
            (
                "id", "olt", "job", "state", "trigger", "slot", "queued_at", "started_at", "ended_at",
                "delay_ms", "why_late", "attempt", "worker", "error",
            ),
            olt="olt__name", job="node__job__name",
        ),
        at="slot",
    ),
    "onus": Export(
        Onu,
        _columns(
            (
                "id", "olt", "frame", "slot", "port", "onu_id", "serial", "mac", "description", "model",
                "plan", "state", "down_cause", "distance_m", "onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm",
                "temperature_c", "presence", "first_seen", "last_seen",
            ),
            olt="olt__name",
        ),
    ),
    "quotas": Export(
        QuotaTracker,
        _columns(
            (
                "olt", "task_type", "period_start", "period_end", "quota_required", "quota_completed",
                "quota_failed", "quota_skipped", "quota_pending", "total_duration_ms", "avg_duration_ms",
                "status", "reasons",
            ),
            olt="olt__name",
        ),
        at="period_start",
    ),
    "violations": Export(
        QuotaViolation,
        _columns(
            ("id", "olt", "period_start", "period_end", "severity", "notified", "notified_at", "created_at",
             "report"),
            olt="olt__name",
        ),
        at="period_start",
    ),
    "events": Export(
        OnuEvent,
        _columns(("id", "at", "olt", "kind", "serial", "place", "before", "cause"), olt="olt__name"),
        at="at",
    ),
}  # fmt: skip


def export_of(model: type[Model]) -> tuple[str, Export]:
    """With its name."""
    return next((name, export) for name, export in EXPORTS.items() if export.model is model)
