"""A private facho for one benchmark: its own folder, keys and database. The operator's is not touched."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.harness import DatabaseInUse, MeasurementFailed
from bench.process_groups import ProcessGroups, parent_of, program_of

if TYPE_CHECKING:
    from facho.config import Config

_MARK: Final = "bench"
_LOCAL: Final = ("", "localhost", "127.0.0.1", "::1")


@contextmanager
def private_system(database_url: str, **settings: str) -> Iterator[Config]:
    """Set up Django and an empty database; possible once in a process.

    `settings` are those of facho, in small letters.
    """
    with tempfile.TemporaryDirectory(prefix="facho-bench-") as home:
        _set_environment({"home": home, "language": "en", "database_url": database_url, **settings})
        import django

        django.setup()
        # Failures are found in the executions; a log on the terminal would disturb the progress line.
        logging.getLogger("facho").addHandler(logging.NullHandler())
        from django.db import DatabaseError, connection

        from facho.apps.db.database import database_sentence
        from facho.config import current

        try:
            _prepare_database()
            yield current()
        except DatabaseError as error:
            raise MeasurementFailed(database_sentence(error)) from error
        finally:
            connection.close()


def _set_environment(settings: dict[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith("FACHO_")]:
        del os.environ[name]
    os.environ["DJANGO_SETTINGS_MODULE"] = "facho.settings"
    os.environ.update({f"FACHO_{name.upper()}": value for name, value in settings.items() if value})


def _prepare_database() -> None:
    from django.core.management import call_command
    from django.db import connection

    from facho.engine.commands.setup import prepare

    name = Path(str(connection.settings_dict["NAME"])).stem
    used = bool(connection.introspection.table_names())
    if used and _MARK not in name:
        raise DatabaseInUse(
            f"the database '{name}' has tables already, and all of it would be deleted: "
            f"name one that is empty, or that has '{_MARK}' in its name"
        )
    if used:
        call_command("migrate", verbosity=0, interactive=False)
        call_command("flush", verbosity=0, interactive=False)
    prepare()


@contextmanager
def running_engine(config: Config) -> Iterator[None]:
    """Run the whole embedded engine in threads of this process."""
    from facho.backends.embedded import run_embedded

    stopping = threading.Event()
    engine = threading.Thread(target=run_embedded, args=(config, stopping), name="engine")
    engine.start()
    try:
        yield
    finally:
        stopping.set()
        engine.join()


@contextmanager
def facho_process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a facho command on the private system, in a process of its own, and terminate it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "facho", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def database_server_pid() -> int | None:
    """Return the process of a PostgreSQL server that is the parent of all others.

    None for SQLite and for a server on another machine.
    """
    from django.db import connection

    host = str(connection.settings_dict["HOST"])
    if connection.vendor != "postgresql" or not (host in _LOCAL or host.startswith("/")):
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    return parent_of(backend) if "postgres" in program_of(backend) else None


def server_cpu_s() -> float | None:
    """Return the CPU time of a PostgreSQL server with all its processes, ended ones included.

    None for SQLite and for a server on another machine.
    """
    server = database_server_pid()
    return None if server is None else ProcessGroups({"database": [server]}).cpu_s()["database"]
