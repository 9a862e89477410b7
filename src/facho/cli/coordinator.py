"""`facho coordinator`: the state of what watches over quotas and changes."""

from __future__ import annotations

from typing import Final

import typer

from facho.cli.system import system
from facho.cli.target import AsJson

app = typer.Typer(no_args_is_help=True, help="The coordinator: quotas, changes, and what it watches over.")

_EXAMPLES: Final = """
**Examples**

`facho coordinator state`  OLTs, leases, queue, quotas of this hour, and how long ago the loops stepped

`facho coordinator state --json`  the same as one object, as `facho doctor --json` has it too
"""


@app.callback()
def _group() -> None:
    pass


@app.command(epilog=_EXAMPLES)
def state(as_json: AsJson = False) -> None:
    """Show the coordinator's state."""
    with system() as config:
        from facho.cli.acting.coordinator import print_condition
        from facho.cli.acting.showing import print_json
        from facho.engine.clock import database_now
        from facho.engine.condition import coordinator_state

        condition = coordinator_state(database_now(), config)
        if as_json:
            print_json(condition.as_json())
        else:
            print_condition(condition)
