"""`facho retention`: removals of old rows that wait for a confirmation."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from facho.cli.output import AsJson, print_json, print_outcome
from facho.cli.system import database_now, system

app = typer.Typer(no_args_is_help=True, help="Removals of old rows that wait for a confirmation.")

_EXAMPLES: Final = """
**Examples**

`facho retention show`  what would be removed, and why it waits

`facho retention confirm 12`  removes what was shown under this number

It waits when most of a table would be removed at once: because the clock is wrong, because the data are
old, as those of a backup, or because FACHO_KEEP_... was made shorter.
Once the clock is right, it goes on by itself.
"""


@app.callback()
def _group() -> None:
    pass


@app.command(epilog=_EXAMPLES)
def show(as_json: AsJson = False) -> None:
    """Show the removal that waits for a confirmation."""
    with system():
        from facho.cli.doctor.storage import HOW_TO_CONFIRM
        from facho.engine.upkeep.retention_holds import describe_hold, read_hold

        shown, now = read_hold(), database_now()
        if as_json:
            print_json(None if shown is None else {"id": shown.id, **shown.hold.as_json()})
        elif shown is None:
            typer.echo("Nothing waits for a confirmation.")
        else:
            typer.echo(describe_hold(shown.hold, now))
            if not shown.hold.is_confirmed(now):
                typer.echo(HOW_TO_CONFIRM % shown.id)


@app.command(epilog=_EXAMPLES)
def confirm(
    id: Annotated[int, typer.Argument(metavar="ID", help="The number that facho retention show gives.")],  # noqa: A002
    as_json: AsJson = False,
) -> None:
    """Confirm the removal that was shown under this number; rows are removed in chunks."""
    with system():
        from facho.apps.access.actors import actor
        from facho.engine.commands.acknowledgements import confirm_removal
        from facho.engine.upkeep.retention_holds import describe_hold

        now = database_now()
        hold = confirm_removal(id, actor().who, now)
        print_outcome({"id": id, **hold.as_json()}, describe_hold(hold, now), as_json=as_json)
