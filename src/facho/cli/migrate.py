"""`facho migrate`: bring the database up to this version."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

import typer

from facho.cli.output import AsJson, print_json
from facho.cli.system import system

app = typer.Typer(add_completion=False)

_EXAMPLES: Final = """
**Examples**

`facho migrate`  after an upgrade, and for a new PostgreSQL database

`facho migrate --without-copy`  when there is no room for a copy of SQLite's file, and you have your own

`facho migrate --forget-unreadable`  when no key opens some secrets, and you will enter them again

The embedded SQLite database follows by itself when a command is started and nothing else uses it.
"""


@app.command(epilog=_EXAMPLES)
def migrate(
    as_json: AsJson = False,
    without_copy: Annotated[
        bool, typer.Option("--without-copy", help="Do not copy SQLite's file first: you have a copy.")
    ] = False,
    forget_unreadable: Annotated[
        bool,
        typer.Option(
            "--forget-unreadable",
            help="Go on although no key opens some secrets: they have to be entered again.",
        ),
    ] = False,
) -> None:
    """Bring the database up to this version."""
    with system(ready=False):
        from facho.engine.commands.setup import prepare
        from facho.engine.upkeep.schema import missing_migrations

        missing = missing_migrations()
        synced = prepare(
            lambda sentence: typer.echo(sentence, err=True),
            copy=not without_copy,
            forget_unreadable=forget_unreadable,
        )
        if as_json:
            print_json({"migrations": missing, "oids": asdict(synced)})
            return
        typer.echo(f"{len(missing)} changes were made." if missing else "The database was up to date.")
        typer.echo(
            f"OIDs from the profiles: {synced.created} new, {synced.updated} changed, "
            f"{synced.removed} removed, {synced.kept} kept as you have them."
        )
