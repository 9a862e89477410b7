"""Reading and writing many ONUs, or what happened to them, one statement each. Values are ready for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db import connection, models

from facho.apps.discovery.models import Onu

Row = tuple[Any, ...]
Model = type[models.Model]


def read(olt_id: int, columns: Sequence[str]) -> list[list[Any]]:
    """Column by column, in the order of their ids, which is mostly that of the OLT's own tables."""
    if connection.vendor == "sqlite":
        return _read_json(olt_id, columns)
    return _read_arrays(olt_id, columns)


def _read_arrays(olt_id: int, columns: Sequence[str]) -> list[list[Any]]:
    """A row for each ONU would be an object for each: it takes longer, and the garbage collector goes through
    all of them several times.
    """
    names = list(dict.fromkeys(("id", *columns)))
    arrays = ", ".join(f"array_agg({_name(column)})" for column in names)
    onus = f"SELECT {_names(names)} FROM {_table()} WHERE olt_id = %s ORDER BY id"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {arrays} FROM ({onus}) AS onus", [olt_id])  # noqa: S608
        found = [array or [] for array in cursor.fetchone()]
    by_name = dict(zip(names, _in_order(found), strict=True))
    return [by_name[column] for column in columns]


def _read_rows(olt_id: int, columns: Sequence[str]) -> list[list[Any]]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_names(columns)} FROM {_table()} WHERE olt_id = %s ORDER BY id",  # noqa: S608
            [olt_id],
        )
        found = [list(column) for column in zip(*cursor.fetchall(), strict=True)]
        return found or [[] for _ in columns]


def _read_json(olt_id: int, columns: Sequence[str]) -> list[list[Any]]:
    """All rows in one step of SQLite.

    Its Python module gives other threads a turn at every row, and with the SNMP loop at work each turn costs
    more than the row. Its JSON has fewer digits than a float, so those are read as rows.
    """
    floats = [column for column in columns if _is_float(column)]
    others = [column for column in dict.fromkeys(("id", *columns)) if column not in floats]
    arrays = ", ".join(f"json_group_array({_name(column)})" for column in others)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {arrays} FROM {_table()} WHERE olt_id = %s", [olt_id])  # noqa: S608
        ids, *rest = cursor.fetchone()
    found = [json.loads(ids)]
    found += [_parsed(array, len(found[0])) for array in rest]
    by_name = dict(zip(others, _in_order(found), strict=True))
    if floats:
        by_name.update(zip(floats, _read_rows(olt_id, floats), strict=True))
    return [by_name[column] for column in columns]


def _parsed(array: str, size: int) -> list[Any]:
    """In many columns everybody has the same, which is seen in a tenth of the time that parsing takes."""
    first = array[1 : array.find(",")]
    if size > 1 and array == f"[{f'{first},' * (size - 1)}{first}]":
        return [json.loads(first)] * size
    found: list[Any] = json.loads(array)
    return found


def _in_order(found: list[list[Any]]) -> list[list[Any]]:
    """By the first column; databases promise no order within an aggregate."""
    ids = found[0]
    if ids == sorted(ids):
        return found
    order = sorted(range(len(ids)), key=ids.__getitem__)
    return [[column[row] for row in order] for column in found]


def read_some(ids: Sequence[int], columns: Sequence[str]) -> dict[int, Row]:
    """Of these ONUs only, by their ids."""
    if not ids:
        return {}
    # One value for all of them: a statement may not have so many.
    at_once = connection.vendor == "sqlite"
    some = "IN (SELECT value FROM json_each(%s))" if at_once else "= ANY(%s)"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, {_names(columns)} FROM {_table()} WHERE id {some}",  # noqa: S608
            [json.dumps(ids) if at_once else list(ids)],
        )
        return {row[0]: row[1:] for row in cursor.fetchall()}


def read_after(olt_id: int, last_id: int) -> list[tuple[int, str | None]]:
    """The ids and addresses of the ONUs that came after one, as they were inserted."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, address FROM {_table()} WHERE olt_id = %s AND id > %s ORDER BY id",  # noqa: S608
            [olt_id, last_id],
        )
        found: list[tuple[int, str | None]] = cursor.fetchall()
        return found


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


def insert(columns: Sequence[str], rows: Sequence[Row], model: Model = Onu) -> None:
    if not rows:
        return
    with connection.cursor() as cursor:
        into = f"INSERT INTO {_table(model)} ({_names(columns)})"
        if connection.vendor == "postgresql":
            cursor.execute(f"{into} SELECT * FROM {_given(columns, model)}", _arrays(rows))  # noqa: S608
        else:
            cursor.executemany(f"{into} VALUES ({', '.join(['%s'] * len(columns))})", rows)


def _given(columns: Sequence[str], model: Model = Onu) -> str:
    arrays = ", ".join(f"%s::{_type(column, model)}[]" for column in columns)
    return f"unnest({arrays}) AS given({_names(columns)})"


def _arrays(rows: Iterable[Row]) -> list[list[Any]]:
    return [list(values) for values in zip(*rows, strict=True)]


def _type(column: str, model: Model) -> str:
    field = _field(column, model)
    # A key that counts by itself is a plain number.
    name = field.rel_db_type(connection) if field.primary_key else field.db_type(connection)
    assert name is not None
    return name


@cache
def _is_float(column: str) -> bool:
    return isinstance(_field(column), models.FloatField)


def _field(column: str, model: Model = Onu) -> models.Field[Any, Any]:
    return next(field for field in model._meta.concrete_fields if field.column == column)


def _table(model: Model = Onu) -> str:
    return _name(model._meta.db_table)


def _name(name: str) -> str:
    return connection.ops.quote_name(name)


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(_name, columns))
