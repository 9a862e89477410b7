"""`facho bench web`: the pages and the API with a million ONUs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from facho.cli.measuring import AsJson, DatabaseUrl, measuring

if TYPE_CHECKING:
    from facho.bench.web import Result

EXAMPLES: Final = """
**Examples**

`facho bench web --database-url postgresql://me@/bench?host=/run/postgresql`  500 OLTs with 1,000,000 ONUs

`facho bench web --olts 20 --onus 20000 --rounds 5`  a small one, on SQLite

`facho bench web --json`  `pages`: `ms_p50`, `ms_p95` and `bytes` of each; `load`: what one process bears
"""


def web(
    olts: Annotated[int, typer.Option(min=1, help="OLTs; none of them is asked anything.")] = 500,
    onus: Annotated[int, typer.Option(min=1, help="ONUs of all of them.")] = 1_000_000,
    executions: Annotated[
        int, typer.Option(min=1, help="Executions; there are as many events, and entries of the log.")
    ] = 300_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each page is asked for.")] = 40,
    seconds: Annotated[int, typer.Option(min=1, help="How long a page is asked for by many.")] = 5,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Ask for pages and answers of the API with very many rows, and see how long they take."""
    from facho.bench.many_rows import Rows
    from facho.bench.web import Work, measure

    rows = Rows(olts, onus, executions, executions, executions)
    with measuring() as note:
        result = measure(Work(rows, rounds, seconds), database_url, note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    show(result)


def show(result: Result) -> None:
    rows = result.work.rows
    table = Table("what", title=f"{rows.onus:,} ONUs of {rows.olts:,} OLTs, {result.database}")
    for heading in ("p50", "p95", "goal", "CPU", "size"):
        table.add_column(heading, justify="right")
    for each in result.took:
        limit = f"{each.page.goal_ms:,.0f} ms"
        times = (f"{each.ms.p50:,.1f} ms", f"{each.ms.p95:,.1f} ms", limit, f"{each.cpu_ms:,.0f} ms")
        name = each.page.name if each.well else f"{each.page.name} (over)"
        table.add_row(name, *times, f"{each.size / 1000:,.1f} kB")
    console = Console()
    console.print(table)
    console.print(f"The rows were made in {result.filled_s:,.0f} s.")
    for name, status in result.missing.items():
        console.print(f"{name}: not measured, it answered {status}.")
    for load in result.bore:
        rate = f"{load.requests_per_second:,.0f} requests a second"
        console.print(f"One process bore {rate} of: {load.page.name}; {load.errors} errors.")
    if not result.bore:
        console.print("What one process bears was not measured: wrk is not installed (Debian package wrk).")
