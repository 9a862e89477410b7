"""Finding texts by how they begin, through an index, on either database."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection
from django.db.models import F, Func, OrderBy, Q, TextField, Value
from django.db.models.functions import Lower
from django.db.models.lookups import GreaterThanOrEqual, LessThan

# An index holds only the beginning of a long text.
INDEXED_LETTERS: Final = 40
# The character that sorts after all others.
_LAST: Final = "\U0010ffff"


class LowerPrefix(Func):
    """The beginning of a text in lower case, sorted by bytes, so that all that begins alike is together."""

    # A literal and no parameter: only then do databases recognise the expression of the index.
    template = f'lower(substr(%(expressions)s, 1, {INDEXED_LETTERS})) COLLATE "C"'
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **rest: Any) -> Any:
        """SQLite sorts by bytes anyway."""
        return self.as_sql(compiler, connection, template=self.template.removesuffix(' COLLATE "C"'), **rest)


class ByteOrder(OrderBy):
    """The order of the index that PostgreSQL has for LIKE.

    With any other order it may choose another index, or none, depending on how many rows it expects: a wrong
    guess made it read half a million rows.
    """

    # Django looks for the word ASC to separate the expression from its direction.
    template = "%(expression)s USING ~<~ /* ASC */"


def begins_with(column: str, text: str) -> tuple[Q, Any]:
    """Return the condition on a column with a LIKE index, and the order in which no more rows are read than
    are wanted.
    """
    if connection.vendor == "sqlite":
        # Its LIKE would read every row, and it would sort all that it finds by anything but the index.
        return Q(**{f"{column}__gte": text, f"{column}__lt": text + _LAST}), column
    return Q(**{f"{column}__startswith": text}), ByteOrder(F(column))


def begins_with_any_case(column: str, text: str) -> tuple[Q, Any]:
    """Do the same as `begins_with` in any case, for a column with an index on `LowerPrefix`."""
    start = text[:INDEXED_LETTERS]
    first, last = Lower(Value(start)), Lower(Value(start + _LAST))
    condition = Q(GreaterThanOrEqual(LowerPrefix(column), first), LessThan(LowerPrefix(column), last))
    return condition, LowerPrefix(column).asc()
