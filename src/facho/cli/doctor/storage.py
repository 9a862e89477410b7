"""Checks of storage: how long the disk lasts, and whether old rows are removed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from facho.apps.execution_coordinator.models import CoordinatorState
from facho.cli.doctor.findings import Finding, error, ok, start_advice, warning
from facho.config import Config
from facho.core.disk import WARN_DAYS, Forecast
from facho.core.retention import longest_gap, oldest_kept
from facho.engine.upkeep import storage
from facho.engine.upkeep.health import is_disk_short
from facho.engine.upkeep.retention import RETENTION, read_steady_period
from facho.engine.upkeep.retention_holds import describe_hold, read_hold
from facho.engine.upkeep.retention_rules import RULES, select_too_old

HOW_TO_CONFIRM: Final = (
    "if the clock is wrong, set it right and nothing is lost; if the data are old, or FACHO_KEEP_... was "
    "made shorter on purpose: facho retention confirm %d"
)
_MAKE_ROOM: Final = "make room, or keep less: FACHO_KEEP_HISTORY, FACHO_KEEP_EXECUTIONS"
# A forecast is not good for longer.
_LONG_DAYS: Final = 3650
# Rows that are overdue by more than this are not just waiting for the next chunk.
_BEHIND: Final = timedelta(days=1)
_DAY: Final = timedelta(days=1)
_UNITS: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def check_disk(now: datetime, _config: Config) -> Finding:
    room = storage.database_room()
    found = storage.forecast_storage(now, room)
    text = f"{_describe_forecast(found)} ({', '.join(_forecast_numbers(found))})"
    if is_disk_short(found, room):
        return error("disk", text, _MAKE_ROOM)
    days = None if found.rough else found.days_left
    if days is not None and days < WARN_DAYS:
        return warning("disk", text, _MAKE_ROOM)
    return ok("disk", text)


def _describe_forecast(found: Forecast) -> str:
    if found.now.free_bytes is None:
        return "the database's disk cannot be seen from here"
    if found.per_day is None:
        return "a forecast needs six hours of data"
    if found.days_left is None:
        return "the database does not grow"
    if found.rough:
        return f"lasts about {_format_days(found.days_left)}, a reliable forecast needs six hours of data"
    return f"lasts {_format_days(found.days_left)}"


def _forecast_numbers(found: Forecast) -> list[str]:
    numbers = [f"database {format_size(found.now.database_bytes)}"]
    if found.per_day:
        numbers.append(f"grows {format_size(found.per_day)} a day")
    if found.now.free_bytes is not None:
        numbers.append(f"{format_size(found.now.free_bytes)} free")
    if found.taken_per_day and found.taken_per_day > 2 * (found.per_day or 0.0):
        numbers.append(f"less by {format_size(found.taken_per_day)} a day, mostly because of other programs")
    return numbers


def _format_days(days: float) -> str:
    if days > _LONG_DAYS:
        return "more than 10 years"
    return f"{days:.0f} days" if days >= WARN_DAYS else f"{days:.1f} days"


def format_size(number: float) -> str:
    for unit, name in _UNITS:
        if number >= unit:
            value = number / unit
            return f"{value:.1f} {name}" if value < 10 else f"{value:.0f} {name}"
    return f"{number:.0f} bytes"


def check_retention(now: datetime, config: Config) -> Finding:
    turns = read_steady_period()
    if turns is None:
        return warning("retention", "it has never run", start_advice(config))
    ago = max(timedelta(), now - turns.last)
    behind = _overdue_tables(now, config)
    if ago > longest_gap(config.housekeeping_step):
        text = f"its last run was {ago / timedelta(hours=1):.0f} h ago"
        return warning(
            "retention", text + (f"; old rows left: {behind}" if behind else ""), start_advice(config)
        )
    shown = read_hold()
    if shown is not None and not shown.hold.is_confirmed(now):
        return error("retention", describe_hold(shown.hold, now), HOW_TO_CONFIRM % shown.id)
    if failed := _failed_tables():
        return warning(
            "retention", f"could not remove old rows of {failed}", "the log has the reason: not_removed"
        )
    if behind and turns.settled:
        return warning("retention", f"old rows left: {behind}", "wait, or raise FACHO_RETENTION_CHUNK")
    return ok("retention", f"its last run was {ago.total_seconds():.0f} s ago")


def _failed_tables() -> str:
    failed = CoordinatorState.objects.get(name=RETENTION).value["failed"]
    return ", ".join(f"{table} ({why})" for table, why in failed.items())


def _overdue_tables(now: datetime, config: Config) -> str:
    """Return the tables whose oldest row should have been removed a while ago."""
    found = []
    for rule in RULES:
        oldest = select_too_old(rule, now, config).values_list(rule.column, flat=True).first()
        if oldest is not None and (over := oldest_kept(now, rule.keep(config)) - oldest) > _BEHIND:
            found.append(f"{rule.table} (by {over / _DAY:.0f} days)")
    return ", ".join(found)
