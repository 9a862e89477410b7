"""Connections to the database: opening, sharing and giving them back."""

from __future__ import annotations

import time
from typing import Final

from django.db import connection

# Writers that wait for SQLite look again after a tenth of a second at the latest.
_PAUSE_S: Final = 0.1


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


def release_connection() -> None:
    """Return a server's connection to the pool while this thread waits. SQLite's is kept: opening is slow."""
    if connection.vendor != "sqlite" and not connection.in_atomic_block:
        connection.close()


def resize_pool(connections: int) -> None:
    """Let this many threads of the process be connected. On SQLite each has its own connection anyway."""
    pool = getattr(connection, "pool", None)
    if pool is not None:
        pool.resize(min_size=0, max_size=connections)


def pause_for_other_writers() -> None:
    """Wait between two long writes: SQLite has one writer at a time, and others must get a turn."""
    if connection.vendor == "sqlite":
        time.sleep(_PAUSE_S)
