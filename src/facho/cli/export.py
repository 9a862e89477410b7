"""`facho export`: lists as CSV."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from facho.cli.system import system

app = typer.Typer()


class What(StrEnum):
    """As `facho.engine.upkeep.exports` has them, which is not imported to say so."""

    EXECUTIONS = "executions"
    ONUS = "onus"
    QUOTAS = "quotas"
    VIOLATIONS = "violations"
    EVENTS = "events"
    OLTS = "olts"
    JOBS = "jobs"
    NODES = "nodes"
    PORTS = "ports"
    UNPROVISIONED = "unprovisioned"
    OUTAGES = "outages"
    PLANS = "plans"
    LOGS = "logs"
    AUDIT = "audit"


_EXAMPLES: Final = """
**Examples**

`facho export onus -o onus.csv`  all ONUs

`facho export executions --olt olt-7 --since 24h > executions.csv`

`facho export quotas --since 2026-11-01 --until 2026-12-01 -o november.csv`

A text that a spreadsheet would take for a formula has a `'` before it. Times are UTC.
"""


@app.command(epilog=_EXAMPLES)
def export(
    what: Annotated[What, typer.Argument(help="Which list.")],
    olt: Annotated[str | None, typer.Option(metavar="OLT", help="Only of this OLT.")] = None,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="So long ago, as 7d, or a date; all if not said.")
    ] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="The same; now if not said.")] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")
    ] = None,
) -> None:
    """Write a list as CSV, for a spreadsheet or a script."""
    with system() as config:
        from facho.cli.acting.exporting import write

        write(what.value, olt, since, until, output, config)
