"""People's changes take turns, and give way to the engine.

A command reads what is there, decides and writes: two at once would decide on what is not so any more. On
SQLite a transaction that writes is alone anyway; on PostgreSQL commands queue for a lock that only they take.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from django.db import OperationalError, connection

from facho.apps.access.acting import gathered
from facho.apps.db import sql
from facho.databases import WAIT_S

# Any number that no other program uses in the same database.
_LOCK: Final = 0xFAC41
# Shorter than the second after which PostgreSQL ends one of two that wait for each other: never the engine.
_PATIENCE_MS: Final = 300
# All together longer than a process that was frozen in the middle of a transaction may keep its locks.
_TRIES: Final = 2 * WAIT_S * 1000 // _PATIENCE_MS
# lock_not_available, deadlock_detected
_GAVE_WAY: Final = ("55P03", "40P01")

P = ParamSpec("P")
R = TypeVar("R")


def command(function: Callable[P, R]) -> Callable[P, R]:
    """One transaction, all of it or nothing, while no other command is under way."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for left in reversed(range(_TRIES)):
            try:
                with sql.write_transaction():
                    _take_turn()
                    with gathered():
                        result = function(*args, **kwargs)
                    _end_turn()
                    return result
            except OperationalError as error:
                if not left or getattr(error.__cause__, "sqlstate", None) not in _GAVE_WAY:
                    raise
        raise AssertionError("the last try returns or raises")

    return run


def _take_turn() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            # The web's queries have a limit; a change that is allowed may take as long as it has to.
            cursor.execute(
                f"SELECT set_config('lock_timeout', '{_PATIENCE_MS}ms', true),"
                " set_config('statement_timeout', '0', true)"
            )


def _end_turn() -> None:
    """What the caller does afterwards in a transaction of its own may wait as long as it likes."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
