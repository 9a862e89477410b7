"""What a job would do to its OLTs, shown before it is saved."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from facho.apps.db.clock import database_now
from facho.config import Config
from facho.engine.commands.jobs import NewJob
from facho.engine.commands.what_if import WhatIf, change_of, what_if

_MOST_SHOWN: Final = 20


def tried(
    job: str | NewJob,
    olts: Sequence[str],
    interval: str | timedelta | None,
    config: Config,
    *,
    as_json: bool,
    yes: bool,
) -> list[WhatIf]:
    """Scripts are never asked anything: only who sits at a terminal, and only when something breaks."""
    found = what_if(change_of(job, olts, interval), database_now(), config)
    if not as_json:
        _print(found)
    if any(each.becomes_impossible for each in found) and sys.stdin.isatty() and not (yes or as_json):
        typer.confirm("Save it all the same?", abort=True, err=True)
    return found


def _print(found: Sequence[WhatIf]) -> None:
    """Beside what scripts read."""
    if not found:
        return
    table = Table("OLT", "minutes an hour", "at most", "at risk", "would fit with", box=None, pad_edge=False)
    for each in found[:_MOST_SHOWN]:
        table.add_row(*map(Text, _row(each)))
    console = Console(stderr=True)
    console.print(table)
    if len(found) > _MOST_SHOWN:
        console.print(f"... and {len(found) - _MOST_SHOWN} more OLTs, with less work.")
    if broken := sum(each.becomes_impossible for each in found):
        console.print(f"On {broken} of {len(found)} OLTs not everything would fit into the hours any more.")


def _row(each: WhatIf) -> tuple[str, ...]:
    told = each.as_json()
    change = told["would_fit"]
    return (
        each.olt,
        f"{each.before.p50_min:.1f} -> {each.after.p50_min:.1f}{'' if each.sure else ' (a guess)'}",
        f"{each.after.p95_min:.1f}",
        ", ".join(f"{risk['task_type']} {risk['completed']}/{risk['required']}" for risk in told["at_risk"]),
        f"{change['job']} every {change['interval']}" if change else "",
    )
