"""The status of the whole system as one object, in a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q
from django.db.models.lookups import LessThan

from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    CoordinatorState,
    QuotaTracker,
    QuotaViolation,
)
from facho.apps.executions import selectors as executions
from facho.apps.executions.models import ACTIVE, OPEN, Execution, State
from facho.apps.executions.selectors import HeldOlt, Queue
from facho.apps.hosts.health import Health, counts_by_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import closed_times, olts_under_maintenance
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import enabled_nodes
from facho.apps.zabbix_pollers.selectors import Pool, read_pool
from facho.config import Config
from facho.core.event_types import EventType
from facho.core.quota import Hour, hour_of
from facho.core.steps import COORDINATOR, LATE, SCHEDULER

_LOOK_BACK: Final = timedelta(hours=24)
_QUEUE_SHOWN: Final = 10
_AT_RISK_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Step:
    """The last step of a loop; None where there was none, or where its duration is not known."""

    at: datetime | None
    age: timedelta | None
    duration_ms: float | None


@dataclass(frozen=True, slots=True)
class Olts:
    """Numbers of OLTs. Suspended, unreachable and maintenance count enabled OLTs, each once at most."""

    enabled: int
    disabled: int
    suspended: int
    unreachable: int
    maintenance: int


@dataclass(frozen=True, slots=True)
class Nodes:
    """Numbers of nodes. Enabled includes the job and the OLT; overdue nodes are due and not queued."""

    enabled: int
    suspended: int
    overdue: int


@dataclass(frozen=True, slots=True)
class Executions:
    """Numbers of open executions, and how long the oldest one that may start has waited."""

    waiting: int
    pending: int
    running: int
    oldest_waits: timedelta | None


@dataclass(frozen=True, slots=True)
class Lease:
    """An OLT with an active execution. It has no worker while the execution is on the way to one."""

    olt: str
    execution_id: int
    job: str
    state: str
    worker: str
    expires_in: timedelta | None


@dataclass(frozen=True, slots=True)
class Configurations:
    """The configurations of OLTs that the coordinator compares to find changes."""

    known: int
    last_changed_at: datetime | None
    olts_without: int


@dataclass(frozen=True, slots=True)
class AtRisk:
    """A quota that can no longer be met, whatever becomes of the remaining slots."""

    olt: str
    task_type: str
    required: int
    completed: int
    pending: int


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of this hour."""

    hour: Hour
    by_status: Mapping[str, int]
    at_risk: int
    first_at_risk: tuple[AtRisk, ...]
    # OLTs that have slots in this hour and no trackers.
    olts_without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lately:
    """The last 24 hours: violations by severity, and lost lines of the log."""

    violations: Mapping[str, int]
    log_lines_lost: int


@dataclass(frozen=True, slots=True)
class Condition:
    now: datetime
    scheduler: Step
    coordinator: Step
    olts: Olts
    nodes: Nodes
    executions: Executions
    leases: tuple[Lease, ...]
    pool: Pool
    queue: Queue
    configurations: Configurations
    quotas: Quotas
    last_24_h: Lately

    def as_json(self) -> dict[str, Any]:
        """Return plain values: times in ISO 8601, durations in seconds."""
        found = _to_json(self)
        assert isinstance(found, dict)
        return found


def read_system_status(now: datetime, config: Config) -> Condition:
    held = executions.held_olts(now)
    pollers = read_pool(now, config, busy=sum(each.state in ACTIVE for each in held))
    steps = read_last_steps(now)
    olts, configurations = _count_olts(now)
    return Condition(
        now=now,
        scheduler=steps[SCHEDULER],
        coordinator=steps[COORDINATOR],
        olts=olts,
        nodes=_count_nodes(now, config),
        executions=_count_executions(now),
        leases=tuple(_lease(each, now) for each in held),
        pool=pollers,
        queue=executions.read_queue(now, held, pollers.pollers, pollers.free, limit=_QUEUE_SHOWN),
        configurations=configurations,
        quotas=_read_quotas(now, config),
        last_24_h=_read_last_day(now),
    )


def read_last_steps(now: datetime) -> dict[str, Step]:
    steps = dict.fromkeys((SCHEDULER, COORDINATOR), Step(None, None, None))
    rows = CoordinatorState.objects.filter(name__in=steps).values_list("name", "updated_at", "value")
    return steps | {name: Step(at, now - at, value.get("duration_ms")) for name, at, value in rows}


