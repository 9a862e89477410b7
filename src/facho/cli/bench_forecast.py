"""`facho bench forecast`: how far off predicted durations are."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    title = f"{result.olts} OLTs, a week, {result.runs:,} runs: error, median and p90"
    table = Table("tasks", "ahead", title=title, box=None, pad_edge=False)
    for heading in (*result.lines[0].ways, "within P95"):
        table.add_column(heading, justify="right")
    for line in result.lines:
        within = line.ways["facho"].figures().get("within_p95_pct", 0.0)
        errors = map(_written, line.ways.values())
        table.add_row(line.tasks, _AHEAD[line.ahead], *errors, f"{within:.1f} %")
    console = Console()
    console.print(table)
    for sentence in _others(result):
        console.print(sentence)


def _written(errors: Errors) -> str:
    found = errors.figures()
    return f"{found['median_pct']:.1f}, {found['p90_pct']:.1f} %" if "median_pct" in found else ""


def _others(result: Result) -> Iterator[str]:
    cold = result.cold.figures()
    if "median_pct" in cold:
        first = f"The first runs of {cold['predictions']} tasks on new OLTs"
        yield f"{first} were {cold['median_pct']:.1f} % off in the median."
    if result.believed_after is not None:
        yield f"A change of firmware was believed after {result.believed_after:.1f} runs."
