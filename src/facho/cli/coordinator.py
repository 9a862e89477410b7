"""`facho coordinator`: the state of what watches over quotas and changes."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from facho.cli.system import system
from facho.cli.target import AsJson

app = typer.Typer(no_args_is_help=True, help="The coordinator: quotas, changes, and what it watches over.")

_EXAMPLES: Final = """
**Examples**

`facho coordinator state`  OLTs, leases, queue, quotas of this hour, and how long ago the loops stepped

`facho coordinator state --json`  the same as one object, as `facho doctor --json` has it too

`facho coordinator plans --hours 1`  how many runs of the last hour began when they were predicted to
"""


@app.callback()
def _group() -> None:
    pass


@app.command(epilog=_EXAMPLES)
def state(as_json: AsJson = False) -> None:
    """Show the coordinator's state."""
    with system() as config:
        from facho.apps.db.clock import database_now
        from facho.cli.acting.coordinator import print_condition
        from facho.cli.acting.showing import print_json
        from facho.engine.upkeep.system_status import coordinator_state

        condition = coordinator_state(database_now(), config)
        if as_json:
            print_json(condition.as_json())
        else:
            print_condition(condition)


@app.command(epilog=_EXAMPLES)
def plans(
    hours: Annotated[int, typer.Option(min=1, help="Of the last so many hours.")] = 24,
    as_json: AsJson = False,
) -> None:
    """Compare the plans of hours that are over with what was run then."""
    with system() as config:
        from facho.cli.acting.plans import show_nearness

        show_nearness(hours, config, as_json=as_json)