def _count_olts(now: datetime) -> tuple[Olts, Configurations]:
    counts = Counter(counts_by_health(olts_under_maintenance(now)))
    every, off = counts.total(), counts[Health.DISABLED]
    olts = Olts(
        every - off,
        off,
        counts[Health.SUSPENDED],
        counts[Health.UNREACHABLE],
        counts[Health.MAINTENANCE],
    )
    found = Olt.objects.aggregate(known=Count("configuration"), at=Max("configuration__changed_at"))
    return olts, Configurations(found["known"], found["at"], every - found["known"])


def _count_nodes(now: datetime, config: Config) -> Nodes:
    found = enabled_nodes().aggregate(
        enabled=Count("id"),
        suspended=Count("id", filter=~Q(suspended_reason="")),
        overdue=Count("id", filter=Q(next_run_at__lt=now - LATE * config.scheduler_step)),
    )
    return Nodes(**found)


def _count_executions(now: datetime) -> Executions:
    rows = Execution.objects.filter(state__in=OPEN).order_by().values_list("state")
    since = Min("not_before", filter=Q(state=State.WAITING, not_before__lte=now))
    counts, waits = Counter[str](), []
    for state, count, oldest in rows.annotate(count=Count("id"), oldest=since):
        counts[state] = count
        waits += [now - oldest] if oldest is not None else []
    return Executions(
        counts[State.WAITING], counts[State.PENDING], counts[State.RUNNING], max(waits, default=None)
    )


def _lease(held: HeldOlt, now: datetime) -> Lease:
    until = held.lease_expires_at
    return Lease(
        olt=held.olt,
        execution_id=held.execution_id,
        job=held.job,
        state=held.state,
        worker=held.worker,
        expires_in=None if until is None else until - now,
    )


def _read_quotas(now: datetime, config: Config) -> Quotas:
    hour = hour_of(now, config.time_zone)
    trackers = QuotaTracker.objects.filter(period_start=hour.start)
    at_risk = trackers.filter(closed_at__isnull=True).filter(is_at_risk(config.quota_kept))
    columns = ("olt__name", "task_type", "quota_required", "quota_completed", "quota_pending")
    found = list(at_risk.order_by("olt__name", "task_type").values_list(*columns))
    return Quotas(
        hour=hour,
        by_status=dict(trackers.order_by("status").values_list("status").annotate(Count("id"))),
        at_risk=len(found),
        first_at_risk=tuple(AtRisk(*row) for row in found[:_AT_RISK_SHOWN]),
        olts_without=tuple(olts_without_tracker(hour, config)),
    )


def is_at_risk(kept: float) -> LessThan:
    """Return core.quota.slots_left as a condition of rows."""
    most = F("quota_completed") + F("quota_pending")
    return LessThan(most * 100.0, F("quota_required") * kept)


def olts_without_tracker(hour: Hour, config: Config) -> Iterable[str]:
    """Return the OLTs with slots in this hour and no tracker, except those under maintenance."""
    due = SnmpJobHost.objects.filter(
        olt=OuterRef("id"), enabled=True, job__enabled=True, next_run_at__lte=hour.end
    )
    tracked = QuotaTracker.objects.filter(olt=OuterRef("id"), period_start=hour.start)
    closed = closed_times(None, hour.start, hour.end, config.time_zone)
    olts = Olt.objects.filter(Exists(due), ~Exists(tracked), enabled=True).exclude(id__in=list(closed))
    return olts.order_by("name").values_list("name", flat=True)


def _read_last_day(now: datetime) -> Lately:
    since = now - _LOOK_BACK
    violations = QuotaViolation.objects.filter(created_at__gt=since).order_by("severity")
    lost = CoordinatorLog.objects.filter(event_type=EventType.LOG_LOST, timestamp__gt=since)
    lines = sum(details.get("lines", 0) for details in lost.values_list("details", flat=True))
    return Lately(dict(violations.values_list("severity").annotate(Count("id"))), lines)


def _to_json(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return round(value.total_seconds(), 3)
        case Enum():
            return value.name.lower()
        case Mapping():
            return {name: _to_json(each) for name, each in value.items()}
        case list() | tuple():
            return [_to_json(each) for each in value]
        case _ if is_dataclass(value):
            return {each.name: _to_json(getattr(value, each.name)) for each in fields(value)}
        case _:
            return value
