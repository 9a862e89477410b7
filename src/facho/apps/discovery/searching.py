"""ONUs by a part of what they are called, in a time that does not grow with how many there are.

First those whose serial, MAC or description begins so, then those that have it in the middle. PostgreSQL
finds the middle by trigrams, and not at all without them; SQLite looks through its index of serials.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.db import connection
from django.db.models import Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Upper
from django.db.models.lookups import Contains

from facho.apps.db import sql
from facho.apps.discovery.beginnings import Ask, beginnings, mac_of, serials_of
from facho.apps.discovery.models import Onu

# With less, most of them would be found.
SHORTEST: Final = 3
# Nobody reads more of an answer; who wants other ones says more of them.
MOST: Final = 1000
# No part of the models: SQLite has none like it, and a PostgreSQL without pg_trgm does without.
INDEX: Final = "onu_data_searched"


class Searched(Func):
    """All that an ONU is called, in capitals."""

    template = "upper(%(expressions)s)"
    arg_joiner = " || ' ' || "
    output_field = TextField()

    def __init__(self) -> None:
        super().__init__("serial", "mac", "description")


def onus_found(text: str, most: int = MOST, rows: QuerySet[Onu] | None = None) -> list[int]:
    """The ids of the first ones, of these rows or of all."""
    among = Onu.objects.all() if rows is None else rows
    ids: dict[int, None] = {}
    if len(text := text.strip()) < SHORTEST:
        return []
    for ask in _asks(text):
        if len(ids) >= most:
            break
        ids.update(dict.fromkeys(_ids(among, ask)[:most]))
    return list(ids)[:most]


def _ids(rows: QuerySet[Onu], ask: Ask) -> Any:
    ordered = rows.filter(ask.found).order_by(*([] if ask.order is None else [ask.order]))
    return ordered.values_list("id", flat=True)


def _asks(text: str) -> Iterator[Ask]:
    yield from beginnings(text)
    if connection.vendor == "sqlite":
        yield Ask(Q(serial__contains=serials_of(text)[0]), "serial")
    elif has_trigrams():
        yield Ask(_inside(text), None)


def _inside(text: str) -> Q:
    """Every word of it, wherever; or all of it as a part of a serial or a MAC."""
    found = Q(*(_has(word) for word in text.split()))
    parts = {part.upper() for part in (*serials_of(text), mac_of(text))} - {text.upper()}
    for part in sorted(parts):
        if len(part) >= SHORTEST:
            found |= Q(_has(part))
    return found


def _has(part: str) -> Contains:
    # The database's own capitals: it may know of fewer letters than we do.
    return Contains(Searched(), Upper(Value(part)))


def called(word: str) -> Q:
    """Those that have it anywhere, however many: without trigrams all are looked at."""
    if connection.vendor == "postgresql":
        return Q(_has(word))
    return Q(serial__icontains=word) | Q(mac__icontains=word) | Q(description__icontains=word)


def has_trigrams() -> bool:
    """Whether the index is there: a database may be without the extension."""
    return connection.vendor == "postgresql" and bool(sql.fetch_rows(_IS_THERE, [INDEX]))


_IS_THERE: Final = "SELECT 1 FROM pg_index WHERE indisvalid AND indexrelid = to_regclass(%s)"
