"""`facho maintenance`: when OLTs are left alone."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from facho.cli.system import system
from facho.cli.target import AsJson

app = typer.Typer(no_args_is_help=True, help="Maintenance windows: when OLTs are left alone.")

_EXAMPLES_ADD: Final = """
**Examples**

`facho maintenance add fans --olt olt-7 --for 2h`  from now on, for two hours

`facho maintenance add move --site Centro --from 2026-11-20T22:00 --until 2026-11-21T06:00`

`facho maintenance add backup --site Centro --weekly sat,sun --at 02:00 --for 1h`

Times are on the operator's clock (FACHO_TIME_ZONE). What runs when a window begins is aborted, and slots in
it do not count. Exit codes: 0 done, 1 the system is not well, 2 bad use.
"""
_EXAMPLES_LIST: Final = """
**Examples**

`facho maintenance list`  what lasts now, what comes next, what is over

`facho maintenance list --json`
"""
_EXAMPLES_END: Final = """
**Examples**

`facho maintenance end fans`  now; a weekly one comes again in its time
"""
_EXAMPLES_REMOVE: Final = """
**Examples**

`facho maintenance remove fans move`  what lasts ends with it
"""

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the window.")]


@app.command(epilog=_EXAMPLES_ADD)
def add(
    name: Name,
    olt: Annotated[str, typer.Option(metavar="OLT", help="The OLT that is left alone.")] = "",
    site: Annotated[str, typer.Option(metavar="TEXT", help="The site whose OLTs are.")] = "",
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="When it starts; else now.")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="When it ends.")] = "",
    lasting: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 30m, 2h.")] = "",
    weekly: Annotated[str, typer.Option(metavar="DAYS", help="Every week on these: sat,sun.")] = "",
    at: Annotated[str, typer.Option(metavar="HH:MM", help="When a weekly one starts.")] = "",
    as_json: AsJson = False,
) -> None:
    """Plan a window, once or every week."""
    with system() as config:
        from facho.cli.acting.maintenance import Wanted, add_one

        add_one(Wanted(name, olt, site, since, until, lasting, weekly, at), config, as_json=as_json)


@app.command("list", epilog=_EXAMPLES_LIST)
def list_(as_json: AsJson = False) -> None:
    """List the windows: now, next, over."""
    with system() as config:
        from facho.cli.acting.maintenance import list_windows

        list_windows(config, as_json=as_json)


@app.command(epilog=_EXAMPLES_END)
def end(name: Name) -> None:
    """End a window that lasts."""
    with system():
        from facho.apps.db.clock import database_now
        from facho.engine.commands.maintenance import end_window

        end_window(name, database_now())
        typer.echo(f"Ended {name}.")


@app.command(epilog=_EXAMPLES_REMOVE)
def remove(names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of windows.")]) -> None:
    """Remove windows."""
    with system():
        from facho.apps.db.clock import database_now
        from facho.engine.commands.maintenance import remove_windows

        remove_windows(names, database_now())
        typer.echo(f"Removed {', '.join(names)}.")
