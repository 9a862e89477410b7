"""`facho maintenance`: times in which OLTs are not asked."""

from __future__ import annotations

from datetime import datetime, time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.output import AsJson, format_seconds, format_time, print_list, print_outcome
from facho.cli.system import database_now, system
from facho.cli.times import parse_date
from facho.core.maintenance import now_and_next
from facho.engine.commands.errors import CommandError

if TYPE_CHECKING:
    from facho.apps.maintenance.models import MaintenanceWindow
    from facho.config import Config

app = typer.Typer(no_args_is_help=True, help="Maintenance windows: times in which OLTs are not asked.")

_EXAMPLES_ADD: Final = """
**Examples**

`facho maintenance add fans --olt olt-7 --for 2h`  from now on, for two hours

`facho maintenance add upgrade --olt olt-7 --preset tonight`  from 00:00 to 06:00

`facho maintenance add move --site Centro --from 2026-11-20T22:00 --until 2026-11-21T06:00`

`facho maintenance add backup --site Centro --weekly sat,sun --at 02:00 --for 1h`

Times are on the operator's clock (FACHO_TIME_ZONE). What runs when a window begins is aborted, and slots in
it do not count. Exit codes: 0 done, 1 the system is not well, 2 bad use.
"""
_EXAMPLES_LIST: Final = """
**Examples**

`facho maintenance list`  those of now, those that come next, those that are over

`facho maintenance list --json`
"""
_EXAMPLES_END: Final = """
**Examples**

`facho maintenance end fans`  now; a weekly one begins again at its time
"""
_EXAMPLES_REMOVE: Final = """
**Examples**

`facho maintenance remove fans move`  one that is open ends
"""

_COLUMNS: Final = ("name", "olt", "site", "when", "enabled", "state", "since", "until")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the window.")]


@app.command(epilog=_EXAMPLES_ADD)
def add(
    name: Name,
    olt: Annotated[str, typer.Option(metavar="OLT", help="The OLT that is not asked.")] = "",
    site: Annotated[str, typer.Option(metavar="TEXT", help="The site whose OLTs are not asked.")] = "",
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="When it starts; else now.")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="When it ends.")] = "",
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 30m, 2h.")] = "",
    weekly: Annotated[str, typer.Option(metavar="DAYS", help="Every week on these days: sat,sun.")] = "",
    at: Annotated[str, typer.Option(metavar="HH:MM", help="When a weekly one starts.")] = "",
    preset: Annotated[
        str, typer.Option(metavar="NAME", help="Usual times: tonight, next-2h or sunday (00:00 to 06:00).")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add a window, once or every week."""
    with system() as config:
        from facho.engine.commands.maintenance import Window, add_window

        now = database_now()
        starts_at = _parse_date("starts_at", since, config)
        window = Window(
            name,
            olt=olt,
            site=site,
            starts_at=starts_at or (None if weekly or at or preset else now),
            ends_at=_parse_date("ends_at", until, config),
            weekdays=[day.strip().lower() for day in weekly.split(",") if day.strip()],
            start=_parse_time_of_day(at),
            duration=duration or None,
            preset=preset,
        )
        row = _window_row(add_window(window, now), now, config)
        sentence = f"Added {name}: {row['olt'] or row['site']} is not asked {row['when']}."
        print_outcome(row, sentence, as_json=as_json)


def _parse_date(field: str, text: str, config: Config) -> datetime | None:
    return parse_date(field, text, config.time_zone, "it as 2026-11-20T22:00") if text else None


def _parse_time_of_day(text: str) -> time | None:
    try:
        return time.fromisoformat(text).replace(tzinfo=None) if text else None
    except ValueError:
        raise CommandError("start", f"'{text[:40]}' is no time of day: write it as 02:30") from None


@app.command("list", epilog=_EXAMPLES_LIST)
def list_windows(as_json: AsJson = False) -> None:
    """List windows: of now, next ones, those that are over."""
    with system() as config:
        from facho.apps.maintenance.models import MaintenanceWindow

        now = database_now()
        windows = MaintenanceWindow.objects.select_related("olt").defer("olt__credentials")
        rows = [_window_row(each, now, config) for each in windows]
        print_list(rows, _COLUMNS, "There are no windows: facho maintenance add", as_json=as_json)


def _window_row(window: MaintenanceWindow, now: datetime, config: Config) -> dict[str, Any]:
    current, following = now_and_next(window.plan, now, config.time_zone)
    state = "now" if current else "next" if following else "over"
    since, until = current or following or (window.starts_at, window.ends_at)
    return {
        "name": window.name,
        "olt": window.olt.name if window.olt else None,
        "site": window.site or None,
        "when": _format_when(window),
        "enabled": window.enabled,
        "state": state if window.enabled else "disabled",
        "since": since,
        "until": until,
    }


def _format_when(window: MaintenanceWindow) -> str:
    if window.starts_at is not None and window.ends_at is not None:
        return f"from {format_time(window.starts_at)} to {format_time(window.ends_at)}"
    duration = format_seconds(window.duration_s or 0)
    return f"every {window.weekdays} at {window.start_time:%H:%M} for {duration}"


@app.command(epilog=_EXAMPLES_END)
def end(name: Name) -> None:
    """End an open window."""
    with system():
        from facho.engine.commands.maintenance import end_window

        end_window(name, database_now())
        typer.echo(f"Ended {name}.")


@app.command(epilog=_EXAMPLES_REMOVE)
def remove(names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of windows.")]) -> None:
    """Remove windows."""
    with system():
        from facho.engine.commands.maintenance import remove_windows

        remove_windows(names, database_now())
        typer.echo(f"Removed {', '.join(names)}.")
