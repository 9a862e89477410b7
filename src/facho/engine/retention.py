"""Removes what is older than it is kept, a few rows at a time, so that collection never waits for it.

A new table that grows is one more line in RULES. Its time column needs an index of its own.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.sessions.models import Session
from django.db import connection
from django.db.models import Max, Min, Model, Q, QuerySet

from facho.apps import sql
from facho.apps.access.models import ApiToken, AuditEntry, LoginAttempt
from facho.apps.discovery.models import OnuEvent, PortOutage
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    CoordinatorState,
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
from facho.apps.rows import delete_rows
from facho.apps.zabbix_pollers.models import Poller, PollerStats
from facho.config import Config
from facho.core.retention import Turns, kept_from, next_turn

log = logging.getLogger(__name__)

RETENTION: Final = "retention"
# In one turn, of all tables together; the rest waits for the next. Who stops the engine waits for its end.
_MOST_CHUNKS: Final = 20
_LOCK: Final = 0xFAC43
# Who waits for SQLite looks again after a tenth of a second at the latest.
_GIVES_WAY_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows of `model` go when `column` is older than `keep` says, and what belongs to them goes with them."""

    model: type[Model]
    column: str
    keep: Callable[[Config], timedelta]
    # These stay, however old they are.
    except_for: Q = field(default_factory=Q)
    # However young they are, no more than so many stay.
    most: Callable[[Config], int] | None = None

    @property
    def table(self) -> str:
        return self.model._meta.db_table


RULES: Final = (
    # Attempts go with their execution. One that is open stays, also when it says when it ended.
    Rule(Execution, "ended_at", lambda config: config.keep_executions, Q(state__in=OPEN)),
    Rule(SkippedSlots, "last_slot", lambda config: config.keep_executions),
    Rule(PollerStats, "timestamp", lambda config: config.keep_poller_stats),
    Rule(OnuEvent, "at", lambda config: config.keep_events),
    # One that is open has not ended, and stays.
    Rule(PortOutage, "ended_at", lambda config: config.keep_events),
    Rule(HistoryHour, "hour", lambda config: config.keep_history),
    # Long closed, unless closing it fails again and again.
    Rule(HistoryFrame, "at", lambda config: config.keep_history),
    Rule(StorageSample, "at", lambda _: timedelta(days=30)),
    Rule(QuotaTracker, "period_start", lambda config: config.keep_quotas),
    Rule(QuotaViolation, "created_at", lambda config: config.keep_quotas),
    # Of what did not run for so long.
    Rule(TaskForecast, "updated_at", lambda config: config.keep_quotas),
    Rule(ExecutionPlan, "period_start", lambda config: config.keep_plans),
    Rule(
        CoordinatorLog, "timestamp", lambda config: config.keep_logs, most=lambda config: config.keep_log_rows
    ),
    Rule(AuditEntry, "at", lambda config: config.keep_audit),
    Rule(NotificationNotice, "at", lambda config: config.keep_notifications),
    Rule(
        NotificationDelivery,
        "created_at",
        lambda config: config.keep_notifications,
        Q(status__in=(DeliveryStatus.WAITING, DeliveryStatus.SENDING)),
    ),
    # As long as the hours in which they left slots out. Those of every week have no end.
    Rule(MaintenanceWindow, "ends_at", lambda config: config.keep_quotas),
    # Each has an end, also those that were revoked before it.
    Rule(ApiToken, "expires_at", lambda config: config.keep_tokens),
    Rule(LoginAttempt, "at", lambda config: config.keep_login_attempts),
    # A session says itself until when it is good.
    Rule(Session, "expire_date", lambda _: timedelta()),
    # The scheduler forgets workers with their pollers. A dying process may write one more row after that.
    Rule(Poller, "heartbeat", lambda _: timedelta(days=1)),
)


@dataclass(frozen=True, slots=True)
class Removed:
    """Rows by table, and why a table could not be shortened."""

    rows: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def give_way() -> None:
    """SQLite has one writer at a time, and the next one must not be us again."""
    if connection.vendor == "sqlite":
        time.sleep(_GIVES_WAY_S)


