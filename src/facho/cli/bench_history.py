"""`facho bench history`: a month of numbers, kept and read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from facho.cli.measuring import AsJson, DatabaseUrl, measuring

if TYPE_CHECKING:
    from facho.bench.history import Result

EXAMPLES: Final = """
**Examples**

`facho bench history`  a month of 4,000 ONUs on SQLite: bytes a sample, and how quickly charts are read

`facho bench history --json`  `bytes_per_sample`, `onu_month_ms_p95`, `append_ms_p50`, `close_ms_p50`

`facho bench history --ports 63`  with every port made sample by sample, which takes some minutes
"""


def history(
    onus: Annotated[int, typer.Option(min=64, help="ONUs of the OLT.")] = 4000,
    days: Annotated[int, typer.Option(min=1, help="Days of history, a collection every 5 minutes.")] = 30,
    ports: Annotated[
        int, typer.Option(min=1, help="Ports that are made sample by sample; the others get copies of these.")
    ] = 4,
    reads: Annotated[int, typer.Option(min=1, help="Charts to read.")] = 200,
    database_url: DatabaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Keep a month of one large OLT's numbers, and read charts from it."""
    from facho.bench.history import Work, measure

    with measuring() as note:
        result = measure(Work(onus, days, ports, reads), database_url, note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    _print(result)


def _print(result: Result) -> None:
    work = result.work
    table = Table(
        "what", title=f"{work.onus:,} ONUs, 4 facts every 5 minutes, {work.days} days, {result.database}"
    )
    for heading in ("how many", "p50", "p95", "largest", "our CPU, p50"):
        table.add_column(heading, justify="right")
    for what, cost in (
        ("read one ONU's power", result.month),
        ("read both its powers", result.both_powers),
        ("read a port's last day", result.port_day),
        ("append a collection", result.append),
        ("close an hour", result.close),
    ):
        numbers = (cost.ms.p50, cost.ms.p95, cost.ms.largest, cost.cpu_ms.p50)
        table.add_row(what, f"{cost.ms.count:,}", *(f"{number:,.1f} ms" for number in numbers))
    console = Console()
    console.print(table)
    console.print(
        f"{result.bytes_per_sample:.2f} bytes a sample in the database, with its indexes: {result.samples:,} "
        f"samples in {result.rows:,} rows. {work.ports} ports were made sample by sample, and read from; "
        f"the others have copies of their hours."
    )
