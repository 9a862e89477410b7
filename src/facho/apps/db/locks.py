"""Locks that the ORM does not offer. SQLite has one writer at a time and needs none of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from django.db import connection

from facho.apps.db import sql


class AdvisoryLock(IntEnum):
    """Numbers that no other program uses in the same database."""

    CLAIM = 0xFAC40
    COMMAND = 0xFAC41
    PREPARE = 0xFAC42
    RETENTION = 0xFAC43
    NOTIFICATIONS = 0xFAC48


def lock_until_commit(lock: AdvisoryLock) -> None:
    """Wait for the lock, and hold it until the current transaction ends."""
    if connection.vendor == "postgresql":
        sql.fetch_rows("SELECT pg_advisory_xact_lock(%s)", [lock])


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


def row_lock(table: str = "", *, skip_locked: bool = False) -> str:
    """Return the end of a SELECT that locks its rows but not their keys: rows may still refer to them."""
    if connection.vendor != "postgresql":
        return ""
    return " FOR NO KEY UPDATE" + (f" OF {table}" if table else "") + (" SKIP LOCKED" if skip_locked else "")


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
