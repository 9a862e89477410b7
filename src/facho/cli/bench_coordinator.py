"""`facho bench coordinator`: a step with very many nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from facho.cli.measuring import AsJson, DatabaseUrl, measuring

if TYPE_CHECKING:
    from facho.bench.coordinator import Result

EXAMPLES: Final = """
**Examples**

`facho bench coordinator`  10,000 nodes on 1,000 OLTs: a step with nothing to do, and those with much to do

`facho bench coordinator --json`  `quiet_ms_p95`, `quiet_queries`; also for `changed`, `new_hour`, `closing`
"""
_WHAT: Final = {
    "quiet": "nothing changed",
    "changed": "some OLTs changed by SQL",
    "new_hour": "an hour begins",
    "closing": "an hour is closed",
    "first": "the first look at all OLTs",
    "state": "facho coordinator state",
}


def coordinator(
    olts: Annotated[int, typer.Option(min=1, help="OLTs; none of them is asked anything.")] = 1000,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes on all of them.")] = 10_000,
    steps: Annotated[int, typer.Option(min=1, help="Steps with nothing to do.")] = 40,
    changed: Annotated[int, typer.Option(min=1, help="OLTs of which something is changed.")] = 10,
    hours: Annotated[int, typer.Option(min=1, help="Hours that end, 20 % of the OLTs violated.")] = 3,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Step the coordinator with very many nodes, and see how long it takes."""
    from facho.bench.coordinator import Load, measure

    load = Load(olts, nodes, quiet_steps=steps, changed=changed, hours=hours)
    with measuring() as note:
        result = measure(load, database_url, note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    _print(result)


def _print(result: Result) -> None:
    load = result.load
    table = Table("what", title=f"{load.nodes:,} nodes on {load.olts:,} OLTs, {result.database}")
    for heading in ("how many", "p50", "p95", "largest", "queries"):
        table.add_column(heading, justify="right")
    costs = result.costs()
    for name, what in _WHAT.items():
        ms = costs[name].ms
        numbers = (f"{number:,.0f} ms" for number in (ms.p50, ms.p95, ms.largest))
        table.add_row(what, f"{ms.count:,}", *numbers, f"{costs[name].queries:,}")
    console = Console()
    console.print(table)
    console.print(
        f"{load.changed} OLTs were changed at a time; {result.violations:,} violations were found. While "
        f"hours began and were closed, somebody else's row took {result.writer_ms.p95:,.0f} ms at p95 and "
        f"{result.writer_ms.largest:,.0f} ms at most."
    )