def remove_old(
    now: datetime,
    config: Config,
    *,
    rules: Sequence[Rule] = RULES,
    between: Callable[[], None] = give_way,
) -> Removed:
    """A turn: at most so many chunks, the tables by turns. `between` is called after each one."""
    turns = next_turn(turns_before(), now, every=config.housekeeping_step)
    removed = _remove(now, config, rules, between) if turns.settled else Removed()
    _note(turns, removed)
    if removed.rows:
        log.info("removed what was too old", extra={"action": "retention", "rows": dict(removed.rows)})
    return removed


def _remove(now: datetime, config: Config, rules: Sequence[Rule], between: Callable[[], None]) -> Removed:
    rows: Counter[str] = Counter()
    failed: dict[str, str] = {}
    left, chunks = deque(rules), 0
    while left and chunks < _MOST_CHUNKS:
        rule = left.popleft()
        try:
            count = remove_chunk(rule, now, config)
        except Exception as error:
            # One table that cannot be shortened keeps no other from its turn.
            log.exception("not removed", extra={"action": "not_removed", "table": rule.table})
            failed[rule.table] = str(error)
            continue
        if count:
            rows[rule.table] += count
            chunks += 1
            between()
        if count == config.retention_chunk:
            left.append(rule)
    return Removed(rows, failed)


def remove_chunk(rule: Rule, now: datetime, config: Config) -> int:
    """The oldest, in a transaction of its own. How many it were."""
    with sql.writing():
        one_at_a_time()
        keys = _keys(too_old(rule, now, config), config) or _keys(too_many(rule, config), config)
        if keys:
            delete_rows(rule.model, keys)
    return len(keys)


def _keys(rows: QuerySet[Model], config: Config) -> list[Any]:
    # What others have in their hands waits for the next turn.
    oldest = rows.select_for_update(skip_locked=True)
    return list(oldest.values_list("pk", flat=True)[: config.retention_chunk])


def one_at_a_time() -> None:
    """Two at once whose rows refer to one another would end in a deadlock. SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        sql.rows("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def too_old(rule: Rule, now: datetime, config: Config) -> QuerySet[Model]:
    """Oldest first."""
    old = {f"{rule.column}__lt": kept_from(now, rule.keep(config))}
    return rule.model._base_manager.filter(**old).exclude(rule.except_for).order_by(rule.column)


def too_many(rule: Rule, config: Config) -> QuerySet[Model]:
    """Those that came before the newest so many, the first of them first."""
    rows = rule.model._base_manager.all()
    if rule.most is None or not _may_be_too_many(rows, rule.most(config)):
        return rows.none()
    first = rows.order_by("-pk").values("pk")[rule.most(config) - 1 : rule.most(config)]
    return rows.filter(pk__lt=first).order_by("pk")


def _may_be_too_many(rows: QuerySet[Model], most: int) -> bool:
    """By the keys, which are given one after the other: counting a long table takes long."""
    ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
    return ends["first"] is not None and ends["last"] - ends["first"] >= most


def clean_logs(
    now: datetime,
    config: Config,
    days_old: float | None = None,
    *,
    between: Callable[[], None] = give_way,
) -> int:
    """All of the coordinator's log that is too old or too much, chunk by chunk. How many rows it were."""
    keep = config.keep_logs if days_old is None else timedelta(days=days_old)
    (rule,) = (replace(rule, keep=lambda _: keep) for rule in RULES if rule.model is CoordinatorLog)
    removed = 0
    while count := remove_chunk(rule, now, config):
        removed += count
        between()
    return removed


def turns_before() -> Turns | None:
    state = CoordinatorState.objects.filter(name=RETENTION).first()
    if state is None:
        return None
    return Turns(datetime.fromisoformat(state.value["since"]), state.updated_at)


def _note(turns: Turns, removed: Removed) -> None:
    value = {
        "since": turns.since.isoformat(),
        "rows": dict(removed.rows),
        "failed": dict(removed.failed),
    }
    with sql.writing():
        CoordinatorState.objects.update_or_create(
            name=RETENTION, defaults={"value": value, "updated_at": turns.last}
        )
