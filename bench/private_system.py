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

if TYPE_CHECKING:
    from facho.config import Config

_MARK: Final = "bench"
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_LOCAL: Final = ("", "localhost", "127.0.0.1", "::1")
# In /proc/PID/stat, after the name of the program: state, parent, ...
_PARENT, _USER, _SYSTEM, _CHILDREN_SYSTEM = 1, 11, 12, 14


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


def cpu_s_of(pid: int) -> float:
    """Return the user and system time that a process has used."""
    numbers = _stat(pid)[1]
    return (numbers[_USER] + numbers[_SYSTEM]) / _TICKS


def server_cpu_s() -> float | None:
    """Return the CPU time of a PostgreSQL server with all its processes, ended ones included.

    None for SQLite and for a server on another machine.
    """
    from django.db import connection

    host = str(connection.settings_dict["HOST"])
    if connection.vendor != "postgresql" or not (host in _LOCAL or host.startswith("/")):
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    server = _postgres_stat(backend)
    return None if server is None else _server_cpu_s(server[_PARENT])


def _server_cpu_s(postmaster: int) -> float | None:
    own = _postgres_stat(postmaster)
    if own is None:
        return None
    # The numbers of a parent include its children that have ended.
    ticks = sum(own[_USER : _CHILDREN_SYSTEM + 1])
    for entry in Path("/proc").iterdir():
        child = _postgres_stat(int(entry.name)) if entry.name.isdigit() else None
        if child is not None and child[_PARENT] == postmaster:
            ticks += child[_USER] + child[_SYSTEM]
    return ticks / _TICKS


def _postgres_stat(pid: int) -> list[int] | None:
    try:
        name, numbers = _stat(pid)
    except OSError:
        return None
    return numbers if "postgres" in name or "postmaster" in name else None


def _stat(pid: int) -> tuple[str, list[int]]:
    name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    return name, [int(word) if word.lstrip("-").isdigit() else 0 for word in rest.split()]
