"""Removes what is older than it is kept, a few rows at a time, so that collection never waits for it.

A new table that grows is one more line in RULES. Its time column needs an index of its own.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.sessions.models import Session
from django.db.models import Max, Min, Model, Q, QuerySet

from facho.apps.access.models import ApiToken, AuditEntry, LoginAddress, LoginAttempt
from facho.apps.db import sql
from facho.apps.db.bulk import delete_rows
from facho.apps.db.connections import pause_for_other_writers
from facho.apps.db.locks import AdvisoryLock, lock_until_commit
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
from facho.apps.zabbix_pollers.models import Poller, PollerStats
from facho.config import Config
from facho.core.retention import (
    Hold,
    LargeRemoval,
    SteadyPeriod,
    current_hold,
    extend_steady_period,
    is_behind,
    needs_confirmation,
    oldest_kept,
    shrinks_below,
)
from facho.engine.events.stream import publish
from facho.engine.events.types import RemovalHeld, RemovalResumed

log = logging.getLogger(__name__)

RETENTION: Final = "retention"
HOLD: Final = "retention_hold"
# Rows that are counted one by one; of longer tables it is estimated.
_COUNTED: Final = 10_000
# In one turn, of all tables together; the rest waits for the next. Who stops the engine waits for its end.
_MOST_CHUNKS: Final = 20


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
    # Whether nothing is removed from any table while most of this one would be. Otherwise it waits alone.
    holds_others: bool = True
    # Whether its rows ever wait for a person.
    can_be_held: bool = True
    # How old it must be at least to go, whatever the clock says.
    limit: Callable[[str, datetime], datetime] = lambda _table, before: before

    @property
    def table(self) -> str:
        return self.model._meta.db_table


RULES: Final = (
    # Attempts go with their execution. One that is open stays, also when it says when it ended.
    Rule(Execution, "ended_at", lambda config: config.keep_executions, Q(state__in=OPEN)),
    # Nobody misses these two, and after weeks switched off most of them are too old.
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
    # One that is open has not ended, and stays.
    Rule(PortOutage, "ended_at", lambda config: config.keep_events),
    Rule(HistoryHour, "hour", lambda config: config.keep_history),
    # Long closed, unless closing it fails again and again.
    Rule(HistoryFrame, "at", lambda config: config.keep_history),
    Rule(QuotaTracker, "period_start", lambda config: config.keep_quotas),
    Rule(QuotaViolation, "created_at", lambda config: config.keep_quotas),
    # Of what did not run for so long.
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
    # As long as the hours in which they left slots out. Those of every week have no end.
    Rule(MaintenanceWindow, "ends_at", lambda config: config.keep_quotas),
    # Each has an end, also those that were revoked before it.
    Rule(ApiToken, "expires_at", lambda config: config.keep_tokens),
    Rule(LoginAttempt, "at", lambda config: config.keep_login_attempts),
    # Each log-in writes its address again.
    Rule(LoginAddress, "at", lambda config: config.login_known_for, holds_others=False, can_be_held=False),
    # A session says itself until when it is good. Who loses one logs in again.
    Rule(Session, "expire_date", lambda _: timedelta(), holds_others=False, can_be_held=False),
    # The scheduler forgets workers with their pollers. A dying process may write one more row after that, and
    # one that lives writes its own again.
    Rule(Poller, "heartbeat", lambda _: timedelta(days=1), holds_others=False, can_be_held=False),
)


@dataclass(frozen=True, slots=True)
class Removed:
    """Rows by table, and why a table could not be shortened."""

    rows: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def remove_old(
    now: datetime,
    config: Config,
    *,
    rules: Sequence[Rule] = RULES,
    between: Callable[[], None] = pause_for_other_writers,
) -> Removed:
    """A turn: at most so many chunks, the tables by turns. `between` is called after each one."""
    turns = extend_steady_period(turns_before(), now, every=config.housekeeping_step)
    removed = _remove_unless_held(now, config, rules, between) if turns.settled else Removed()
    _note(turns, removed)
    if removed.rows:
        log.info("removed what was too old", extra={"action": "retention", "rows": dict(removed.rows)})
    return removed


def _remove_unless_held(
    now: datetime, config: Config, rules: Sequence[Rule], between: Callable[[], None]
) -> Removed:
    hold, failed = update_hold(now, config, rules)
    # How much would go is not known of these: they stay as they are.
    rules = [rule for rule in rules if rule.table not in failed]
    if hold is None:
        removed = _remove(now, config, rules, between)
    elif hold.is_confirmed(now):
        # As of when it was shown, however late it is by now.
        rules = [replace(rule, limit=hold.limit) for rule in rules]
        removed = _remove(min(now, hold.since), config, rules, between)
    else:
        removed = _remove(now, config, [rule for rule in rules if not _is_held(rule, hold)], between)
    return Removed(removed.rows, {**failed, **removed.failed})


def _is_held(rule: Rule, hold: Hold) -> bool:
    return rule.can_be_held and (holds_all(hold) or rule.table in hold.tables)


def holds_all(hold: Hold) -> bool:
    """Whether it is about more than tables that wait alone."""
    return not hold.tables <= {rule.table for rule in RULES if not rule.holds_others}


def update_hold(
    now: datetime, config: Config, rules: Sequence[Rule]
) -> tuple[Hold | None, Mapping[str, str]]:
    """Find what a person has to confirm, and log when that begins and when it goes away by itself.

    Returns it with the tables that could not be looked at, and why. What was shown of these stays shown.
    """
    shown = read_hold()
    removals, failed = _find_large_removals(now, config, rules)
    if shown is not None:
        found = {removal.table for removal in removals}
        removals += [
            removal
            for removal in shown.hold.removals
            if removal.table not in found
            and (removal.table in failed or _still_waits(removal, now, config, rules))
        ]
    hold = current_hold(None if shown is None else shown.hold, removals, now)
    if shown is not None and hold != shown.hold:
        CoordinatorState.objects.filter(id=shown.id).delete()
    if hold is None:
        if shown is not None:
            publish(RemovalResumed(), now)
    elif shown is None or hold != shown.hold:
        CoordinatorState.objects.get_or_create(
            name=HOLD, defaults={"value": hold.as_json(), "updated_at": now}
        )
        tables = {removal.table: f"{removal.going}/{removal.there}" for removal in hold.removals}
        log.error("removal waits for confirmation", extra={"action": "retention_waits", "tables": tables})
        publish(RemovalHeld(tables=tables), now)
    return hold, failed


def _still_waits(removal: LargeRemoval, now: datetime, config: Config, rules: Sequence[Rule]) -> bool:
    """Whether rows that were shown are there, by a clock that was not set back.

    What was written since by a wrong clock counts as young, and would soon be most of the table.
    """
    for rule in rules:
        if rule.table == removal.table and not shrinks_below(removal, oldest_kept(now, rule.keep(config))):
            return too_old(rule, now, config).filter(**{f"{rule.column}__lt": removal.before}).exists()
    return False


def _find_large_removals(
    now: datetime, config: Config, rules: Sequence[Rule]
) -> tuple[list[LargeRemoval], dict[str, str]]:
    found: list[LargeRemoval] = []
    failed: dict[str, str] = {}
    for rule in rules:
        if not rule.can_be_held:
            continue
        try:
            removal = find_large_removal(rule, now, config)
        except Exception as error:
            # One table that cannot be looked at keeps no other from its turn.
            log.exception("not looked at", extra={"action": "not_removed", "table": rule.table})
            failed[rule.table] = str(error)
            continue
        if removal is not None:
            found.append(removal)
    return found, failed


@dataclass(frozen=True, slots=True)
class StoredHold:
    """`id` is another one for each situation: who confirms confirms what was shown."""

    id: int
    hold: Hold


def read_hold() -> StoredHold | None:
    """The removal that waits, or waited until it was confirmed."""
    state = CoordinatorState.objects.filter(name=HOLD).first()
    return None if state is None else StoredHold(state.id, Hold.from_json(state.value))


def hold_sentence(hold: Hold, now: datetime) -> str:
    """What would go, by the clock as it is."""
    shown = ", ".join(
        f"{each.going:,} of {each.there:,} rows of {each.table} (older than {each.before:%Y-%m-%d})"
        for each in hold.removals
    )
    if hold.is_confirmed(now):
        return f"{hold.confirmed_by} confirmed to remove {shown}"
    nothing = "nothing" if holds_all(hold) else f"nothing of {' and '.join(sorted(hold.tables))}"
    return (
        f"{nothing} is removed until an administrator confirms it, or the clock or the setting is corrected: "
        f"{shown} would go, by a clock that says {now:%Y-%m-%d %H:%M} UTC"
    )


def find_large_removal(rule: Rule, now: datetime, config: Config) -> LargeRemoval | None:
    """None when only rows that became too old lately would go, or less than half of the table."""
    keep = rule.keep(config)
    before = oldest_kept(now, keep)
    old = too_old(rule, now, config)
    oldest = old.values_list(rule.column, flat=True).first()
    if not is_behind(oldest, before, every=config.housekeeping_step):
        return None
    young = rule.model._base_manager.filter(**{f"{rule.column}__gte": before})
    going, staying = old[:_COUNTED].count(), young.order_by(rule.column)[:_COUNTED].count()
    if going == staying == _COUNTED:
        going, staying = _estimated(rule, before)
    if oldest is None or not needs_confirmation(going, staying, before - oldest, keep=keep):
        return None
    return LargeRemoval(rule.table, before, going, going + staying)


def _estimated(rule: Rule, before: datetime) -> tuple[int, int]:
    """By the keys, which are given one after the other, and so by time: counting a long table takes long."""
    rows = rule.model._base_manager
    ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
    young = rows.filter(**{f"{rule.column}__gte": before}).order_by(rule.column)
    border = young.values_list("pk", flat=True).first()
    return border - ends["first"], ends["last"] - border + 1


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
    with sql.write_transaction():
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
    """Two at once whose rows refer to one another would end in a deadlock."""
    lock_until_commit(AdvisoryLock.RETENTION)


def too_old(rule: Rule, now: datetime, config: Config) -> QuerySet[Model]:
    """Oldest first."""
    old = {f"{rule.column}__lt": rule.limit(rule.table, oldest_kept(now, rule.keep(config)))}
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
    between: Callable[[], None] = pause_for_other_writers,
) -> int:
    """All of the coordinator's log that is too old or too much, chunk by chunk. How many rows it were."""
    keep = config.keep_logs if days_old is None else timedelta(days=days_old)
    (rule,) = (replace(rule, keep=lambda _: keep) for rule in RULES if rule.model is CoordinatorLog)
    turns, shown = turns_before(), read_hold()
    if turns is not None and not extend_steady_period(turns, now, every=config.housekeeping_step).settled:
        # The log is as old as the clock says, and that is not believed.
        return 0
    if shown is not None and not shown.hold.is_confirmed(now) and _is_held(rule, shown.hold):
        return 0
    removed = 0
    while count := remove_chunk(rule, now, config):
        removed += count
        between()
    return removed


def turns_before() -> SteadyPeriod | None:
    state = CoordinatorState.objects.filter(name=RETENTION).first()
    if state is None:
        return None
    return SteadyPeriod(datetime.fromisoformat(state.value["since"]), state.updated_at)


def _note(turns: SteadyPeriod, removed: Removed) -> None:
    value = {
        "since": turns.since.isoformat(),
        "rows": dict(removed.rows),
        "failed": dict(removed.failed),
    }
    with sql.write_transaction():
        CoordinatorState.objects.update_or_create(
            name=RETENTION, defaults={"value": value, "updated_at": turns.last}
        )
