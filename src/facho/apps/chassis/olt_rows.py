"""Writes the rows of one OLT in a table: only what changed, in few statements however many rows there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import connection, models

from facho.apps.db.sql import insert_rows, update_rows
from facho.apps.extras import merge_extras

# Column -> value. `extras` has a mapping of facts, which is merged into those that are known.
Values = dict[str, Any]
EXTRAS: Final = "extras"


@dataclass(frozen=True, slots=True)
class OltRows:
    """The rows of one OLT in a table. Their writer is the only one of that OLT."""

    model: type[models.Model]
    olt_id: int
    # The column that identifies a row.
    key: str
    # The column that says when a row last changed.
    changed_at: str
    # Further values of a new row.
    initial: Values = field(default_factory=dict)
    # Columns that the caller wants to see, also when none is given.
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpsertedRows:
    """All given rows as they are stored now, by key, and the keys of those that are new."""

    rows: dict[str, Values]
    new: list[str]

    @property
    def ids(self) -> dict[str, int]:
        return {name: row["id"] for name, row in self.rows.items()}


def upsert_rows(rows: OltRows, given: Mapping[str, Values], now: datetime) -> UpsertedRows:
    """Write the given values, in two statements however many rows there are. Other columns and rows stay."""
    assert connection.in_atomic_block, "the rows of an OLT are stored with the rest of its collection"
    if not given:
        return UpsertedRows({}, [])
    columns = sorted({column for values in given.values() for column in values})
    known = _read_known(rows, columns)
    given = {name: _with_merged_extras(values, known.get(name)) for name, values in given.items()}
    _update_known(rows, columns, known, given, now)
    new = [name for name in given if name not in known]
    if new:
        _insert_new(rows, columns, {name: given[name] for name in new}, now)
        known = _read_known(rows, ())
    return UpsertedRows({name: {**known[name], **values} for name, values in given.items()}, new)


def _read_known(rows: OltRows, columns: Sequence[str]) -> dict[str, Values]:
    found = rows.model._default_manager.filter(olt=rows.olt_id).order_by()
    wanted = dict.fromkeys(("id", rows.key, *rows.seen, *columns))
    return {row[rows.key]: row for row in found.values(*wanted)}


def _with_merged_extras(values: Values, known: Values | None) -> Values:
    if EXTRAS not in values:
        return values
    text = known[EXTRAS] if known is not None else ""
    return {**values, EXTRAS: merge_extras(text, values[EXTRAS])}


def _update_known(
    rows: OltRows,
    columns: Sequence[str],
    known: Mapping[str, Values],
    given: Mapping[str, Values],
    now: datetime,
) -> None:
    changed = [
        (row["id"], now, *(values.get(column, row[column]) for column in columns))
        for name, values in given.items()
        if (row := known.get(name)) is not None
        and any(row[column] != value for column, value in values.items())
    ]
    update_rows(rows.model, (rows.changed_at, *columns), changed)


def _insert_new(rows: OltRows, columns: Sequence[str], given: Mapping[str, Values], now: datetime) -> None:
    empty = {column: _default(rows.model, column) for column in columns}
    added = [
        (
            rows.olt_id,
            name,
            now,
            *rows.initial.values(),
            *(values.get(column, empty[column]) for column in columns),
        )
        for name, values in given.items()
    ]
    insert_rows(rows.model, ("olt", rows.key, rows.changed_at, *rows.initial, *columns), added)


def _default(model: type[models.Model], column: str) -> Any:
    field = model._meta.get_field(column)
    assert isinstance(field, models.Field)
    return field.get_default()
