"""How long the rows of each table are kept.

A new table that grows is one more line in RULES. Its time column needs an index of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from django.contrib.sessions.models import Session
from django.db.models import Max, Min, Model, Q, QuerySet

from facho.apps.access.models import ApiToken, AuditEntry, LoginAddress, LoginAttempt
from facho.apps.discovery.models import OnuEvent, PortOutage
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    ExecutionPlan,
    QuotaTracker,
    QuotaViolation,
    StorageSample,
    TaskForecast,
)
from facho.apps.executions.models import OPEN, Execution, SkippedSlots
from facho.apps.history.models import HistoryFrame, HistoryHour
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.notifications.models import DeliveryStatus, NotificationDelivery, NotificationNotice
from facho.apps.zabbix_pollers.models import Poller, PollerStats
from facho.config import Config
from facho.core.retention import oldest_kept


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows of `model` are removed, with what belongs to them, when `column` is older than `keep`."""

    model: type[Model]
    column: str
    keep: Callable[[Config], timedelta]
    # Rows that stay, however old they are.
    except_for: Q = field(default_factory=Q)
    # The largest number of rows that stay, however young they are.
    most: Callable[[Config], int] | None = None
    # Nothing is removed from any table while most of this one would be; False holds this table alone.
    holds_others: bool = True
    # The removal may wait for confirmation by a person.
    can_be_held: bool = True
    # The time before which rows are removed at most, whatever the clock says.
    limit: Callable[[str, datetime], datetime] = lambda _table, before: before

    @property
    def table(self) -> str:
        return self.model._meta.db_table


RULES: Final = (
    # Attempts are removed with their execution. An open one stays, even if it has an end.
    Rule(Execution, "ended_at", lambda config: config.keep_executions, Q(state__in=OPEN)),
    # Not worth a confirmation: after weeks of standstill most of these rows are too old.
    Rule(
        SkippedSlots,
        "last_slot",
        lambda config: config.keep_executions,
        holds_others=False,
        can_be_held=False,
    ),
    Rule(
        PollerStats,
        "timestamp",
        lambda config: config.keep_poller_stats,
        holds_others=False,
        can_be_held=False,
    ),
    Rule(OnuEvent, "at", lambda config: config.keep_events),
    # An open outage has no end, and stays.
    Rule(PortOutage, "ended_at", lambda config: config.keep_events),
    Rule(HistoryHour, "hour", lambda config: config.keep_history),
    # Frames are closed into hours long before, unless closing fails again and again.
    Rule(HistoryFrame, "at", lambda config: config.keep_history),
    Rule(QuotaTracker, "period_start", lambda config: config.keep_quotas),
    Rule(QuotaViolation, "created_at", lambda config: config.keep_quotas),
    # Forecasts of tasks that have not run for so long.
    Rule(TaskForecast, "updated_at", lambda config: config.keep_quotas),
    # The next three are kept for days. A clock that is days ahead would remove most of them, and so would as
    # many days switched off: each waits alone, because the tables that are kept for longer lose little.
    Rule(StorageSample, "at", lambda _: timedelta(days=30), holds_others=False),
    Rule(ExecutionPlan, "period_start", lambda config: config.keep_plans, holds_others=False),
    Rule(
        CoordinatorLog,
        "timestamp",
        lambda config: config.keep_logs,
        most=lambda config: config.keep_log_rows,
        holds_others=False,
    ),
    Rule(AuditEntry, "at", lambda config: config.keep_audit),
    Rule(NotificationNotice, "at", lambda config: config.keep_notifications),
    Rule(
        NotificationDelivery,
        "created_at",
        lambda config: config.keep_notifications,
        Q(status__in=(DeliveryStatus.WAITING, DeliveryStatus.SENDING)),
    ),
    # As long as the hours whose slots they excuse. Weekly windows have no end.
    Rule(MaintenanceWindow, "ends_at", lambda config: config.keep_quotas),
    # Each token has an end, also a revoked one.
    Rule(ApiToken, "expires_at", lambda config: config.keep_tokens),
    Rule(LoginAttempt, "at", lambda config: config.keep_login_attempts),
    # Each log-in writes the address again.
    Rule(LoginAddress, "at", lambda config: config.login_known_for, holds_others=False, can_be_held=False),
    # A session has its own end. Whoever loses one logs in again.
    Rule(Session, "expire_date", lambda _: timedelta(), holds_others=False, can_be_held=False),
    # The scheduler removes workers with their pollers; a dying process may write one more row after that.
    Rule(Poller, "heartbeat", lambda _: timedelta(days=1), holds_others=False, can_be_held=False),
)


def select_too_old(rule: Rule, now: datetime, config: Config) -> QuerySet[Model]:
    """Return the rows that are too old, oldest first."""
    old = {f"{rule.column}__lt": rule.limit(rule.table, oldest_kept(now, rule.keep(config)))}
    return rule.model._base_manager.filter(**old).exclude(rule.except_for).order_by(rule.column)


def select_over_limit(rule: Rule, config: Config) -> QuerySet[Model]:
    """Return the rows beyond the largest number that stays, oldest first."""
    rows = rule.model._base_manager.all()
    if rule.most is None or not _may_exceed(rows, rule.most(config)):
        return rows.none()
    first = rows.order_by("-pk").values("pk")[rule.most(config) - 1 : rule.most(config)]
    return rows.filter(pk__lt=first).order_by("pk")


def _may_exceed(rows: QuerySet[Model], most: int) -> bool:
    """Compare the range of keys, which are sequential: counting a long table is slow."""
    ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
    return ends["first"] is not None and ends["last"] - ends["first"] >= most
