"""Large removals, which wait for confirmation by a person: the clock or a setting may be wrong."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Max, Min

from facho.apps.execution_coordinator.models import CoordinatorState
from facho.config import Config
from facho.core.retention import (
    Hold,
    LargeRemoval,
    current_hold,
    is_behind,
    needs_confirmation,
    oldest_kept,
    shrinks_below,
)
from facho.engine.events.stream import publish
from facho.engine.events.types import RemovalHeld, RemovalResumed
from facho.engine.upkeep.retention_rules import RULES, Rule, select_too_old

log = logging.getLogger(__name__)

HOLD: Final = "retention_hold"


# Rows that are counted; longer tables are estimated.
_COUNT_LIMIT: Final = 10_000


def is_held(rule: Rule, hold: Hold) -> bool:
    return rule.can_be_held and (holds_all_tables(hold) or rule.table in hold.tables)


def holds_all_tables(hold: Hold) -> bool:
    """Return whether the hold stops the removal from all tables."""
    return not hold.tables <= {rule.table for rule in RULES if not rule.holds_others}


def update_hold(
    now: datetime, config: Config, rules: Sequence[Rule]
) -> tuple[Hold | None, Mapping[str, str]]:
    """Find the removals that need confirmation, store them, and publish when a hold begins or ends by itself.

    Returns the hold, and the errors of tables that could not be checked. Their stored removals stay.
    """
    shown = read_hold()
    removals, failed = _find_large_removals(now, config, rules)
    if shown is not None:
        found = {removal.table for removal in removals}
        removals += [
            removal
            for removal in shown.hold.removals
            if removal.table not in found
            and (removal.table in failed or _is_still_large(removal, now, config, rules))
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


def _is_still_large(removal: LargeRemoval, now: datetime, config: Config, rules: Sequence[Rule]) -> bool:
    """Return whether rows of a stored removal are still there and still too old.

    Rows written since by a wrong clock count as young, and would soon be most of the table.
    """
    for rule in rules:
        if rule.table == removal.table and not shrinks_below(removal, oldest_kept(now, rule.keep(config))):
            return select_too_old(rule, now, config).filter(**{f"{rule.column}__lt": removal.before}).exists()
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
            # A table that cannot be checked must not stop the others.
            log.exception(
                "table not checked for old rows", extra={"action": "not_removed", "table": rule.table}
            )
            failed[rule.table] = str(error)
            continue
        if removal is not None:
            found.append(removal)
    return found, failed


@dataclass(frozen=True, slots=True)
class StoredHold:
    """A hold with its id. A new situation gets a new id, so that people confirm what was shown."""

    id: int
    hold: Hold


def read_hold() -> StoredHold | None:
    """Return the removal that waits for confirmation, or was confirmed."""
    state = CoordinatorState.objects.filter(name=HOLD).first()
    return None if state is None else StoredHold(state.id, Hold.from_json(state.value))


def describe_hold(hold: Hold, now: datetime) -> str:
    """Return a sentence with the rows that would be removed, and the time of the clock."""
    shown = ", ".join(
        f"{each.going:,} of {each.there:,} rows of {each.table} (older than {each.before:%Y-%m-%d})"
        for each in hold.removals
    )
    if hold.is_confirmed(now):
        return f"{hold.confirmed_by} confirmed to remove {shown}"
    nothing = "nothing" if holds_all_tables(hold) else f"nothing of {' and '.join(sorted(hold.tables))}"
    return (
        f"{nothing} is removed until an administrator confirms it, or the clock or the setting is corrected: "
        f"{shown} would go, by a clock that says {now:%Y-%m-%d %H:%M} UTC"
    )


def find_large_removal(rule: Rule, now: datetime, config: Config) -> LargeRemoval | None:
    """Return None if under half of the table would be removed, or only rows that became too old lately."""
    keep = rule.keep(config)
    before = oldest_kept(now, keep)
    old = select_too_old(rule, now, config)
    oldest = old.values_list(rule.column, flat=True).first()
    if not is_behind(oldest, before, every=config.housekeeping_step):
        return None
    young = rule.model._base_manager.filter(**{f"{rule.column}__gte": before})
    going, staying = old[:_COUNT_LIMIT].count(), young.order_by(rule.column)[:_COUNT_LIMIT].count()
    if going == staying == _COUNT_LIMIT:
        going, staying = _estimate_rows(rule, before)
    if oldest is None or not needs_confirmation(going, staying, before - oldest, keep=keep):
        return None
    return LargeRemoval(rule.table, before, going, going + staying)


def _estimate_rows(rule: Rule, before: datetime) -> tuple[int, int]:
    """Estimate old and young rows by their sequential keys: counting a long table is slow."""
    rows = rule.model._base_manager
    ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
    young = rows.filter(**{f"{rule.column}__gte": before}).order_by(rule.column)
    border = young.values_list("pk", flat=True).first()
    return border - ends["first"], ends["last"] - border + 1
