"""Remove old rows in small chunks, so that collection never waits for it."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Model, QuerySet

from facho.apps.db import sql
from facho.apps.db.database import AdvisoryLock, lock_until_commit, pause_for_other_writers
from facho.apps.db.sql import delete_rows
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    CoordinatorState,
)
from facho.config import Config
from facho.core.retention import (
    SteadyPeriod,
    extend_steady_period,
)
from facho.engine.upkeep.retention_holds import is_held, read_hold, update_hold
from facho.engine.upkeep.retention_rules import RULES, Rule, select_over_limit, select_too_old

log = logging.getLogger(__name__)

RETENTION: Final = "retention"
# Chunks of all tables in one turn. A stop of the engine waits for the end of the turn.
_MOST_CHUNKS: Final = 20


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """Removed rows by table, and the errors of tables that failed."""

    rows: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def remove_old(
    now: datetime,
    config: Config,
    *,
    rules: Sequence[Rule] = RULES,
    between: Callable[[], None] = pause_for_other_writers,
) -> RemovalResult:
    """Remove a limited number of chunks, table by table in turn. `between` is called after each chunk."""
    period = extend_steady_period(read_steady_period(), now, every=config.housekeeping_step)
    removed = _remove_unless_held(now, config, rules, between) if period.settled else RemovalResult()
    _save_turn(period, removed)
    if removed.rows:
        log.info("old rows removed", extra={"action": "retention", "rows": dict(removed.rows)})
    return removed


def _remove_unless_held(
    now: datetime, config: Config, rules: Sequence[Rule], between: Callable[[], None]
) -> RemovalResult:
    hold, failed = update_hold(now, config, rules)
    # Tables that could not be checked keep their rows.
    rules = [rule for rule in rules if rule.table not in failed]
    if hold is None:
        removed = _remove(now, config, rules, between)
    elif hold.is_confirmed(now):
        # Exactly the rows that were shown, however late it is by now.
        rules = [replace(rule, limit=hold.limit) for rule in rules]
        removed = _remove(min(now, hold.since), config, rules, between)
    else:
        removed = _remove(now, config, [rule for rule in rules if not is_held(rule, hold)], between)
    return RemovalResult(removed.rows, {**failed, **removed.failed})


def _remove(
    now: datetime, config: Config, rules: Sequence[Rule], between: Callable[[], None]
) -> RemovalResult:
    rows: Counter[str] = Counter()
    failed: dict[str, str] = {}
    left, chunks = deque(rules), 0
    while left and chunks < _MOST_CHUNKS:
        rule = left.popleft()
        try:
            count = remove_chunk(rule, now, config)
        except Exception as error:
            # A table that fails must not stop the others.
            log.exception("old rows not removed", extra={"action": "not_removed", "table": rule.table})
            failed[rule.table] = str(error)
            continue
        if count:
            rows[rule.table] += count
            chunks += 1
            between()
        if count == config.retention_chunk:
            left.append(rule)
    return RemovalResult(rows, failed)


def remove_chunk(rule: Rule, now: datetime, config: Config) -> int:
    """Remove the oldest rows in their own transaction, and return how many."""
    with sql.write_transaction():
        lock_removals()
        keys = _lock_keys(select_too_old(rule, now, config), config)
        keys = keys or _lock_keys(select_over_limit(rule, config), config)
        if keys:
            delete_rows(rule.model, keys)
    return len(keys)


def _lock_keys(rows: QuerySet[Model], config: Config) -> list[Any]:
    # Rows that others have locked wait for the next turn.
    oldest = rows.select_for_update(skip_locked=True)
    return list(oldest.values_list("pk", flat=True)[: config.retention_chunk])


def lock_removals() -> None:
    """Let one process remove at a time: two whose rows refer to each other would deadlock."""
    lock_until_commit(AdvisoryLock.RETENTION)


def clean_logs(
    now: datetime,
    config: Config,
    days_old: float | None = None,
    *,
    between: Callable[[], None] = pause_for_other_writers,
) -> int:
    """Remove all old rows of the coordinator log in chunks, and return how many."""
    keep = config.keep_logs if days_old is None else timedelta(days=days_old)
    (rule,) = (replace(rule, keep=lambda _: keep) for rule in RULES if rule.model is CoordinatorLog)
    period, shown = read_steady_period(), read_hold()
    if period is not None and not extend_steady_period(period, now, every=config.housekeeping_step).settled:
        # The clock is not trusted yet, so the age of the rows is not known.
        return 0
    if shown is not None and not shown.hold.is_confirmed(now) and is_held(rule, shown.hold):
        return 0
    removed = 0
    while count := remove_chunk(rule, now, config):
        removed += count
        between()
    return removed


def read_steady_period() -> SteadyPeriod | None:
    state = CoordinatorState.objects.filter(name=RETENTION).first()
    if state is None:
        return None
    return SteadyPeriod(datetime.fromisoformat(state.value["since"]), state.updated_at)


def _save_turn(period: SteadyPeriod, removed: RemovalResult) -> None:
    value = {
        "since": period.since.isoformat(),
        "rows": dict(removed.rows),
        "failed": dict(removed.failed),
    }
    with sql.write_transaction():
        CoordinatorState.objects.update_or_create(
            name=RETENTION, defaults={"value": value, "updated_at": period.last}
        )
