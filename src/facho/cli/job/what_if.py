"""The load that a job would put on its OLTs, shown before it is saved."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from facho.apps.db.database import database_now
from facho.config import Config
from facho.engine.commands.what_if import Change, WhatIf, what_if

_MOST_SHOWN: Final = 20


def confirm_load(change: Change, config: Config, *, as_json: bool, yes: bool) -> list[dict[str, Any]]:
    """Show the load, and ask a person at a terminal when not everything would fit any more.

    Returns it as JSON.
    """
    found = what_if(change, database_now(), config)
    for each in change.repeats:
        facts = ", ".join(each.facts)
        typer.echo(f"{each.job} already asks for {facts} on {each.olts} of these OLTs.", err=True)
    if not as_json:
        _print_load(found)
    if any(each.becomes_impossible for each in found) and sys.stdin.isatty() and not (yes or as_json):
        typer.confirm("Save it all the same?", abort=True, err=True)
    return [each.as_json() for each in found]


def confirm_leaving(job: str, olts: Sequence[str], *, as_json: bool, yes: bool) -> None:
    """Name the OLTs that a job would leave, where its executions are deleted, and ask at a terminal."""
    if not olts:
        return
    more = f" and {len(olts) - _MOST_SHOWN} more" if len(olts) > _MOST_SHOWN else ""
    named = ", ".join(olts[:_MOST_SHOWN]) + more
    typer.echo(f"{job} leaves {len(olts)} OLTs, and its executions there are deleted: {named}", err=True)
    if sys.stdin.isatty() and not (yes or as_json):
        typer.confirm("Go on?", abort=True, err=True)


def _print_load(found: Sequence[WhatIf]) -> None:
    """Print to standard error: standard output is for scripts."""
    if not found:
        return
    table = Table("OLT", "minutes per hour", "at most", "at risk", "would fit with", box=None, pad_edge=False)
    for each in found[:_MOST_SHOWN]:
        table.add_row(*map(Text, _format_row(each)))
    console = Console(stderr=True)
    console.print(table)
    if len(found) > _MOST_SHOWN:
        console.print(f"... and {len(found) - _MOST_SHOWN} more OLTs, with less work.")
    if broken := sum(each.becomes_impossible for each in found):
        console.print(f"On {broken} of {len(found)} OLTs not everything would fit into the hours any more.")


def _format_row(each: WhatIf) -> tuple[str, ...]:
    row = each.as_json()
    change = row["would_fit"]
    return (
        each.olt,
        f"{each.before.p50_min:.1f} -> {each.after.p50_min:.1f}{'' if each.sure else ' (a guess)'}",
        f"{each.after.p95_min:.1f}",
        ", ".join(f"{risk['task_type']} {risk['completed']}/{risk['required']}" for risk in row["at_risk"]),
        f"{change['job']} every {change['interval']}" if change else "",
    )
