"""The database itself: its clock, its kind, version and size, the connections to it, and its locks.

The locks are those that the ORM does not offer. SQLite has one writer at a time and needs none of them.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from django.db import connection

from facho.apps.db import sql

Clock: TypeAlias = Callable[[], datetime]

# Elsewhere than on Linux, the nearest there is.
_BOOTTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def database_now() -> datetime:
    """Return the time of the database server. On SQLite all processes are on one machine, with one clock."""
    if connection.vendor != "postgresql":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now


def time_for_statement(clock: Clock) -> datetime | None:
    """Return the time to give to a statement; None for one that reads the same clock by itself.

    That saves a question to the server before each statement that needs its time.
    """
    return None if clock is database_now and not is_embedded() else clock()


def boottime() -> float:
    """Return seconds that also pass while the machine sleeps, whatever is done to the wall clock."""
    return time.clock_gettime(_BOOTTIME)


class ClockJumpDetector:
    """Notices that the wall clock was set forward, by comparing it with `boottime`."""

    def __init__(self) -> None:
        self._ahead: float | None = None

    def since_last(self, now: datetime) -> timedelta:
        """Return by how much it was set forward since the last call; nothing at the first call."""
        ahead, before = now.timestamp() - boottime(), self._ahead
        self._ahead = ahead
        return timedelta() if before is None else timedelta(seconds=max(0.0, ahead - before))


# Writers that wait for SQLite look again after a tenth of a second at the latest.
_PAUSE_S: Final = 0.1


def database_kind() -> str:
    """Return `sqlite` or `postgresql`."""
    return connection.vendor


@cache
def is_embedded() -> bool:
    """Return whether the database is a file of this machine, with one writer at a time: SQLite.

    Cached: a process has one database.
    """
    return connection.vendor == "sqlite"


def database_file() -> Path:
    """Return the file of an embedded database."""
    return Path(connection.settings_dict["NAME"])


def database_version() -> str:
    ((version,),) = sql.fetch_rows("SELECT sqlite_version()" if is_embedded() else "SHOW server_version", [])
    return f"{connection.display_name} {version}"


def database_bytes() -> int:
    """Return the size of the database; of SQLite with the log that its newest rows are in."""
    if is_embedded():
        return sqlite_bytes(database_file())
    ((size,),) = sql.fetch_rows("SELECT pg_database_size(current_database())", [])
    return int(size)


def sqlite_bytes(file: Path) -> int:
    size = 0
    for part in (file, file.with_name(f"{file.name}-wal")):
        with suppress(FileNotFoundError):
            size += part.stat().st_size
    return size


def database_folder() -> Path | None:
    """Return the folder that holds the database; None when a server keeps it elsewhere or does not tell."""
    if is_embedded():
        return database_file().parent
    found = sql.fetch_rows(_LOCAL_DATA_DIRECTORY, [])
    return Path(found[0][0]) if found else None


# A server that is reached by a socket or the loopback is on this machine.
_LOCAL_DATA_DIRECTORY: Final = (
    "SELECT setting FROM pg_settings WHERE name = 'data_directory'"
    " AND (inet_server_addr() IS NULL OR inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1')"
)


def has_index(name: str) -> bool:
    """Return whether a server has this index, ready for use; False on SQLite."""
    statement = "SELECT 1 FROM pg_index WHERE indisvalid AND indexrelid = to_regclass(%s)"
    return not is_embedded() and bool(sql.fetch_rows(statement, [name]))


def limit_new_connections(statement_seconds: float) -> bool:
    """Let a server end statements of connections opened from now on. Return False on SQLite, which cannot.

    The pool is closed, so that no thread is given a connection that was opened without the limit.
    """
    if is_embedded():
        return False
    options = connection.settings_dict["OPTIONS"]
    options["options"] = f"{options['options']} -c statement_timeout={int(statement_seconds * 1000)}"
    connection.close_pool()  # type: ignore[attr-defined]  # of PostgreSQL's
    return True


def check_reachable() -> None:
    """Connect once past the pool, which would try for long and not tell the reason. Raises DatabaseError."""
    if connection.vendor == "postgresql":
        import psycopg

        with connection.wrap_database_errors:
            psycopg.connect(**connection.get_connection_params()).close()


def database_sentence(error: Exception) -> str:
    """Return what a person is told when the database cannot be used."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if any("certificate verify failed" in line for line in lines):
        lines[0] += (
            "; sslrootcert= in FACHO_DATABASE_URL must name the file of the CA that signed its certificate"
        )
    return f"the database cannot be used: {lines[0]}"


