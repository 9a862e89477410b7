"""CSV exports: the columns of each list."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Model, QuerySet

from facho.apps.access.models import AuditEntry
from facho.apps.chassis.chassis_facts import facts_among_extras
from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned, Uplink
from facho.apps.chassis.selectors import hardware_versions
from facho.apps.db.database import database_now
from facho.apps.db.row_pages import read_pages
from facho.apps.discovery.extra_facts import UNIS, onu_extra_facts
from facho.apps.discovery.models import Onu, OnuEvent, PortOutage, Presence, VersionCount
from facho.apps.discovery.selectors import offline_since_of
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    ExecutionPlan,
    QuotaTracker,
    QuotaViolation,
)
from facho.apps.executions.models import Execution
from facho.apps.extras import read_extras
from facho.apps.hosts.health import silent_olts
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.core.freshness import shown_state
from facho.core.olt_status import OltStatus
from facho.core.onu_states import down_cause, onu_status
from facho.core.optics import has_weak_power
from facho.core.spreadsheet import csv_lines

_PAGE: Final = 2000


class Judged(NamedTuple):
    """Columns that are decided by the rules of `core`, from the fields that they need."""

    names: tuple[str, ...]
    needs: tuple[str, ...]
    # Called once for an export; returns what judges the fields of each row.
    begin: Callable[[], Callable[..., tuple[Any, ...]]]


_NOTHING: Final = Judged((), (), lambda: lambda: ())


@dataclass(frozen=True, slots=True)
class Export:
    model: type[Model]
    # Headers, and the fields that they show.
    columns: dict[str, str]
    # The time column to filter by, if there is one.
    at: str = ""
    # The field of the OLT to filter by, if there is one.
    of: str = "olt"
    judged: Judged = _NOTHING

    def rows(self, olt: Olt | None, since: datetime | None, until: datetime | None) -> QuerySet[Any]:
        wanted = {self.of: None if olt is None else olt.pk, f"{self.at}__gte": since, f"{self.at}__lt": until}
        given = {name: value for name, value in wanted.items() if value is not None}
        return self.model._default_manager.filter(**given)

    def csv(self, rows: QuerySet[Any]) -> Iterator[str]:
        """Yield CSV text in the order of the rows, which are read page by page."""
        shown, judge = len(self.columns), self.judged.begin()
        pages = read_pages(rows, [*self.columns.values(), *self.judged.needs], _PAGE)
        lines = ((*row[:shown], *judge(*row[shown:])) for page in pages for row in page)
        return csv_lines([*self.columns, *self.judged.names], lines)


def columns(names: Sequence[str], **elsewhere: str) -> dict[str, str]:
    return {name: elsewhere.get(name, name) for name in names}


def _onu_judge() -> Callable[..., tuple[Any, ...]]:
    silent = silent_olts(olts_under_maintenance(database_now()))

    facts = onu_extra_facts()

    def judge(
        olt_id: int,
        state: str,
        reported: str,
        presence: str,
        optical: str,
        extras: str,
        since: datetime | None,
        is_dated: bool,
    ) -> tuple[Any, ...]:
        shown = shown_state(state, silent.get(olt_id, OltStatus.FINE)).state
        weak = presence == Presence.PRESENT and has_weak_power(optical)
        others = read_extras(extras)
        unis = json.dumps(others[UNIS]) if UNIS in others else ""
        offline = offline_since_of(state, since, is_dated, extras)
        judged = shown, onu_status(shown).value, down_cause(shown, reported), weak, unis
        return *judged, offline.at, offline.is_dated, *(others.get(fact) for fact in facts)

    return judge


def _olt_judge() -> Callable[..., tuple[Any, ...]]:
    hardware = hardware_versions()
    return lambda olt_id: (hardware.get(olt_id, ""),)


def chassis_extra_columns(model: type[Model], shown: Collection[str]) -> Judged:
    """Return the columns of the facts that have none of their own in the table.

    The reported name of an OLT is beside the name of its part, which `shown` has already.
    """
    facts = tuple(facts_among_extras(model))

    def judge(extras: str) -> tuple[Any, ...]:
        others = read_extras(extras)
        return tuple(others.get(fact) for fact in facts)

    names = tuple(f"reported_{fact}" if fact in shown else fact for fact in facts)
    return Judged(names, ("extras",), lambda: judge)


def _chassis_export(model: type[Model], shown: tuple[str, ...], at: str = "") -> Export:
    return Export(model, columns(shown, olt="olt__name"), at=at, judged=chassis_extra_columns(model, shown))


EXPORTS: Final = {
    "executions": Export(
        Execution,
        columns(
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
        columns(
            (
                "id", "olt", "frame", "slot", "port", "onu_id", "serial", "mac", "description", "model",
                "hw_version", "sw_version", "plan", "ip", "state", "down_cause", "distance_m",
                "onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c", "presence", "first_seen",
                "last_seen",
            ),
            olt="olt__name",
        ),
        judged=Judged(
            # Not all columns are named in the source: those of profiles that declare facts are added.
            names=(
                *("shown_state", "status", "cause", "weak", "unis", "offline_since", "offline_dated"),
                *onu_extra_facts(),
            ),
            needs=(
                *("olt_id", "state", "down_cause", "presence", "optical_state", "extras"),
                *("offline_since", "offline_dated"),
            ),
            begin=_onu_judge,
        ),
    ),
    "quotas": Export(
        QuotaTracker,
        columns(
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
        columns(
            (
                "id", "olt", "period_start", "period_end", "severity", "notified", "notified_at",
                "created_at", "report", "acknowledged_at", "acknowledged_by", "acknowledged_note",
            ),
            olt="olt__name",
        ),
        at="period_start",
    ),
    "events": Export(
        OnuEvent,
        columns(
            ("id", "at", "happened_at", "olt", "kind", "serial", "place", "before", "cause"),
            olt="olt__name",
        ),
        at="at",
    ),
    # Without credentials.
    "olts": Export(
        Olt,
        columns(
            (
                "id", "name", "brand", "model", "address", "port", "snmp_version", "site", "enabled",
                "reachable", "unreachable_since", "suspended_reason", "version", "uptime_s", "cpu_pct",
                "sys_descr", "created_at",
            ),
            brand="brand__name", model="model__name",
        ),
        of="id",
        judged=Judged(names=("hw_version",), needs=("pk",), begin=_olt_judge),
    ),
    "jobs": Export(
        SnmpJob,
        columns(
            (
                "id", "name", "brand", "kind", "facts", "interval_s", "priority", "max_attempts",
                "retry_delay_s", "task_type", "master", "enabled", "created_at", "target", "target_site",
            ),
            brand="brand__name", master="master__name",
        ),
        of="nodes__olt",
    ),
    "nodes": Export(
        SnmpJobHost,
        columns(
            (
                "id", "olt", "job", "enabled", "interval_s", "priority", "next_run_at", "last_run_at",
                "failures_in_a_row", "suspended_reason", "suspended_at",
            ),
            olt="olt__name", job="job__name",
        ),
    ),
    "ports": _chassis_export(
        PonPort,
        (
            "id", "olt", "place", "name", "state", "admin_state", "down_cause", "tx_dbm", "rx_dbm",
            "temperature_c", "voltage_v", "bias_ma", "onus_told", "onus_online_told", "updated_at",
        ),
    ),
    "uplinks": _chassis_export(
        Uplink,
        (
            "id", "olt", "place", "name", "description", "state", "admin_state", "speed_mbps", "tx_dbm",
            "rx_dbm", "temperature_c", "voltage_v", "bias_ma", "updated_at",
        ),
    ),
    "olt_health": _chassis_export(
        OltHealth,
        (
            "olt", "part", "kind", "name", "state", "cpu_pct", "memory_pct", "temperature_c", "power_w",
            "voltage_v", "speed_rpm", "speed_pct", "sw_version", "hw_version", "serial", "updated_at",
        ),
    ),
    "unprovisioned": _chassis_export(
        Unprovisioned,
        (
            "id", "olt", "place", "serial", "mac", "model", "vendor_id", "sw_version", "seen_at",
            "first_seen", "last_seen",
        ),
        at="first_seen",
    ),
    "outages": Export(
        PortOutage,
        columns(
            ("id", "olt", "place", "cause", "onus_affected", "onus_known", "began_at", "ended_at"),
            olt="olt__name",
        ),
        at="began_at",
    ),
    "versions": Export(
        VersionCount,
        columns(
            ("olt", "site", "brand", "model", "sw_version", "hw_version", "onus"),
            olt="olt__name", site="olt__site", brand="olt__brand__name",
        ),
    ),
    "plans": Export(
        ExecutionPlan,
        columns(
            (
                "id", "olt", "period_start", "period_end", "status", "total_tasks", "completed_tasks",
                "failed_tasks", "lost_slots", "load_p50_min", "load_p95_min", "near_pct", "median_error_s",
                "waiting_runs",
            ),
            olt="olt__name",
        ),
        at="period_start",
    ),
    "logs": Export(
        CoordinatorLog,
        columns(("id", "timestamp", "level", "olt", "event_type", "message"), olt="olt__name"),
        at="timestamp",
    ),
    "audit": Export(
        AuditEntry,
        columns(
            ("id", "at", "who", "how", "token", "address", "action", "model", "object_id", "name", "changes")
        ),
        at="at",
        of="",
    ),
}  # fmt: skip
