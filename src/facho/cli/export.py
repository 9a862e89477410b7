"""`facho export`: lists as CSV."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from facho.cli.errors import fail
from facho.cli.system import database_now, system
from facho.cli.times import parse_time
from facho.file_modes import callers_umask

app = typer.Typer()


class ListName(StrEnum):
    """The names of `facho.engine.upkeep.exports`, which needs Django."""

    EXECUTIONS = "executions"
    ONUS = "onus"
    QUOTAS = "quotas"
    VIOLATIONS = "violations"
    EVENTS = "events"
    OLTS = "olts"
    JOBS = "jobs"
    NODES = "nodes"
    PORTS = "ports"
    UPLINKS = "uplinks"
    OLT_HEALTH = "olt_health"
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
    what: Annotated[ListName, typer.Argument(help="Which list.")],
    olt: Annotated[str | None, typer.Option(metavar="OLT", help="Only of this OLT.")] = None,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="An age, as 7d, or a date; all if not given.")
    ] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="The same; now if not given.")] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")
    ] = None,
) -> None:
    """Write a list as CSV, for a spreadsheet or a script."""
    with system() as config:
        from facho.apps.access.audit_actions import Action
        from facho.apps.access.audit_recording import note
        from facho.engine.commands.errors import CommandError
        from facho.engine.commands.olts import olt_named
        from facho.engine.upkeep.exports import EXPORTS

        export = EXPORTS[what.value]
        if (since or until) and not export.at:
            raise CommandError("since" if since else "until", f"{what.value} have no time to choose by")
        if olt is not None and not export.of:
            raise CommandError("olt", f"{what.value} has no OLT to choose by")
        now, zone = database_now(), config.time_zone
        rows = export.rows(
            None if olt is None else olt_named(olt),
            parse_time("since", since, now, zone) if since else None,
            parse_time("until", until, now, zone) if until else None,
        )
        note(Action.EXPORT, rows.model, None, what.value)
        try:
            with _open(output) as file:
                for piece in export.csv(rows):
                    file.write(piece.encode())
        except OSError as error:
            fail(f"{output or 'the output'} cannot be written: {error.strerror}")


def _open(output: Path | None) -> BinaryIO:
    if output is None:
        return open(sys.stdout.fileno(), "wb", closefd=False)
    with callers_umask():
        return output.open("wb")
