"""The time limit of queries of the web, and the release of their connections.

Only in a process of the web, which `limit_queries` is called in: the engine's queries have no such limit. Nor
have commands, on either database: they run in a transaction, and are for those who may change things.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from django.db import OperationalError, close_old_connections, connection
from django.db.backends.signals import connection_created
from django.http import HttpRequest

from facho.apps.db.database import limit_new_connections

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    Answer = Callable[[HttpRequest], HttpResponseBase]

# query_canceled, lock_not_available
_TIMEOUT_SQLSTATES: Final = ("57014", "55P03")
_TIMEOUT_SQLITE_ERRORS: Final = ("interrupted", "database is locked")
# Steps of SQLite's machine between two looks at the clock: about a millisecond.
_STEPS: Final = 50_000


def limit_queries(longest: timedelta) -> None:
    """Limit the queries of all connections that this process opens from now on.

    A server calls it in its event loop, where Django lets nobody open, use or close a connection.
    """
    seconds = longest.total_seconds()
    if not limit_new_connections(seconds):
        install = _TimerInstaller(seconds).install
        connection_created.connect(install, weak=False, dispatch_uid=__name__)


class _TimerInstaller:
    """Installs a timer on connections of SQLite, which has no time limit of its own."""

    def __init__(self, longest_s: float) -> None:
        self.longest_s = longest_s

    def install(self, connection: Any, **_: Any) -> None:
        watched = _StatementTimer(connection, self.longest_s)
        connection.execute_wrappers[:] = [
            each for each in connection.execute_wrappers if not isinstance(each, _StatementTimer)
        ]
        connection.execute_wrappers.append(watched)
        connection.connection.set_progress_handler(watched.is_over, _STEPS)


class _StatementTimer:
    """The deadline of the statement that a connection runs. SQLite asks for it every so many steps."""

    def __init__(self, connection: Any, longest_s: float) -> None:
        self._connection, self._longest_s = connection, longest_s
        self._until = float("inf")

    def __call__(self, execute: Any, statement: Any, params: Any, many: bool, context: Any) -> Any:
        in_command = self._connection.in_atomic_block
        self._until = float("inf") if in_command else time.monotonic() + self._longest_s
        return execute(statement, params, many, context)

    def is_over(self) -> bool:
        return time.monotonic() > self._until


def database_is_busy(error: BaseException | None) -> bool:
    """Return whether an error is a timeout of a query, a lock or a connection: not a bug."""
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    if getattr(cause, "sqlstate", None) in _TIMEOUT_SQLSTATES or type(cause).__name__ == "PoolTimeout":
        return True
    return str(error) in _TIMEOUT_SQLITE_ERRORS


def release_connection(answer: Answer) -> Answer:
    """Middleware that releases the connection before the answer is sent: clients may read slowly."""

    def answered(request: HttpRequest) -> HttpResponseBase:
        found = answer(request)
        if not connection.in_atomic_block:
            close_old_connections()
        return found

    return answered
