"""Rows for people and for scripts: a table on a terminal, JSON on a pipe."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from rich.table import Table
from rich.text import Text

from facho.cli.output import console, print_whole
from facho.config import current
from facho.core.interval import format_interval


def print_json(told: Any) -> None:
    print_whole(json.dumps(told, indent=2, ensure_ascii=False, default=_as_json))


def _as_json(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON")


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], nothing: str) -> None:
    """A column that is empty in every row is left out."""
    if not rows:
        console().print(Text(nothing))
        return
    shown = [column for column in columns if any(row[column] not in (None, "") for row in rows)]
    table = Table(*shown, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(written(row[column])) for column in shown))
    console().print(table)


def print_titled(title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Nothing at all if there are no rows."""
    if rows:
        console().print()
        console().print(Text(title, style="bold"))
        print_rows(rows, columns, "")


def print_facts(facts: Mapping[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        if value not in (None, ""):
            table.add_row(name.replace("_", " "), Text(written(value)))
    console().print(table)


def written(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return clock(value, current().time_zone)
        case list() | tuple():
            return ", ".join(map(written, value))
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def clock(time: datetime, zone: ZoneInfo) -> str:
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def every(seconds: int) -> str:
    return format_interval(timedelta(seconds=seconds))
