"""Reading and writing many ONU rows, one statement each. Values are ready for the database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

from facho.apps.discovery.models import Onu

Row = tuple[Any, ...]


def read(olt_id: int, columns: Sequence[str]) -> list[Row]:
    """In the order of their ids, which is mostly that of the OLT's own tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_names(columns)} FROM {_table()} WHERE olt_id = %s ORDER BY id",  # noqa: S608
            [olt_id],
        )
        rows: list[Row] = cursor.fetchall()
        return rows


def update(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Each row is the id, then a value for each of `columns`."""
    if not rows:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            sets = ", ".join(f"{_name(column)} = given.{_name(column)}" for column in columns)
            given = _given(("id", *columns))
            cursor.execute(
                f"UPDATE {_table()} SET {sets} FROM {given} WHERE {_table()}.id = given.id",  # noqa: S608
                _arrays(rows),
            )
        else:
            sets = ", ".join(f"{_name(column)} = %s" for column in columns)
            statement = f"UPDATE {_table()} SET {sets} WHERE id = %s"  # noqa: S608
            cursor.executemany(statement, [(*row[1:], row[0]) for row in rows])


def insert(columns: Sequence[str], rows: Sequence[Row]) -> None:
    if not rows:
        return
    with connection.cursor() as cursor:
        into = f"INSERT INTO {_table()} ({_names(columns)})"
        if connection.vendor == "postgresql":
            cursor.execute(f"{into} SELECT * FROM {_given(columns)}", _arrays(rows))  # noqa: S608
        else:
            cursor.executemany(f"{into} VALUES ({', '.join(['%s'] * len(columns))})", rows)


def _given(columns: Sequence[str]) -> str:
    arrays = ", ".join(f"%s::{_type(column)}[]" for column in columns)
    return f"unnest({arrays}) AS given({_names(columns)})"


def _arrays(rows: Iterable[Row]) -> list[list[Any]]:
    return [list(values) for values in zip(*rows, strict=True)]


def _type(column: str) -> str:
    field = next(field for field in Onu._meta.concrete_fields if field.column == column)
    # A key that counts by itself is a plain number.
    name = field.rel_db_type(connection) if field.primary_key else field.db_type(connection)
    assert name is not None
    return name


def _table() -> str:
    return _name(Onu._meta.db_table)


def _name(name: str) -> str:
    return connection.ops.quote_name(name)


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(_name, columns))
