"""Maintenance windows on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

import typer

from facho.apps.db.clock import database_now
from facho.apps.maintenance.models import MaintenanceWindow
from facho.cli.acting.showing import clock, print_json, print_rows
from facho.config import Config
from facho.core.interval import format_interval
from facho.core.maintenance import now_and_next
from facho.engine.commands.errors import CommandError
from facho.engine.commands.maintenance import Window, add_window

_LISTED: Final = ("name", "olt", "site", "when", "enabled", "state", "since", "until")


@dataclass(frozen=True, slots=True)
class Wanted:
    """As it stands on the command line; what is not said is empty."""

    name: str
    olt: str
    site: str
    since: str
    until: str
    lasting: str
    weekly: str
    at: str


def add_one(wanted: Wanted, config: Config, *, as_json: bool) -> None:
    now = database_now()
    window = add_window(_window(wanted, now, config), now)
    told = _described(window, now, config)
    if as_json:
        print_json(told)
        return
    typer.echo(f"Added {window.name}: {window.target} is left alone {told['when']}.")


def _window(wanted: Wanted, now: datetime, config: Config) -> Window:
    is_weekly = bool(wanted.weekly or wanted.at)
    starts_at = _moment(wanted.since, "starts_at", config)
    return Window(
        wanted.name,
        olt=wanted.olt,
        site=wanted.site,
        starts_at=starts_at or (None if is_weekly else now),
        ends_at=_moment(wanted.until, "ends_at", config),
        weekdays=[day.strip().lower() for day in wanted.weekly.split(",") if day.strip()],
        start=_time(wanted.at),
        duration=wanted.lasting or None,
    )


def _moment(text: str, field: str, config: Config) -> datetime | None:
    if not text:
        return None
    try:
        written = datetime.fromisoformat(text.strip())
        aware = written if written.tzinfo is not None else written.replace(tzinfo=config.time_zone)
        return aware.astimezone(UTC)
    except (ValueError, OverflowError):
        raise CommandError(field, f"'{text[:40]}' is no time: write it as 2026-11-20T22:00") from None


def _time(text: str) -> time | None:
    try:
        return time.fromisoformat(text).replace(tzinfo=None) if text else None
    except ValueError:
        raise CommandError("start", f"'{text[:40]}' is no time of day: write it as 02:30") from None


def list_windows(config: Config, *, as_json: bool) -> None:
    now = database_now()
    windows = MaintenanceWindow.objects.select_related("olt").defer("olt__credentials")
    rows = [_described(each, now, config) for each in windows]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _LISTED, "There are no windows: facho maintenance add")


def _described(window: MaintenanceWindow, now: datetime, config: Config) -> dict[str, Any]:
    lasting, coming = now_and_next(window.plan, now, config.time_zone)
    state = "now" if lasting else "next" if coming else "over"
    since, until = lasting or coming or (window.starts_at, window.ends_at)
    return {
        "name": window.name,
        "olt": window.olt.name if window.olt else None,
        "site": window.site or None,
        "when": _when(window, config),
        "enabled": window.enabled,
        "state": state if window.enabled else "disabled",
        "since": since,
        "until": until,
    }


def _when(window: MaintenanceWindow, config: Config) -> str:
    if window.starts_at is not None and window.ends_at is not None:
        return (
            f"from {clock(window.starts_at, config.time_zone)} to {clock(window.ends_at, config.time_zone)}"
        )
    lasts = format_interval(timedelta(seconds=window.duration_s or 0))
    return f"every {window.weekdays} at {window.start_time:%H:%M} for {lasts}"
