"""`facho onu`: the ONUs that were found."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from facho.cli.children import stop_on_signals
from facho.cli.system import system
from facho.cli.target import AsJson, refuse

app = typer.Typer(no_args_is_help=True, help="The ONUs that were found.")

_EXAMPLES_LIST: Final = """
**Examples**

`facho onu list --olt olt-7 --state los`  those of an OLT that are without light

`facho onu list --search HWTC1234`  by serial, MAC or description

`facho onu list --duplicates`  those whose serial is at two places of an OLT

`facho onu list --json`  all of them, for a script
"""
_EXAMPLES_UNPROVISIONED: Final = """
**Examples**

`facho onu unprovisioned`  those that an OLT has found, and nobody has provisioned

`facho onu unprovisioned --olt olt-7 --json`
"""
_EXAMPLES_SHOW: Final = """
**Examples**

`facho onu show HWTC1234ABCD`  by its serial, or its MAC in any form

`facho onu show 0/1/7:3 --olt olt-7`  by its interface

`facho onu show HWTC1234ABCD --json`  for a script
"""
_EXAMPLES_READ: Final = """
**Examples**

`facho onu read HWTC1234ABCD`  its power, state and all else, as the OLT tells it now

`facho onu read 0/1/7:3 --olt olt-7 --json`  for a script

The engine that runs asks, under the OLT's lease; while the OLT is busy, it waits for its turn.
"""
_EXAMPLES_HISTORY: Final = """
**Examples**

`facho onu history HWTC1234ABCD`  all numbers of the last day

`facho onu history 0/1/7:3 --olt olt-7 --fact onu_rx_dbm --since 7d`

`facho onu history HWTC1234ABCD --since 2026-11-01 --until 2026-11-02T18:00 --csv`  every point, for a script
"""
Name = Annotated[str, typer.Argument(metavar="ONU", help="Its serial, its MAC, or with --olt its interface.")]
OfOlt = Annotated[str | None, typer.Option("--olt", metavar="NAME", help="The OLT that it is on.")]


@app.callback()
def _group() -> None:
    # Without it a group of one command would be that command.
    pass


@app.command("list", epilog=_EXAMPLES_LIST)
def list_onus(
    olt: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this OLT.")] = None,
    search: Annotated[
        str, typer.Option(metavar="WORDS", help="In the serial, the MAC or the description.")
    ] = "",
    state: Annotated[str, typer.Option(help="Only those in this state, as online or los.")] = "",
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Only those whose serial is at two places of an OLT.")
    ] = False,
    absent: Annotated[bool, typer.Option("--absent", help="Also those that are gone.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=0, help="So many at most; 0 is all. 100 if not said, all with --json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List ONUs."""
    with system():
        from facho.cli.acting import onus

        onus.list_onus(olt, search, state, duplicates=duplicates, absent=absent, limit=limit, as_json=as_json)


@app.command(epilog=_EXAMPLES_UNPROVISIONED)
def unprovisioned(
    olt: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this OLT.")] = None,
    as_json: AsJson = False,
) -> None:
    """List ONUs that wait to be provisioned."""
    with system():
        from facho.cli.acting import chassis

        chassis.list_waiting(olt, as_json=as_json)


@app.command(epilog=_EXAMPLES_SHOW)
def show(onu: Name, olt: OfOlt = None, as_json: AsJson = False) -> None:
    """Show one ONU: its facts, when they were collected, and what happened to it."""
    with system():
        from facho.cli.acting import onu_pages

        onu_pages.show(onu, olt, as_json=as_json)


@app.command(epilog=_EXAMPLES_READ)
def read(onu: Name, olt: OfOlt = None, as_json: AsJson = False) -> None:
    """Read one ONU now, before all else that waits, and store what the OLT says."""
    stopping = stop_on_signals()
    with system() as config:
        from facho.cli.acting import onu_reading

        onu_reading.read(onu, olt, config, stopping, as_json=as_json)


@app.command(epilog=_EXAMPLES_HISTORY)
def history(
    onu: Name,
    olt: OfOlt = None,
    facts: Annotated[
        list[str] | None, typer.Option("--fact", metavar="FACT", help="Only this one; again for more.")
    ] = None,
    since: Annotated[str, typer.Option(metavar="TIME", help="So long ago, as 7d, or a date.")] = "24h",
    until: Annotated[str, typer.Option(metavar="TIME", help="The same; now if not said.")] = "",
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print every point, separated by commas.")] = False,
) -> None:
    """Show the numbers of an ONU over time."""
    if as_json and as_csv:
        refuse("give either --json or --csv")
    with system():
        from facho.cli.acting import onu_history

        onu_history.history(onu, olt, facts or [], since, until, as_json=as_json, as_csv=as_csv)
