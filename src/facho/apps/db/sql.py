"""Plain SQL statements for what each execution does: building them with the ORM takes longer than running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models, transaction
from django.db.models.functions import Collate
from django.utils.dateparse import parse_datetime

Row = tuple[Any, ...]

_writer_lock = threading.RLock()


@contextmanager
def write_transaction() -> Iterator[None]:
    """A transaction that will write.

    SQLite has one writer at a time, and lets others sleep for up to a tenth of a second between two tries.
    The threads of a process wait for one another here instead, and continue at once. A thread that is in a
    transaction already is the one writer, and must not wait: the holder of the lock would wait for it.
    """
    must_wait = connection.vendor == "sqlite" and not connection.in_atomic_block
    with _writer_lock if must_wait else nullcontext(), transaction.atomic():
        yield


def after_commit(write: Callable[[], None]) -> None:
    """Call it when the transaction commits; at once when there is none."""
    if connection.in_atomic_block:
        transaction.on_commit(write, robust=True)
    else:
        write()


def fetch_rows(statement: str, values: Sequence[Any]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: list[Row] = cursor.fetchall()
        return found


def fetch_blobs(statement: str, values: Sequence[Any]) -> list[bytes]:
    """Return the bytes of rows with one column."""
    if connection.vendor == "postgresql":
        return _fetch_binary(statement, values)
    return [data for (data,) in fetch_rows(statement, values)]


def _fetch_binary(statement: str, values: Sequence[Any]) -> list[bytes]:
    """Avoid Django's cursors: those have every byte sent as two letters, which takes much longer."""
    from psycopg import Cursor

    connection.ensure_connection()
    with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
        cursor.execute(statement.encode(), values, binary=True)
        return [data for (data,) in cursor.fetchall()]


def execute(statement: str, values: Sequence[Any]) -> int:
    """Return how many rows changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        count: int = cursor.rowcount
        return count


def update_row(model: type[models.Model], key: int, values: Mapping[str, Any]) -> int:
    """Set the values, by the names of fields, of the row with this id. Return how many rows changed."""
    fields = {_field(model, name): value for name, value in values.items()}
    sets = ", ".join(f"{field.column} = %s" for field in fields)
    prepared = [field.get_db_prep_save(value, connection) for field, value in fields.items()]
    return execute(f"UPDATE {model._meta.db_table} SET {sets} WHERE id = %s", [*prepared, key])  # noqa: S608


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def db_time(moment: datetime | None) -> Any:
    """Return a time as a parameter of a plain statement."""
    return connection.ops.adapt_datetimefield_value(moment)


def db_text(text: str, longest: int | None = None) -> str:
    """Return a text as a column takes it: without NUL, which PostgreSQL refuses, and cut."""
    return text.replace("\0", "")[:longest]


def parse_time(moment: Any) -> datetime:
    """Return a time that a plain statement has read: SQLite's are texts or naive, and in UTC."""
    found = parse_datetime(moment) if isinstance(moment, str) else moment
    assert isinstance(found, datetime)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def json_functions() -> dict[str, str]:
    """Return the names of the functions that make a JSON array of rows (`array`) and of values (`row`)."""
    if connection.vendor == "postgresql":
        return {"array": "jsonb_agg", "row": "jsonb_build_array"}
    return {"array": "json_group_array", "row": "json_array"}


def greatest() -> str:
    """Return the name of the function that returns the greatest of its arguments."""
    return "GREATEST" if connection.vendor == "postgresql" else "MAX"


def typed_places(*types: str) -> str:
    """Return the places of parameters that are merely selected: PostgreSQL must be told their types."""
    return ", ".join(f"%s::{name}" if connection.vendor == "postgresql" else "%s" for name in types)


def in_byte_order(column: str) -> Any:
    """Return an ordering as Python sorts text: a server's language has another idea of it."""
    return Collate(column, "C") if connection.vendor == "postgresql" else column