def is_refused_write(error: Exception) -> bool:
    """Tell whether the database refused to write because it only reads: see refuse_writes."""
    return "readonly" in str(error) or "read-only" in str(error)


def release_connection() -> None:
    """Return a server's connection to the pool while this thread waits. SQLite's is kept: opening is slow."""
    if not is_embedded() and not connection.in_atomic_block:
        connection.close()


def resize_pool(connections: int) -> None:
    """Let this many threads of the process be connected. On SQLite each has its own connection anyway."""
    pool = getattr(connection, "pool", None)
    if pool is not None:
        pool.resize(min_size=0, max_size=connections)
        # Django gives the pool a check that asks the server, whenever a connection is taken.
        pool._check = _check_if_readable


def _check_if_readable(server: Any) -> None:
    """Ask the server only over a connection on which something has arrived, such as its end.

    Nothing arrives by itself on a connection in the pool. Pollers take one several times in an execution.
    """
    from psycopg_pool import ConnectionPool

    arrived = select.poll()
    arrived.register(server.fileno(), select.POLLIN)
    if arrived.poll(0):
        ConnectionPool.check_connection(server)


def pause_for_other_writers() -> None:
    """Wait between two long writes: SQLite has one writer at a time, and others must get a turn."""
    if is_embedded():
        time.sleep(_PAUSE_S)


class AdvisoryLock(IntEnum):
    """Numbers that no other program uses in the same database."""

    CLAIM = 0xFAC40
    COMMAND = 0xFAC41
    PREPARE = 0xFAC42
    RETENTION = 0xFAC43
    NOTIFICATIONS = 0xFAC48


def lock_until_commit(lock: AdvisoryLock, *, in_index_order: bool = False) -> None:
    """Wait for the lock, and hold it until the current transaction ends.

    `in_index_order` makes the transaction read ordered rows from an index instead of sorting them, by plans
    that are made once: the server thinks that there are few, as there mostly are when it takes its
    statistics, and would plan each time to find out.
    """
    if connection.vendor == "postgresql":
        sql.fetch_prepared(_LOCK + (_IN_INDEX_ORDER if in_index_order else ""), [int(lock)])


_LOCK: Final = "SELECT pg_advisory_xact_lock(%s)"
_IN_INDEX_ORDER: Final = (
    ", set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true),"
    " set_config('plan_cache_mode', 'force_generic_plan', true)"
)


@contextmanager
def hold_lock(lock: AdvisoryLock) -> Iterator[None]:
    """Hold the lock for the whole block, whatever transactions begin and end in it."""
    if connection.vendor != "postgresql":
        yield
        return
    sql.fetch_rows("SELECT pg_advisory_lock(%s)", [lock])
    try:
        yield
    finally:
        sql.fetch_rows("SELECT pg_advisory_unlock(%s)", [lock])


@contextmanager
def refuse_writes() -> Iterator[None]:
    """Let the database refuse what this connection would write meanwhile: a guard against slips, no more."""
    on, off = (
        ("SET default_transaction_read_only = on", "RESET default_transaction_read_only")
        if connection.vendor == "postgresql"
        else ("PRAGMA query_only = ON", "PRAGMA query_only = OFF")
    )
    with connection.cursor() as cursor:
        cursor.execute(on)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(off)


def row_lock(table: str = "", *, skip_locked: bool = False, whole: bool = False) -> str:
    """Return the end of a SELECT that locks its rows but not their keys: rows may still refer to them.

    `whole` locks the keys too, for rows that may be deleted.
    """
    if connection.vendor != "postgresql":
        return ""
    return (
        (" FOR UPDATE" if whole else " FOR NO KEY UPDATE")
        + (f" OF {table}" if table else "")
        + (" SKIP LOCKED" if skip_locked else "")
    )


def limit_lock_waits(milliseconds: int) -> None:
    """Give up waiting for a lock after this time, and let statements take as long as they need.

    Until the end of the transaction, or until `reset_lock_waits`. The web limits the time of its queries, but
    a change that is allowed may take as long as it has to.
    """
    if connection.vendor == "postgresql":
        sql.fetch_rows(
            "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', '0', true)",
            [f"{milliseconds}ms"],
        )


def reset_lock_waits() -> None:
    if connection.vendor == "postgresql":
        sql.execute("SET LOCAL lock_timeout TO DEFAULT", [])


def gave_way(error: Exception) -> bool:
    """Return whether the server ended a wait for a lock: lock_not_available or deadlock_detected."""
    return getattr(error.__cause__, "sqlstate", None) in ("55P03", "40P01")
