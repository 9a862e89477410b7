"""Rows of one OLT, brought up to what it says now: two statements, however many they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, models

from facho.apps.chassis.values import Values
from facho.apps.db.rows import insert_rows, update_rows


@dataclass(frozen=True, slots=True)
class Rows:
    """Those of one OLT. Who writes them is the OLT's only writer."""

    model: type[models.Model]
    olt_id: int
    # The column that tells them apart.
    known_by: str
    # The column that says when a row last changed.
    changed_at: str
    # What else a new row begins with.
    new: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stored:
    """The ids of all rows that were told, by what they are known by; and which of them are new."""

    ids: dict[str, int]
    new: list[str]


def bring_up(rows: Rows, told: Mapping[str, Values], now: datetime) -> Stored:
    """What is told changes; the rest of a row stays, and so do rows that were not told."""
    assert connection.in_atomic_block, "what an OLT says of itself is stored with what else it said"
    if not told:
        return Stored({}, [])
    columns = sorted({column for values in told.values() for column in values})
    known = _known(rows, columns)
    _update(rows, columns, known, told, now)
    new = [name for name in told if name not in known]
    if new:
        _insert(rows, columns, {name: told[name] for name in new}, now)
        known = _known(rows, ())
    return Stored({name: known[name]["id"] for name in told}, new)


def _known(rows: Rows, columns: Sequence[str]) -> dict[str, Values]:
    found = rows.model._default_manager.filter(olt=rows.olt_id).order_by()
    return {row[rows.known_by]: row for row in found.values("id", rows.known_by, *columns)}


def _update(
    rows: Rows,
    columns: Sequence[str],
    known: Mapping[str, Values],
    told: Mapping[str, Values],
    now: datetime,
) -> None:
    changed = [
        (row["id"], now, *(values.get(column, row[column]) for column in columns))
        for name, values in told.items()
        if (row := known.get(name)) is not None
        and any(row[column] != value for column, value in values.items())
    ]
    update_rows(rows.model, (rows.changed_at, *columns), changed)


def _insert(rows: Rows, columns: Sequence[str], told: Mapping[str, Values], now: datetime) -> None:
    empty = {column: _default(rows.model, column) for column in columns}
    added = [
        (
            rows.olt_id,
            name,
            now,
            *rows.new.values(),
            *(values.get(column, empty[column]) for column in columns),
        )
        for name, values in told.items()
    ]
    insert_rows(rows.model, ("olt", rows.known_by, rows.changed_at, *rows.new, *columns), added)


def _default(model: type[models.Model], column: str) -> Any:
    field = model._meta.get_field(column)
    assert isinstance(field, models.Field)
    return field.get_default()
