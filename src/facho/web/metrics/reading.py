"""The samples of `/metrics`, in a fixed number of queries for any number of OLTs."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.cache import cache
from django.db.models import Count, Q

from facho import __version__
from facho.apps.db.database import database_kind
from facho.apps.discovery.models import Onu, PortOutage, Presence
from facho.apps.execution_coordinator.models import QuotaStatus, ViolationSeverity
from facho.apps.executions import store
from facho.apps.history.models import Subject
from facho.apps.hosts.health import Health, with_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.notifications.models import DeliveryStatus, NotificationDelivery
from facho.apps.remote_write.selectors import read_remote_write
from facho.apps.traffic.models import OltTraffic
from facho.apps.traffic.selectors import to_and_from_customers
from facho.config import Config
from facho.core.rates import is_on_time
from facho.engine.upkeep import storage
from facho.engine.upkeep.system_status import Condition, read_system_status
from facho.web.metrics.families import Sample

_LOOK_BACK: Final = timedelta(hours=24)
_BY_HAND: Final = "by_hand"
_UNKNOWN: Final = "unknown"
_ONU_COUNTS: Final = "facho.metrics.onus"


def samples(now: datetime, config: Config) -> Iterator[Sample]:
    yield Sample("facho_build_info", 1, (__version__, platform.python_version(), database_kind()))
    condition = read_system_status(now, config)
    yield from _loops_and_pollers(condition)
    yield from _work(condition)
    yield from _quotas(condition)
    yield from _olts(condition)
    yield from _outages_and_notifications(now)
    yield from _storage(now)
    if config.remote_write_url:
        yield from _remote_write(now)
    yield from _durations()
    yield from _each_olt(now)
    yield from _totals()
    yield from _traffic(now)
    yield from _onus(config)


def _loops_and_pollers(condition: Condition) -> Iterator[Sample]:
    for loop, step in (("scheduler", condition.scheduler), ("coordinator", condition.coordinator)):
        if step.age is not None:
            yield Sample("facho_step_age_seconds", max(0.0, step.age.total_seconds()), (loop,))
    pool = condition.pool
    yield Sample("facho_workers", pool.workers)
    yield Sample("facho_pollers", pool.pollers)
    yield Sample("facho_pollers_busy", min(pool.busy, pool.pollers))
    yield Sample("facho_pollers_busy_ratio", (pool.busy_percentage or 0.0) / 100)
    yield Sample("facho_pollers_saturated", pool.saturated)


def _work(condition: Condition) -> Iterator[Sample]:
    open_ = condition.executions
    yield Sample("facho_queue_size", condition.queue.size)
    waits = open_.oldest_waits or timedelta()
    yield Sample("facho_queue_oldest_wait_seconds", max(0.0, waits.total_seconds()))
    for state in ("waiting", "pending", "running"):
        yield Sample("facho_executions_open", getattr(open_, state), (state,))
    for state in ("enabled", "suspended", "overdue"):
        yield Sample("facho_nodes", getattr(condition.nodes, state), (state,))


def _quotas(condition: Condition) -> Iterator[Sample]:
    """Return zeros too: a curve that begins with its first violation hides that one."""
    quotas = condition.quotas
    for status in QuotaStatus.values:
        yield Sample("facho_quotas", quotas.by_status.get(status, 0), (status.lower(),))
    yield Sample("facho_quotas_at_risk", quotas.at_risk)
    yield Sample("facho_olts_without_trackers", len(quotas.olts_without))
    for severity in ViolationSeverity.values:
        count = condition.last_24_h.violations.get(severity, 0)
        yield Sample("facho_violations", count, (severity.lower(),))
    yield Sample("facho_log_lines_lost", condition.last_24_h.log_lines_lost)


def _olts(condition: Condition) -> Iterator[Sample]:
    for state in ("enabled", "disabled", "suspended", "unreachable", "maintenance"):
        yield Sample("facho_olts", getattr(condition.olts, state), (state,))


def _outages_and_notifications(now: datetime) -> Iterator[Sample]:
    open_ = PortOutage.objects.filter(ended_at__isnull=True).order_by()
    outages = dict(open_.values_list("cause").annotate(Count("id")))
    for cause in PortOutage.Cause.values:
        yield Sample("facho_outages_open", outages.get(cause, 0), (cause,))
    waiting = Q(status__in=(DeliveryStatus.WAITING, DeliveryStatus.SENDING))
    failed = Q(status=DeliveryStatus.FAILED, created_at__gte=now - _LOOK_BACK)
    rows = NotificationDelivery.objects.filter(waiting | failed).order_by()
    counted = rows.aggregate(waiting=Count("id", filter=waiting), failed=Count("id", filter=failed))
    for status, count in counted.items():
        yield Sample("facho_notifications", count, (status,))


def _storage(now: datetime) -> Iterator[Sample]:
    found = storage.forecast_storage(now, storage.database_room())
    yield Sample("facho_database_bytes", found.now.database_bytes)
    if found.now.free_bytes is not None:
        yield Sample("facho_disk_free_bytes", found.now.free_bytes)
    if found.days_left is not None and not found.rough:
        yield Sample("facho_disk_days_left", found.days_left)


def _remote_write(now: datetime) -> Iterator[Sample]:
    state = read_remote_write(now)
    yield Sample("facho_remote_write_samples_total", state.sent)
    for reason, count in state.dropped.items():
        yield Sample("facho_remote_write_dropped_total", count, (reason,))
    yield Sample("facho_remote_write_backlog_seconds", state.backlog.total_seconds())
    yield Sample("facho_remote_write_olts_behind", state.olts_behind)
    yield Sample("facho_remote_write_failing", state.failing_since is not None)
    if state.last_success_at is not None:
        age = max(0.0, (now - state.last_success_at).total_seconds())
        yield Sample("facho_remote_write_success_age_seconds", age)


def _durations() -> Iterator[Sample]:
    name = "facho_execution_duration_seconds"
    for row in store.totals_by_kind():
        kind = (row["kind"] or _BY_HAND,)
        for most in store.WITHIN:
            yield Sample(name, row[f"all_within_{most}s"], kind, "_bucket", f"{most}.0")
        count = row["all_succeeded"] + row["all_failed"]
        yield Sample(name, count, kind, "_bucket", "+Inf")
        yield Sample(name, count, kind, "_count")
        yield Sample(name, row["all_seconds"], kind, "_sum")


def _each_olt(now: datetime) -> Iterator[Sample]:
    columns = ("name", "brand__name", "site", "enabled", "condition", "reachable")
    rows = with_health(olts_under_maintenance(now)).values_list(*columns)
    for name, brand, site, enabled, health, reachable in rows:
        yield Sample("facho_olt_info", 1, (name, brand, site))
        yield Sample("facho_olt_enabled", enabled, (name,))
        yield Sample("facho_olt_suspended", health == Health.SUSPENDED, (name,))
        if reachable is not None:
            yield Sample("facho_olt_reachable", reachable, (name,))


# Counters and the columns that they are the sums of.
_COUNTERS: Final = {
    "facho_executions_delayed_total": "delayed",
    "facho_execution_delay_seconds_total": "delay_seconds",
    "facho_retries_total": "retries",
    "facho_retry_wait_seconds_total": "retry_wait_seconds",
    "facho_snmp_requests_total": "requests",
    "facho_snmp_timeouts_total": "timeouts",
    "facho_snmp_varbinds_total": "varbinds",
    "facho_snmp_seconds_total": "snmp_seconds",
}


def _totals() -> Iterator[Sample]:
    for row in store.totals_by_olt():
        olt = row["olt__name"]
        ended = {"success": row["all_succeeded"], "failed": row["all_failed"]}
        for result, count in ended.items():
            yield Sample("facho_executions_total", count, (olt, result))
        yield Sample("facho_olt_execution_seconds", sum(ended.values()), (olt,), "_count")
        yield Sample("facho_olt_execution_seconds", row["all_seconds"], (olt,), "_sum")
        for direction in ("sent", "received"):
            yield Sample("facho_snmp_bytes_total", row[f"all_bytes_{direction}"], (olt, direction))
        for name, column in _COUNTERS.items():
            yield Sample(name, row[f"all_{column}"], (olt,))


def _traffic(now: datetime) -> Iterator[Sample]:
    columns = ("olt__name", "subject", "at", "interval_s", "in_bps", "out_bps", *_DROPPED)
    for olt, subject, at, interval_s, in_bps, out_bps, *dropped in OltTraffic.objects.values_list(*columns):
        labels = (olt, _OF.get(subject, subject))
        if at is not None and is_on_time(at, interval_s, now):
            sides = to_and_from_customers(subject, in_bps, out_bps)
            for direction, bps in zip(("to_customers", "from_customers"), sides, strict=True):
                if bps is not None:
                    yield Sample("facho_olt_traffic_bits_per_second", bps, (*labels, direction))
        for reason, count in zip(_DROPPED, dropped, strict=True):
            yield Sample("facho_rates_dropped_total", count, (*labels, reason))


# What has traffic, as people call it.
_OF: Final = {Subject.ONU.value: "onu", Subject.PORT.value: "port", Subject.UPLINK.value: "uplink"}
_DROPPED: Final = ("over", "resets", "gaps")


def _onus(config: Config) -> Iterator[Sample]:
    """Return cached counts: a million rows are not counted for every scrape."""
    kept = config.metrics_onus_every.total_seconds()
    counts: dict[tuple[str, str], int] = cache.get_or_set(_ONU_COUNTS, _count_onus, kept) or {}
    for (olt, state), count in counts.items():
        yield Sample("facho_onus", count, (olt, state))


def _count_onus() -> dict[tuple[str, str], int]:
    names = dict(Olt.objects.values_list("id", "name"))
    found = Counter[tuple[str, str]]()
    # The names are not joined: the database would join each row before counting.
    rows = Onu.objects.order_by().values_list("olt_id", "presence", "state").annotate(Count("id"))
    for olt, presence, state, count in rows:
        if olt in names:
            found[names[olt], "absent" if presence == Presence.ABSENT else state or _UNKNOWN] += count
    return dict(found)


def onu_samples(olt: Olt) -> Iterator[Sample]:
    """Return the samples of each ONU of an OLT."""
    columns = ("id", "address", "serial", "presence", "state", "onu_rx_dbm", "olt_rx_dbm")
    rows: Any = Onu.objects.filter(olt=olt).order_by("id").values_list(*columns)
    for onu, place, serial, presence, state, at_onu, at_olt in rows:
        labels = (olt.name, str(onu), place or "", serial)
        shown = "absent" if presence == Presence.ABSENT else state or _UNKNOWN
        yield Sample("facho_onu_state", 1, (*labels, shown))
        if at_onu is not None:
            yield Sample("facho_onu_rx_power_dbm", at_onu, labels)
        if at_olt is not None:
            yield Sample("facho_onu_olt_rx_power_dbm", at_olt, labels)
