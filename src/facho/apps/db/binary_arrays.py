"""Columns of values as PostgreSQL's binary arrays, which bulk statements take as parameters.

Django writes parameters into the text of a statement, where each value is formatted here and parsed there.
In binary a column of numbers is one `struct.pack`. The layout of an array, big-endian throughout:

    dimensions (1), has nulls (0 or 1), type of the elements, number of elements, first subscript (1)
    for each element: its size and its bytes; the size -1 is NULL
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, cast

from django.db import connection

_HEAD: Final = struct.Struct(">iiIii")
_SIZE: Final = struct.Struct(">i")
_NULL: Final = _SIZE.pack(-1)
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# By the type of a column: the number of the type, and how `struct` packs a value and of what size.
_NUMBERS: Final = {
    "bigint": (20, "q", 8),
    "integer": (23, "i", 4),
    "smallint": (21, "h", 2),
    "double precision": (701, "d", 8),
    "boolean": (16, "?", 1),
}
_TEXT: Final = 25
_VARCHAR: Final = 1043
_TIME: Final = 1184
_JSON: Final = 3802
# The version of its format comes before the text.
_JSON_VERSION: Final = "\x01"

# The content of one array.
Encode = Callable[[Sequence[Any]], bytes]


class BinaryArray(bytes):
    """An array as the server reads it; the statement says of which type it is."""


def encoder_of(column_type: str) -> Encode | None:
    """Return what encodes values of a column of this type; None for types that are not known here."""
    if (number := _NUMBERS.get(column_type)) is not None:
        return lambda values: _encode_numbers(values, *number)
    if column_type == "text":
        return lambda values: _encode_texts(values, _TEXT)
    if column_type.startswith("varchar"):
        return lambda values: _encode_texts(values, _VARCHAR)
    if column_type == "jsonb":
        return lambda values: _encode_texts([value and _JSON_VERSION + value for value in values], _JSON)
    if column_type == "timestamp with time zone":
        return _encode_times
    return None


def encode_columns(encoders: Sequence[Encode | None], columns: Sequence[Sequence[Any]]) -> list[Any] | None:
    """Return each column as an array; None if one cannot be: PostgreSQL then says what is wrong with it."""
    if None in encoders:
        return None
    try:
        return [
            BinaryArray(encode(values))
            for encode, values in zip(cast(Sequence[Encode], encoders), columns, strict=True)
        ]
    except (struct.error, AttributeError, TypeError, UnicodeEncodeError):
        return None


def _encode_numbers(values: Sequence[Any], oid: int, code: str, size: int) -> bytes:
    count = len(values)
    if None not in values:
        flat = [size] * (2 * count)
        flat[1::2] = values
        return _HEAD.pack(1, 0, oid, count, 1) + struct.pack(f">{f'i{code}' * count}", *flat)
    pack = struct.Struct(f">i{code}").pack
    return _join(oid, [_NULL if value is None else pack(size, value) for value in values])


def _encode_times(values: Sequence[Any]) -> bytes:
    microseconds = [None if value is None else (value - _EPOCH) // _MICROSECOND for value in values]
    return _encode_numbers(microseconds, _TIME, "q", 8)


def _encode_texts(values: Sequence[Any], oid: int) -> bytes:
    """Equal texts, such as states, are encoded once."""
    encoded = {value: _NULL if value is None else _sized(value.encode()) for value in set(values)}
    return _join(oid, [encoded[value] for value in values])


def _sized(content: bytes) -> bytes:
    return _SIZE.pack(len(content)) + content


def _join(oid: int, elements: list[bytes]) -> bytes:
    return _HEAD.pack(1, 1, oid, len(elements), 1) + b"".join(elements)


def binary_cursor() -> AbstractContextManager[Any]:
    """Return a cursor with Django's logs and wrappers that sends and receives in binary.

    Parameters are sent apart from the statement, and may be binary arrays.
    """
    from psycopg import Cursor
    from psycopg.pq import Format

    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = Cursor(connection.connection)
    cursor.format = Format.BINARY
    for dumper in _dumpers():
        cursor.adapters.register_dumper(BinaryArray, dumper)
    prepared = connection._prepare_cursor(cursor)  # type: ignore[attr-defined]
    return cast(AbstractContextManager[Any], prepared)


@cache
def _dumpers() -> tuple[type[Any], type[Any]]:
    """Return how an array is shown and how it is sent. psycopg is imported only where PostgreSQL is used."""
    from psycopg.adapt import Dumper
    from psycopg.pq import Format

    class Shown(Dumper):
        """Stands for the array in Django's log of statements."""

        def dump(self, _array: Any) -> bytes:
            return b"{...}"

    class Sent(Dumper):
        format = Format.BINARY

        def dump(self, array: Any) -> bytes:
            return bytes(array)

    # The last one that is registered for a type is used where either format will do.
    return Shown, Sent
