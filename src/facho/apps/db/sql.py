"""Plain SQL statements for what each execution does: building them with the ORM takes longer than running."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models, transaction
from django.utils.dateparse import parse_datetime

Row = tuple[Any, ...]

_turns = threading.RLock()


@contextmanager
def write_transaction() -> Iterator[None]:
    """A transaction that will write.

    SQLite has one writer at a time, and lets others sleep for up to a tenth of a second between two looks.
    The threads of a process wait for one another instead, and go on at once. Who is in a transaction already
    is the one writer: if it waited for its turn, who has that would wait for it.
    """
    alone = connection.vendor == "sqlite" and not connection.in_atomic_block
    with _turns if alone else nullcontext(), transaction.atomic():
        yield


def fetch_rows(statement: str, values: Sequence[Any]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: list[Row] = cursor.fetchall()
        return found


def fetch_blobs(statement: str, values: Sequence[Any]) -> list[bytes]:
    """Of rows that have one column, of bytes."""
    if connection.vendor == "postgresql":
        return _binary(statement, values)
    return [data for (data,) in fetch_rows(statement, values)]


def _binary(statement: str, values: Sequence[Any]) -> list[bytes]:
    """Django's cursors have every byte written as two letters, which takes longer than all the rest."""
    from psycopg import Cursor

    connection.ensure_connection()
    with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
        cursor.execute(statement.encode(), values, binary=True)
        return [data for (data,) in cursor.fetchall()]


def execute(statement: str, values: Sequence[Any]) -> int:
    """How many rows it was that changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        count: int = cursor.rowcount
        return count


def update_row(model: type[models.Model], key: int, values: Mapping[str, Any]) -> int:
    """By the names of fields, as for a queryset."""
    fields = {_field(model, name): value for name, value in values.items()}
    sets = ", ".join(f"{field.column} = %s" for field in fields)
    prepared = [field.get_db_prep_save(value, connection) for field, value in fields.items()]
    return execute(f"UPDATE {model._meta.db_table} SET {sets} WHERE id = %s", [*prepared, key])  # noqa: S608


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def db_time(moment: datetime | None) -> Any:
    """A moment as the database takes it."""
    return connection.ops.adapt_datetimefield_value(moment)


def parse_time(moment: Any) -> datetime:
    """A moment as the database has it: SQLite's are texts or naive, and in UTC."""
    found = parse_datetime(moment) if isinstance(moment, str) else moment
    assert isinstance(found, datetime)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def check_reachable() -> None:
    """Once past the pool of connections, which would try for long and keep the reason to itself."""
    if connection.vendor == "postgresql":
        import psycopg

        with connection.wrap_database_errors:
            psycopg.connect(**connection.get_connection_params()).close()


def database_sentence(error: Exception) -> str:
    """What a person is told when the database cannot be used."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if any("certificate verify failed" in line for line in lines):
        lines[0] += (
            "; sslrootcert= in FACHO_DATABASE_URL must name the file of the CA that signed its certificate"
        )
    return f"the database cannot be used: {lines[0]}"


def release_connection() -> None:
    """While this thread waits, others need a server's connection. SQLite's is its own, and dear to open."""
    if connection.vendor != "sqlite" and not connection.in_atomic_block:
        connection.close()


def resize_pool(connections: int) -> None:
    """For so many threads of this process at once. On SQLite each has its own connection anyway."""
    pool = getattr(connection, "pool", None)
    if pool is not None:
        pool.resize(min_size=0, max_size=connections)
