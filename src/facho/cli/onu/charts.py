"""`facho onu history`: a sparkline and a table on a terminal, all points for a script."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import typer
from rich.table import Table
from rich.text import Text

from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.discovery.selectors import interface_of
from facho.apps.history.facts import history_facts
from facho.apps.history.models import Subject
from facho.apps.history.selectors import onu_series
from facho.cli.output import console, format_time, format_value, print_json, print_text
from facho.cli.times import parse_time
from facho.config import current
from facho.core.bit_rates import bit_rate
from facho.core.downsampling import DownsampledSpan, Point, downsample, mean_per_cell
from facho.core.traffic import DIRECTIONS
from facho.engine.commands.errors import CommandError

# With more points than this, a row stands for an hour or a day.
_MOST_ROWS: Final = 48
# Width of a sparkline, as far as the terminal has room beside the numbers.
_MOST_CELLS: Final = 60
_FEWEST_CELLS: Final = 10
_BESIDE_THE_LINE: Final = 58
_BARS: Final = "▁▂▃▄▅▆▇█"
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class History:
    """The period, and the values of each fact at the times of its collections."""

    start: datetime
    end: datetime
    moments: Sequence[datetime]
    values: dict[str, Sequence[float | None]]

    def points(self, fact: str) -> list[Point]:
        return list(zip(self.moments, self.values[fact], strict=True))


def show_history(
    onu: Onu, facts: Sequence[str], since: str, until: str, *, as_json: bool, as_csv: bool
) -> None:
    now, zone = database_now(), current().time_zone
    start = parse_time("since", since, now, zone)
    end = parse_time("until", until, now, zone) if until else now
    if start >= end:
        raise CommandError("since", "it is not before the end")
    series = onu_series(onu, _check_facts(facts), start, end)
    found = {fact: values for fact, values in series.values.items() if facts or _has_value(values)}
    history = History(start, end, series.moments(), found)
    if as_csv:
        print_text(_format_csv(history))
    elif as_json:
        who = {"olt": onu.olt.name, "interface": interface_of(onu), "serial": onu.serial or None}
        print_json({**who, "since": start, "until": end, "points": _point_rows(history)})
    else:
        _print_history(history)


def _check_facts(facts: Sequence[str]) -> Sequence[str]:
    """Return the named facts, or all that have a history."""
    known = history_facts(Subject.ONU)
    for fact in facts:
        if fact not in known:
            raise CommandError("facts", f"'{fact}' has no history; these have: {', '.join(known)}")
    return tuple(dict.fromkeys(facts)) or known


def _has_value(values: Sequence[float | None]) -> bool:
    return any(value is not None for value in values)


def _point_rows(history: History) -> list[dict[str, Any]]:
    return [
        {"at": at, **{fact: values[number] for fact, values in history.values.items()}}
        for number, at in enumerate(history.moments)
    ]


def _format_csv(history: History) -> str:
    file = io.StringIO()
    lines = csv.DictWriter(file, ["at", *history.values], lineterminator="\n")
    lines.writeheader()
    lines.writerows({**row, "at": row["at"].isoformat()} for row in _point_rows(history))
    return file.getvalue().rstrip("\n")


def _print_history(history: History) -> None:
    if not any(map(_has_value, history.values.values())):
        typer.echo("There are no values in this time.")
        return
    out = console()
    cells = max(_FEWEST_CELLS, min(_MOST_CELLS, out.width - _BESIDE_THE_LINE))
    table = Table("fact", "values", "min", "avg", "max", "last", "", box=None, pad_edge=False)
    for fact in history.values:
        table.add_row(fact, *_summarize(history, fact), sparkline(history, fact, cells))
    out.print(table)
    out.print()
    out.print(_points_table(history) if len(history.moments) <= _MOST_ROWS else _spans_table(history))


def _summarize(history: History, fact: str) -> list[str]:
    points = history.points(fact)
    values = [value for _, value in points if value is not None]
    if not values:
        return ["0", "", "", "", ""]
    (whole,) = downsample(points, lambda _: history.start)
    return [f"{len(values):,}", *_format_span(fact, whole), format_number(fact, values[-1])]


def _format_span(fact: str, span: DownsampledSpan) -> list[str]:
    numbers = (span.least, span.mean, span.most)
    if fact in DIRECTIONS:
        return [format_number(fact, value) for value in numbers]
    return ["" if value is None else f"{value:.2f}" for value in numbers]


def format_number(fact: str, value: float | None) -> str:
    return bit_rate(value) if fact in DIRECTIONS and value is not None else format_value(value)


def sparkline(history: History, fact: str, cells: int) -> str:
    """Draw the values as bars, with gaps where there is no value."""
    means = mean_per_cell(history.points(fact), history.start, history.end, cells)
    known = [mean for mean in means if mean is not None]
    if not known:
        return ""
    low, height = min(known), (max(known) - min(known)) or 1.0
    return "".join(
        " " if mean is None else _BARS[min(len(_BARS) - 1, int((mean - low) / height * len(_BARS)))]
        for mean in means
    )


def _points_table(history: History) -> Table:
    table = Table("at", *history.values, box=None, pad_edge=False)
    for number, at in enumerate(history.moments):
        cells = (format_number(fact, values[number]) for fact, values in history.values.items())
        table.add_row(format_time(at), *map(Text, cells))
    return table


def _spans_table(history: History) -> Table:
    """Condense by hour, or by day when there are too many hours."""
    zone = current().time_zone

    def hour(at: datetime) -> datetime:
        return at.astimezone(zone).replace(minute=0, second=0, microsecond=0)

    def one_hour(at: datetime) -> datetime:
        # In UTC: in autumn an hour comes twice, and the two are equal in the operator's zone.
        return hour(at).astimezone(UTC)

    def day(at: datetime) -> datetime:
        return hour(at).replace(hour=0)

    by_hour = history.end - history.start <= _MOST_ROWS * _HOUR
    return _condensed_table(
        history, one_hour if by_hour else day, "%Y-%m-%d %H:%M" if by_hour else "%Y-%m-%d"
    )


def _condensed_table(history: History, start_of: Callable[[datetime], datetime], form: str) -> Table:
    table = Table("from", box=None, pad_edge=False)
    columns = {fact: downsample(history.points(fact), start_of) for fact in history.values}
    for fact in columns:
        for heading in (f"{fact} min", "avg", "max"):
            table.add_column(heading, justify="right")
    for spans in zip(*columns.values(), strict=True):
        start = spans[0].start.astimezone(current().time_zone)
        cells = (_format_span(fact, span) for fact, span in zip(columns, spans, strict=True))
        table.add_row(f"{start:{form}}", *(number for each in cells for number in each))
    return table
