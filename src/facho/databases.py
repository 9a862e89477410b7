"""Django's settings for a database URL: SQLite or PostgreSQL."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

# How long a writer waits for another one. Writes are short, so this is reached only when something is wrong.
WAIT_S: Final = 10
# Connections of a process: enough for the web and for every thread that is no poller.
_FEWEST: Final = 20
_BESIDE_POLLERS: Final = 10


def database_settings(url: str) -> dict[str, Any]:
    return _sqlite(url) if url.startswith("sqlite:") else _postgresql(url)


def most_connections(pollers: int) -> int:
    """Return the most connections of a process with so many pollers, which may all store at once."""
    return max(_FEWEST, pollers + _BESIDE_POLLERS)


def _sqlite(url: str) -> dict[str, Any]:
    path = unquote(url.removeprefix("sqlite:///"))
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        # A database in memory locks in other ways than one in a file.
        "TEST": {"NAME": f"{path}.test"},
        "OPTIONS": {
            "timeout": WAIT_S,
            # A transaction that reads and then writes could not wait for its turn otherwise.
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000",
        },
    }


def _postgresql(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    host = options.pop("host", "") or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.removeprefix("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": "5",
            # A process that was frozen in the middle of a transaction must not hold its locks for ever.
            "options": f"-c lock_timeout={WAIT_S}s -c idle_in_transaction_session_timeout={WAIT_S}s",
            # As many as are needed at a time: a poller that waits for an OLT gives its connection back.
            "pool": {"min_size": 0, "max_size": _FEWEST, "timeout": WAIT_S},
            **options,
        },
    }
