"""Output of all commands: tables on a terminal, JSON for scripts."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from facho.config import current
from facho.core.interval import format_interval

_ANY_WIDTH: Final = 10_000
_MOST_NAMES: Final = 5

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def console() -> Console:
    """Return a console as wide as the terminal; in a pipe or a file no line is cut off, for grep."""
    made = Console()
    return made if made.is_terminal or "COLUMNS" in os.environ else Console(width=_ANY_WIDTH)


def print_text(text: str) -> None:
    """Write a long text. With PYTHONUNBUFFERED, print() loses what a full pipe does not take at once."""
    left = memoryview(f"{text}\n".encode())
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def print_json(value: Any) -> None:
    print_text(json.dumps(value, indent=2, ensure_ascii=False, default=_encode_time))


def _encode_time(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON")


def print_outcome(value: Any, sentence: str, *, as_json: bool) -> None:
    """Print the value as JSON, or the sentence for a person."""
    if as_json:
        print_json(value)
    else:
        typer.echo(sentence)


def print_list(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], nothing: str, *, as_json: bool
) -> None:
    """Print all of the rows as JSON, or these columns of them as a table."""
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, columns, nothing)


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], nothing: str) -> None:
    """Print a table without the columns that are empty in every row, or the text `nothing`.

    A row may lack a column: not each port of an ONU has the same facts.
    """
    if not rows:
        console().print(Text(nothing))
        return
    shown = [column for column in columns if any(row.get(column) not in (None, "") for row in rows)]
    table = Table(*shown, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(format_value(row.get(column))) for column in shown))
    console().print(table)


def print_section(title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print a title and a table, or nothing if there are no rows."""
    if rows:
        console().print()
        console().print(Text(title, style="bold"))
        print_rows(rows, columns, "")


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line, without those that have no value."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        if value not in (None, ""):
            table.add_row(name.replace("_", " "), Text(format_value(value)))
    console().print(table)


def format_value(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return format_time(value)
        case list() | tuple():
            return ", ".join(map(format_value, value))
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def format_time(time: datetime) -> str:
    """Format a time on the operator's clock."""
    return f"{time.astimezone(current().time_zone):%Y-%m-%d %H:%M:%S}"


def format_seconds(seconds: int) -> str:
    return format_interval(timedelta(seconds=seconds))


def list_names(names: Collection[str]) -> str:
    """Return the first names, and dots if there are more."""
    return ", ".join(islice(names, _MOST_NAMES)) + (", ..." if len(names) > _MOST_NAMES else "")
