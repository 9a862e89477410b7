"""`facho bench forecast`: how far off predicted durations are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from facho.cli.measuring import AsJson
from facho.cli.progress import noting

if TYPE_CHECKING:
    from facho.bench.forecast import Errors, Result

EXAMPLES: Final = """
**Examples**

`facho bench forecast`  a simulated week, predicted one run and one hour ahead, beside two simpler ways

`facho bench forecast --json`  `lines` with `median_pct` and `p90_pct` of each way; `cold`, for new OLTs
"""
_AHEAD: Final = {"run": "one run", "hour": "one hour"}


def forecast(
    olts: Annotated[int, typer.Option(min=2, help="OLTs; three of ten are new in the middle.")] = 10,
    seed: Annotated[int, typer.Option(help="Another number makes another week.")] = 20260301,
    as_json: AsJson = False,
) -> None:
    """Predict how long runs take in a simulated week, and see how far off it was."""
    from facho.bench.forecast import measure

    with noting() as note:
        result = measure(olts, seed=seed, note=note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
        return
    _print(result)


def _print(result: Result) -> None:
    table = Table("tasks", "ahead", title=f"{result.olts} OLTs, a week, {result.runs:,} runs: error")
    for way in result.lines[0].ways:
        table.add_column(f"{way}\nmedian", justify="right")
        table.add_column("p90", justify="right")
    table.add_column("within\nP95", justify="right")
    for line in result.lines:
        cells = [cell for errors in line.ways.values() for cell in _cells(errors)]
        within = line.ways["facho"].figures().get("within_p95_pct")
        table.add_row(line.tasks, _AHEAD[line.ahead], *cells, "" if within is None else f"{within:.1f} %")
    console = Console()
    console.print(table)
    console.print(_others(result))


def _cells(errors: Errors) -> tuple[str, str]:
    found = errors.figures()
    if "median_pct" not in found:
        return "", ""
    return f"{found['median_pct']:.1f} %", f"{found['p90_pct']:.1f} %"


def _others(result: Result) -> str:
    cold = result.cold.figures()
    said = [f"The first run on {cold['predictions']} new tasks"]
    if "median_pct" in cold:
        said.append(f" was {cold['median_pct']:.1f} % off in the median")
    if result.believed_after is not None:
        said.append(f"; a change of firmware was believed after {result.believed_after:.1f} runs")
    return "".join(said) + "."
