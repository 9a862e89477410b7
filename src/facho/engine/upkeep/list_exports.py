"""CSV exports of the smaller lists of the admin, which the command line does not offer.

The columns are named one by one: nothing secret is exported because somebody added a field.
"""

from __future__ import annotations

from typing import Final

from django.contrib.auth import get_user_model
from django.db.models import Model

from facho.apps.access.models import ApiToken, LoginAddress, LoginAttempt
from facho.apps.discovery.models import ClockState, Collected, UnreadableRows
from facho.apps.execution_coordinator.models import (
    CoordinatorState,
    OltConfiguration,
    StorageSample,
    TaskForecast,
)
from facho.apps.executions.models import Attempt, ExecutionTotals, SkippedSlots
from facho.apps.hosts.models import Brand, Oid, OltModel
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.notifications.models import (
    NotificationChannel,
    NotificationDelivery,
    NotificationNotice,
    NotificationRule,
)
from facho.apps.remote_write.models import RemoteWriteCursor, RemoteWriteTotals
from facho.apps.traffic.models import OltTraffic
from facho.apps.zabbix_pollers.models import Poller, PollerStats, Worker
from facho.engine.upkeep.exports import EXPORTS, Export, columns

LIST_EXPORTS: Final = {
    "attempts": Export(
        Attempt,
        columns(
            ("execution", "olt", "number", "started_at", "ended_at", "error", "worker"),
            olt="execution__olt__name",
        ),
    ),
    "skipped_slots": Export(
        SkippedSlots,
        columns(
            ("olt", "job", "first_slot", "last_slot", "count", "why", "detail", "execution"),
            olt="olt__name", job="node__job__name",
        ),
    ),
    "execution_totals": Export(
        ExecutionTotals,
        columns(
            (
                "olt", "kind", "succeeded", "failed", "seconds", "delayed", "delay_seconds", "retries",
                "requests", "timeouts", "varbinds", "bytes_sent", "bytes_received",
            ),
            olt="olt__name",
        ),
    ),
    "collected": Export(Collected, columns(("olt", "datum", "collected_at"), olt="olt__name")),
    "olt_clocks": Export(
        ClockState,
        columns(
            ("olt", "low_s", "high_s", "has_zone", "since", "has_jumped", "checked_at", "read_at"),
            olt="olt__name",
        ),
    ),
    "olt_traffic": Export(
        OltTraffic,
        columns(
            ("olt", "subject", "at", "interval_s", "in_bps", "out_bps", "over", "resets", "gaps"),
            olt="olt__name",
        ),
    ),
    "remote_write_positions": Export(
        RemoteWriteCursor, columns(("olt", "sent_to", "states_sent_to", "due_at"), olt="olt__name")
    ),
    "remote_write_totals": Export(
        RemoteWriteTotals,
        columns(
            (
                "sent", "too_old", "refused", "unreadable", "last_success_at", "failing_since", "problem",
                "refusal", "refused_at",
            ),
        ),
    ),
    "unreadable_rows": Export(
        UnreadableRows,
        columns(("olt", "table", "rows", "example", "since", "last_seen"), olt="olt__name"),
    ),
    "forecasts": Export(
        TaskForecast,
        columns(
            ("olt", "task_type", "fixed_s", "per_onu_s", "samples", "error_pct", "updated_at"),
            olt="olt__name",
        ),
    ),
    "configurations": Export(
        OltConfiguration, columns(("olt", "fingerprint", "changed_at"), olt="olt__name")
    ),
    "coordinator_states": Export(CoordinatorState, columns(("name", "value", "updated_at"))),
    "database_sizes": Export(StorageSample, columns(("at", "database_bytes", "free_bytes"))),
    "brands": Export(Brand, columns(("name", "title"))),
    "olt_models": Export(OltModel, columns(("brand", "name"), brand="brand__name")),
    "oids": Export(
        Oid,
        columns(
            ("name", "oid", "brand", "model", "entity", "provides"),
            brand="brand__name", model="model__name",
        ),
    ),
    "maintenance_windows": Export(
        MaintenanceWindow,
        columns(
            (
                "name", "olt", "site", "starts_at", "ends_at", "weekdays", "start_time", "duration_s",
                "enabled", "ended_at",
            ),
            olt="olt__name",
        ),
    ),
    "notification_rules": Export(
        NotificationRule,
        columns(
            (
                "name", "enabled", "notices", "min_severity", "olt", "site", "silent_from", "silent_to",
                "no_repeat_s",
            ),
            olt="olt__name",
        ),
    ),
    # Without addresses, which hold keys.
    "notification_channels": Export(
        NotificationChannel, columns(("name", "enabled", "language", "created_at"))
    ),
    "notices": Export(
        NotificationNotice,
        columns(("at", "notice", "severity", "olt", "about", "taken"), olt="olt__name"),
    ),
    "notification_deliveries": Export(
        NotificationDelivery,
        columns(
            (
                "created_at", "notice", "severity", "olt", "about", "channel", "rule", "status", "attempts",
                "why_not", "sent_at",
            ),
            olt="olt__name", channel="channel__name", rule="rule__name",
        ),
    ),
    "workers": Export(Worker, columns(("name", "pollers", "queues", "started_at", "seen_at"))),
    "pollers": Export(
        Poller,
        columns(
            (
                "poller_id", "worker", "status", "busy_time", "total_time", "tasks_completed",
                "tasks_delayed", "heartbeat",
            )
        ),
    ),
    "poller_statistics": Export(
        PollerStats,
        columns(
            (
                "timestamp", "total_pollers", "free_pollers", "busy_pollers", "busy_percentage",
                "queue_size", "is_saturated", "total_tasks_completed", "total_tasks_delayed",
            )
        ),
    ),
    "users": Export(
        get_user_model(),
        columns(("username", "first_name", "last_name", "email", "is_active", "last_login", "date_joined")),
    ),
    "tokens": Export(
        ApiToken,
        columns(
            ("name", "owner", "role", "begins", "created_at", "expires_at", "revoked_at", "last_used_at"),
            owner="owner__username",
        ),
    ),
    "failed_logins": Export(LoginAttempt, columns(("at", "account", "address"))),
    "known_addresses": Export(LoginAddress, columns(("at", "account", "address"))),
}  # fmt: skip


def find_export(model: type[Model]) -> tuple[str, Export]:
    """Return the export of a model with its name."""
    exports = (*EXPORTS.items(), *LIST_EXPORTS.items())
    return next((name, export) for name, export in exports if export.model is model)
