"""Reads long lists page by page: no cursor and no transaction is open between two pages.

A page begins after the last row of the one before it, by the columns that the list is ordered by.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.core.exceptions import FieldDoesNotExist
from django.db import connection, models
from django.db.models import Model, Q, QuerySet

from facho.apps.db.database import release_connection

Row = tuple[Any, ...]


class _Key(NamedTuple):
    """A column of the order, of the table itself."""

    name: str
    down: bool
    nullable: bool


def read_pages(rows: QuerySet[Any], columns: Sequence[str], size: int) -> Iterator[list[Row]]:
    """Yield lists of at most `size` rows, in the order of the queryset.

    While the caller works on a page, this thread holds no connection of a server.
    """
    order = _order_of(rows)
    keys = _keys_of(rows.model, order)
    pages = _by_ids(rows.order_by(*order, "pk"), columns, size) if keys is None else None
    for page in pages or _by_keys(rows, keys or [], columns, size):
        release_connection()
        yield page


def _order_of(rows: QuerySet[Any]) -> list[Any]:
    return list(rows.query.order_by or (rows.model._meta.ordering if rows.query.default_ordering else ()))


def _keys_of(model: type[Model], order: Sequence[Any]) -> list[_Key] | None:
    """Return the columns of the order up to the id; None where it has others than the table's own."""
    found: list[_Key] = []
    for each in [*order, "pk"]:
        if not isinstance(each, str) or each == "?":
            return None
        name, down = each.removeprefix("-"), each.startswith("-")
        field = _column(model, name)
        if field is None:
            return None
        if field.primary_key:
            return [*found, _Key("pk", down, nullable=False)]
        found.append(_Key(field.attname, down, field.null))
    return found


def _column(model: type[Model], name: str) -> models.Field[Any, Any] | None:
    """Return the field, unless ordering by it means the order of another table."""
    if name == "pk":
        return model._meta.pk
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    if not isinstance(field, models.Field) or (field.is_relation and name != field.attname):
        return None
    return field


def _by_keys(
    rows: QuerySet[Any], keys: Sequence[_Key], columns: Sequence[str], size: int
) -> Iterator[list[Row]]:
    names = [key.name for key in keys]
    wanted = rows.order_by(*(f"-{key.name}" if key.down else key.name for key in keys))
    page = list(wanted.values_list(*columns, *names)[:size])
    while page:
        yield [row[: len(columns)] for row in page]
        if len(page) < size:
            return
        last = page[-1][len(columns) :]
        page = list(wanted.filter(_rows_after(keys, last)).values_list(*columns, *names)[:size])


def _rows_after(keys: Sequence[_Key], values: Sequence[Any]) -> Q:
    """Return the condition of the rows after the one with these values."""
    found = Q(pk__in=[])
    for key, value in reversed(list(zip(keys, values, strict=True))):
        found = _sorts_after(key, value) | (_equals(key, value) & found)
    first, value = keys[0], values[0]
    if first.nullable:
        return found
    # This alone can use an index.
    return Q(**{f"{first.name}__{'lte' if first.down else 'gte'}": value}) & found


def _equals(key: _Key, value: Any) -> Q:
    return Q(**{f"{key.name}__isnull": True}) if value is None else Q(**{key.name: value})


def _sorts_after(key: _Key, value: Any) -> Q:
    # SQLite takes a missing value for the smallest, PostgreSQL for the largest.
    nulls_first = (connection.vendor == "sqlite") != key.down
    if value is None:
        return Q(**{f"{key.name}__isnull": False}) if nulls_first else Q(pk__in=[])
    further = Q(**{f"{key.name}__{'lt' if key.down else 'gt'}": value})
    return further | Q(**{f"{key.name}__isnull": True}) if key.nullable and not nulls_first else further


def _by_ids(rows: QuerySet[Any], columns: Sequence[str], size: int) -> Iterator[list[Row]]:
    """Yield pages in an order of other tables: all ids are read at once, and then the rows by their ids.

    The ids come from one query: between two, a row that moves would come twice or not at all.
    """
    ids = array("q", rows.values_list("pk", flat=True))
    every = rows.model._default_manager.order_by()
    for begin in range(0, len(ids), size):
        wanted = ids[begin : begin + size]
        found = {row[-1]: row[:-1] for row in every.filter(pk__in=wanted).values_list(*columns, "pk")}
        yield [found[each] for each in wanted if each in found]
