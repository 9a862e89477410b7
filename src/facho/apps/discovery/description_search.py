"""Finding ONUs by words of their description, by an index, whatever their accents.

PostgreSQL has an index on the function `description_words`, both made by a migration. SQLite has a full-text
table, which triggers keep in step with every writer. Django drops triggers when it rebuilds a table, so all
of it is made anew after each `migrate` that left any of it missing.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from django.db import OperationalError, connection, transaction
from django.db.models import BooleanField, Func, Q, Value
from django.db.models.expressions import RawSQL

from facho.apps.db import sql
from facho.apps.db.database import has_index, is_embedded
from facho.core.search_words import may_be_beginning, split_words

log = logging.getLogger(__name__)

INDEX: Final = "onu_data_description_words"
TABLE: Final = "onu_description_words"
# Signs that Unicode counts among letters and numbers, but that separate words: "Nº12".
_SIGNS: Final = "ªº²³¹¼½¾"
_CREATE: Final = (
    f"CREATE VIRTUAL TABLE {TABLE} USING fts5(description, content='onu_data', content_rowid='id',"
    f" tokenize=\"unicode61 remove_diacritics 2 separators '{_SIGNS}'\")"
)
_REMOVE_OLD: Final = (
    f"INSERT INTO {TABLE} ({TABLE}, rowid, description) VALUES ('delete', old.id, old.description);"  # noqa: S608
)
_ADD_NEW: Final = f"INSERT INTO {TABLE} (rowid, description) VALUES (new.id, new.description);"  # noqa: S608
_TRIGGERS: Final = {
    f"{TABLE}_insert": f"AFTER INSERT ON onu_data BEGIN {_ADD_NEW} END",
    f"{TABLE}_delete": f"AFTER DELETE ON onu_data BEGIN {_REMOVE_OLD} END",
    f"{TABLE}_update": (
        "AFTER UPDATE OF description ON onu_data WHEN old.description IS NOT new.description"
        f" BEGIN {_REMOVE_OLD} {_ADD_NEW} END"
    ),
}
_PARTS: Final = (TABLE, *_TRIGGERS)


class HasWords(Func):
    """Whether a description has the words of a query, on PostgreSQL."""

    template = "(description_words(%(expressions)s::tsquery)"
    arg_joiner = ") @@ "
    output_field = BooleanField()


def words_condition(text: str, most: int | None = None) -> Q | None:
    """Match descriptions with a word that begins with each word of the text, in any order.

    None if the text has no word, or the database no index for them. `most` limits how many are looked at on
    SQLite: give it only where nothing else is filtered.
    """
    words = split_words(text)
    if not words or not has_words():
        return None
    if not is_embedded():
        return Q(HasWords("description", Value(_tsquery(words))))
    rows = f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH %s LIMIT %s"  # noqa: S608
    return Q(id__in=RawSQL(rows, [_fts_query(words), -1 if most is None else most]))  # noqa: S611


def has_words() -> bool:
    """Tell whether words of descriptions are indexed: an SQLite may be built without full-text search."""
    return not _missing_parts() if is_embedded() else has_index(INDEX)


def _tsquery(words: list[str]) -> str:
    # A word has neither quotes nor backslashes: these separate words.
    return " & ".join(f"'{word}'{':*' if may_be_beginning(word) else ''}" for word in words)


def _fts_query(words: list[str]) -> str:
    return " AND ".join(f'"{word}"{"*" if may_be_beginning(word) else ""}' for word in words)


def _missing_parts() -> set[str]:
    found = sql.fetch_rows(f"SELECT name FROM sqlite_master WHERE name LIKE '{TABLE}%%'", [])  # noqa: S608
    return {*_PARTS} - {name for (name,) in found}


def have_description_words(**_: Any) -> None:
    """Make what SQLite needs to find words, if any of it is missing, and fill it from the ONUs."""
    if connection.vendor != "sqlite" or not _missing_parts():
        return
    if not sql.fetch_rows("SELECT 1 FROM sqlite_master WHERE name = 'onu_data'", []):
        return
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            _make_index(cursor)
    except OperationalError as error:
        if "no such module" not in str(error):
            raise
        log.warning(
            "this SQLite has no FTS5: descriptions are found by how they begin (docs/howto/find-an-onu.md)",
            extra={"action": "full_text_missing"},
        )


def _make_index(cursor: Any) -> None:
    for name in _TRIGGERS:
        cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
    cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
    cursor.execute(_CREATE)
    for name, trigger in _TRIGGERS.items():
        cursor.execute(f"CREATE TRIGGER {name} {trigger}")
    cursor.execute(f"INSERT INTO {TABLE} ({TABLE}) VALUES ('rebuild')")  # noqa: S608
