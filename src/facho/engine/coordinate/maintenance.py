"""Leaves OLTs alone while people work on them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q, QuerySet

from facho.apps.db import sql
from facho.apps.executions.models import OPEN, Execution
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.maintenance.selectors import closed_times
from facho.config import Config
from facho.core.maintenance import span_at, spans
from facho.engine.coordinate.aborts import abort_open
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.events.stream import publish
from facho.engine.events.types import MaintenanceEnded, MaintenanceStarted

UNDER_MAINTENANCE: Final = "the OLT is under maintenance"

_TICK: Final = timedelta(microseconds=1)


def abort_in_maintenance(now: datetime, config: Config) -> None:
    """Ends what runs or waits on OLTs whose window has begun. Their slots do not count."""
    if _unwanted(now, config).exists():
        with sql.write_transaction():
            reconcile_trackers(abort_unwanted(now, config), now, config)


def abort_unwanted(now: datetime, config: Config) -> list[int]:
    """The OLTs of what was ended: what they owe has to be looked up again, in the same transaction."""
    ended = abort_open(_unwanted(now, config), UNDER_MAINTENANCE, now, counts=False)
    return sorted({each.olt_id for each in ended})


def _unwanted(now: datetime, config: Config) -> QuerySet[Execution]:
    closed = closed_times(None, now, now + _TICK, config.time_zone)
    return Execution.objects.filter(olt__in=list(closed), state__in=OPEN)


def report_windows(now: datetime, config: Config) -> None:
    """Writes down which windows began and which ended, unless another process did so meanwhile."""
    for window in MaintenanceWindow.objects.filter(_may_be_noted(now)).select_related("olt"):
        lasting = window.enabled and span_at(spans(window.plan, now, now + _TICK, config.time_zone), now)
        since = lasting[0] if lasting else None
        if since == window.noted_at or not _note(window, since):
            continue
        if window.noted_at is not None:
            publish(MaintenanceEnded(olt_id=window.olt_id, window=window.name, target=window.target), now)
        if lasting:
            publish(
                MaintenanceStarted(
                    olt_id=window.olt_id, window=window.name, target=window.target, until=lasting[1]
                ),
                now,
            )


def _may_be_noted(now: datetime) -> Q:
    return Q(noted_at__isnull=False) | ~Q(weekdays="") | Q(starts_at__lte=now, ends_at__gt=now)


def _note(window: MaintenanceWindow, since: datetime | None) -> bool:
    as_it_was = MaintenanceWindow.objects.filter(id=window.id, noted_at=window.noted_at)
    return as_it_was.update(noted_at=since) == 1
