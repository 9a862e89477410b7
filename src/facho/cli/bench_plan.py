"""`facho bench plan`: how near plans come to what the engine does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from facho.cli.measuring import AsJson, DatabaseUrl, measuring

if TYPE_CHECKING:
    from facho.bench.plan import Result

EXAMPLES: Final = """
**Examples**

`facho bench plan`  two minutes of six slow OLTs, planned once and then compared with what the engine did

`facho bench plan --json`  `near_pct`, `error_s_p95`, `unforeseen`; `make_ms_p50` for 100 OLTs of 10 nodes
"""


def plan(
    olts: Annotated[int, typer.Option(min=1, help="Simulated OLTs with a slow CPU.")] = 6,
    onus: Annotated[int, typer.Option(min=1, help="ONUs of each.")] = 1000,
    warm_up: Annotated[float, typer.Option(min=1, help="Seconds to learn how long tasks take.")] = 150.0,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds to plan and to compare.")] = 120.0,
    many_olts: Annotated[int, typer.Option(min=1, help="OLTs whose plans are made at once.")] = 1000,
    many_nodes: Annotated[int, typer.Option(min=1, help="Nodes on all of those.")] = 10_000,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Plan what simulated OLTs will do, and compare it with what the engine does."""
    from facho.bench.plan import Work, measure

    with measuring() as note:
        result = measure(Work(olts, onus, warm_up, seconds, many_olts, many_nodes), database_url, note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    _print(result)


def _print(result: Result) -> None:
    work, error, make = result.work, result.error_s, result.make_ms
    table = Table("what", title=f"{work.olts} slow OLTs, {work.seconds:g} s planned once, {result.database}")
    for heading in ("how many", "p50", "p95", "largest"):
        table.add_column(heading, justify="right")
    starts = (f"{number:.2f} s" for number in (error.p50, error.p95, error.largest))
    table.add_row("runs that began off their plan by", f"{error.count:,}", *starts)
    makes = (f"{number:,.0f} ms" for number in (make.p50, make.p95, make.largest))
    table.add_row("plans of 100 OLTs made in", f"{make.count:,}", *makes)
    console = Console()
    console.print(table)
    console.print(
        f"{result.near_pct:g} % began within 10 s of their plan; {result.waited} had to wait for another, "
        f"{result.unforeseen} of {result.planned} were not foreseen, or did not come."
    )
