"""Checks before a migration, made before anything is copied or changed.

The tables are those of an earlier version, so only names that every version has are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.db.fields import vault
from facho.core.pool import is_alive
from facho.engine.upkeep.schema import Schema, SchemaProblem
from facho.keys import CREDENTIALS, KeyProblem

_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A column of secrets, and the migration that binds each secret to its row."""

    table: str
    column: str
    migration: str


BOUND_COLUMNS: Final = (
    BoundColumn("olts", "credentials", "hosts.0006_credentials_of_one_olt"),
    BoundColumn("notification_channels", "url", "notifications.0003_addresses_of_one_channel"),
)


def refuse_running_workers(now: datetime, *, within: timedelta) -> None:
    """Refuse while workers run: an earlier version takes no lock, and would write rows of the old schema."""
    if "workers" not in connection.introspection.table_names():
        return
    rows = sql.fetch_rows("SELECT name, seen_at FROM workers ORDER BY name", [])
    names = [name for name, seen_at in rows if is_alive(sql.parse_time(seen_at), now, within=within)]
    if names:
        raise SchemaProblem(
            "the database has to be changed for this version, and workers are running: "
            f"{_list_names(names)}. Stop web, beats and workers (or the engine), then run this again. "
            f"One that was killed is forgotten after {within.total_seconds():.0f} s"
        )


def refuse_unreadable_secrets(schema: Schema, *, forget: bool = False) -> None:
    """Refuse to bind secrets that no key decrypts: they would be lost, even if the key came back.

    A person may choose to `forget` them. Unusable keys are refused in any case.
    """
    if not any(column.migration in schema.missing for column in BOUND_COLUMNS):
        return
    try:
        names = list(_find_unreadable())
    except KeyProblem as problem:
        raise SchemaProblem(f"the secrets in the database cannot be read: {problem}") from problem
    if names and not forget:
        raise SchemaProblem(
            f"no key here opens the secrets of {_list_names(names)}, and after the change of the database "
            "for this version none ever would. Nothing was changed. Put the missing key into "
            f"FACHO_CREDENTIAL_KEYS or {CREDENTIALS}; or enter them again with the earlier version; or run "
            "facho migrate --forget-unreadable, which goes on, and enter them again afterwards"
        )


def _find_unreadable() -> Iterator[str]:
    """Yield the rows whose secret no key decrypts, as `olts/NAME`."""
    name, tables = connection.ops.quote_name, connection.introspection.table_names()
    for bound in BOUND_COLUMNS:
        if bound.table in tables:
            statement = f"SELECT name, {name(bound.column)} FROM {name(bound.table)} ORDER BY id"  # noqa: S608
            for row, token in sql.fetch_rows(statement, []):
                if not vault().has_key_for(token):
                    yield f"{bound.table}/{row}"


def _list_names(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
