"""Runs people's commands one after the other, each in one transaction that gives way to the engine.

A command reads what is there, decides and writes: two at once would decide on what is no longer true. On
SQLite a transaction that writes is alone anyway; on PostgreSQL commands queue for a lock that only they take.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from django.db import OperationalError

from facho.apps.access.actors import gathered
from facho.apps.db import sql
from facho.apps.db.database import (
    AdvisoryLock,
    gave_way,
    limit_lock_waits,
    lock_until_commit,
    reset_lock_waits,
)
from facho.databases import WAIT_S

# Shorter than the second after which PostgreSQL ends one of two that wait for each other: never the engine.
_LOCK_WAIT_MS: Final = 300
# All together longer than a process that was frozen in the middle of a transaction may keep its locks.
_TRIES: Final = 2 * WAIT_S * 1000 // _LOCK_WAIT_MS

P = ParamSpec("P")
R = TypeVar("R")


def command(function: Callable[P, R]) -> Callable[P, R]:
    """Run the function in one transaction while no other command runs, and again when it had to give way."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for tries_left in reversed(range(_TRIES)):
            try:
                with sql.write_transaction():
                    lock_until_commit(AdvisoryLock.COMMAND)
                    limit_lock_waits(_LOCK_WAIT_MS)
                    with gathered():
                        result = function(*args, **kwargs)
                    # The caller's own transaction, if there is one, may wait as long as it likes afterwards.
                    reset_lock_waits()
                    return result
            except OperationalError as error:
                if not tries_left or not gave_way(error):
                    raise
        raise AssertionError("the last try returns or raises")

    return run
