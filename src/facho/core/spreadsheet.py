"""Rows as CSV, safe to open in a spreadsheet: no text that came from elsewhere is taken for a formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from facho.core.reasons import in_english

# Characters that start a formula; some programs skip white space before them.
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001  # read as the others
_AT_ONCE: Final = 500


def csv_cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            # A number may start with a minus sign.
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case dict() | list() | tuple():
            return _escape_formula(json.dumps(in_english(value), ensure_ascii=False, default=str))
        case _:
            return _escape_formula(str(value))


def _escape_formula(text: str) -> str:
    text = "".join(letter for letter in text if letter.isprintable() or letter in "\t\n")
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Pieces of the whole, as rows come."""
    file = io.StringIO()
    # The line end of RFC 4180; the csv module quotes cells that contain either of its characters.
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(header)
    for number, row in enumerate(rows, 1):
        writer.writerow(map(csv_cell, row))
        if number % _AT_ONCE == 0:
            yield file.getvalue()
            file.seek(0)
            file.truncate()
    yield file.getvalue()
