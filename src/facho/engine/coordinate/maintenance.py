"""Maintenance windows: aborts executions in them, and reports when they begin and end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q, QuerySet

from facho.apps.db import sql
from facho.apps.executions.models import OPEN, Execution
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.maintenance.selectors import olts_closed_at
from facho.config import Config
from facho.core.maintenance import span_at, spans
from facho.core.reasons import Reason
from facho.engine.coordinate.aborts import abort_open
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.events.stream import publish
from facho.engine.events.types import MaintenanceEnded, MaintenanceStarted

_TICK: Final = timedelta(microseconds=1)


def abort_in_maintenance(now: datetime, config: Config) -> None:
    """Abort what runs or waits on OLTs whose window has begun. Their slots do not count."""
    if _open_in_maintenance(now, config).exists():
        with sql.write_transaction():
            reconcile_trackers(abort_without_reconciling(now, config), now, config)


def abort_without_reconciling(now: datetime, config: Config) -> list[int]:
    """Abort them, and return their OLTs, whose trackers the caller reconciles in the same transaction."""
    aborted = abort_open(_open_in_maintenance(now, config), Reason.of("under_maintenance"), now, counts=False)
    return sorted({each.olt_id for each in aborted})


def _open_in_maintenance(now: datetime, config: Config) -> QuerySet[Execution]:
    return Execution.objects.filter(olt__in=olts_closed_at(now, config.time_zone), state__in=OPEN)


def report_windows(now: datetime, config: Config) -> None:
    """Publish which windows began and which ended, unless another process did so meanwhile."""
    candidates = Q(noted_at__isnull=False) | ~Q(weekdays="") | Q(starts_at__lte=now, ends_at__gt=now)
    for window in MaintenanceWindow.objects.filter(candidates).select_related("olt"):
        span = window.enabled and span_at(spans(window.plan, now, now + _TICK, config.time_zone), now)
        since = span[0] if span else None
        if since == window.noted_at or not _claim_report(window, since):
            continue
        if window.noted_at is not None:
            publish(MaintenanceEnded(olt_id=window.olt_id, window=window.name, target=window.target), now)
        if span:
            publish(
                MaintenanceStarted(
                    olt_id=window.olt_id, window=window.name, target=window.target, until=span[1]
                ),
                now,
            )


def _claim_report(window: MaintenanceWindow, since: datetime | None) -> bool:
    unchanged = MaintenanceWindow.objects.filter(id=window.id, noted_at=window.noted_at)
    return unchanged.update(noted_at=since) == 1
