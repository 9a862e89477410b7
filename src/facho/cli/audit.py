"""`facho audit`: what people changed."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from facho.cli.system import system
from facho.cli.target import AsJson

app = typer.Typer(no_args_is_help=True, help="Who changed what, and when.")

_EXAMPLES_LIST: Final = """
**Examples**

`facho audit list`  the last hundred entries, the newest first

`facho audit list --who maria --since 7d`  what one person did this week

`facho audit list --model hosts.olt --name olt-7`  what was done to one OLT

`facho audit list --since 30d --limit 0 --json`  a month, for a script
"""


@app.callback()
def _group() -> None:
    # Without it a group of one command would be that command.
    pass


@app.command("list", epilog=_EXAMPLES_LIST)
def list_entries(
    who: Annotated[str, typer.Option(metavar="NAME", help="Only what this person did.")] = "",
    action: Annotated[str, typer.Option(help="Only this, as change, delete, run or login_failed.")] = "",
    model: Annotated[str, typer.Option(help="Only things of this kind, as hosts.olt.")] = "",
    name: Annotated[str, typer.Option(help="Only what was done to what has this name.")] = "",
    since: Annotated[str, typer.Option(metavar="TIME", help="So long ago, as 7d, or a date.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="So many at most; 0 is all.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List what people did, the newest first."""
    with system():
        from facho.cli.acting import audit

        asked = {"who": who, "action": action, "model": model, "name": name}
        audit.list_entries(asked, since, limit, as_json=as_json)
