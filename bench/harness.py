"""The parts that all benchmarks share: the commands, their options, the output, and statistics."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Protocol

import typer
from rich.table import Table

from facho.cli import MARKUP, LazyGroup
from facho.cli.errors import Exit
from facho.cli.progress import status_line


class Benchmarks(LazyGroup):
    package = "bench"
    # Each of these modules has an `app` with one command.
    commands_in: ClassVar = {
        name: name
        for name in (
            "snmp", "adapt", "decode", "sim", "collect", "scheduler", "coordinator", "forecast", "plan",
            "workers", "million", "history", "web", "files",
        )
    } | {"remote-write": "remote_write"}  # fmt: skip


app: Final = typer.Typer(
    cls=Benchmarks,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    help="Measure speed, beside other programs, in one run on this machine.",
)


@app.callback()
def _group() -> None:
    pass


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
DatabaseUrl = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="A database that is empty, or has bench in its name and is emptied; SQLite if not given.",
    ),
]
Pollers = Annotated[int, typer.Option(min=1, help="Executions at once.")]

# Shows what a benchmark is doing.
Note = Callable[[str], None]


class MeasurementFailed(Exception):
    """The measured program did not do what was to be measured; the message says what happened instead."""


class DatabaseInUse(Exception):
    """The database holds tables that must not be deleted; the message says which database to name."""


class Result(Protocol):
    def as_json(self) -> dict[str, Any]: ...

    def print(self) -> None:
        """Print tables and sentences for people."""


def run_benchmark(measure: Callable[[Note], Result], *, as_json: bool) -> None:
    """Measure and print the result. A failed measurement ends the program with a sentence."""
    with measuring() as note:
        result = measure(note)
    if as_json:
        typer.echo(json.dumps(result.as_json(), indent=2))
    else:
        result.print()


@contextmanager
def measuring() -> Iterator[Note]:
    from facho.config import BadSettings
    from facho.sim.fleet import FleetError

    with status_line() as note:
        try:
            yield note
        except DatabaseInUse as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(Exit.BAD_USE) from error
        except (MeasurementFailed, FleetError, BadSettings) as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(Exit.FAILED) from error


def table_of_numbers(title: str, first: str, *headings: str) -> Table:
    """Return a table with text in its first column and numbers in the others."""
    table = Table(title=title)
    table.add_column(first, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles of many measurements in one unit."""

    count: int
    p50: float
    p95: float
    p99: float
    largest: float

    @classmethod
    def of(cls, measured: Iterable[float]) -> Spread:
        values = sorted(measured)
        if not values:
            return cls(0, 0.0, 0.0, 0.0, 0.0)
        cuts = statistics.quantiles(values, n=100, method="inclusive") if len(values) > 1 else values * 99
        return cls(len(values), cuts[49], cuts[94], cuts[98], values[-1])

    def as_json(self, name: str, digits: int) -> dict[str, float]:
        percentiles = {"p50": self.p50, "p95": self.p95, "p99": self.p99, "max": self.largest}
        return {f"{name}_{each}": round(value, digits) for each, value in percentiles.items()}


def round_or_none(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)
