"""The tables of the tests' database are made once in a run, and copied for each worker of it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from django.conf import settings

# On SQLite a file, on PostgreSQL a database beside those of the workers.
PATTERN: Final = "facho_tables"


def made_once(make: Callable[..., str]) -> Callable[..., str]:
    """Instead of Django's `create_test_db`, which takes four seconds in each worker."""

    def create_test_db(creation: Any, *args: Any, **options: Any) -> str:
        folder = Path(os.environ["FACHO_HOME"]).parent
        with (folder / "tables.lock").open("a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (folder / "tables.made").exists():
                return _copied(creation, folder)
            name = make(creation, *args, **options)
            _copy(creation, folder, name, PATTERN)
            (folder / "tables.made").touch()
            return name

    return create_test_db


def _copied(creation: Any, folder: Path) -> str:
    name: str = creation._get_test_db_name()
    _copy(creation, folder, PATTERN, name)
    connection = creation.connection
    settings.DATABASES[connection.alias]["NAME"] = connection.settings_dict["NAME"] = name
    connection.ensure_connection()
    return name


def _copy(creation: Any, folder: Path, source: str, target: str) -> None:
    creation.connection.close()
    if creation.connection.vendor == "sqlite":
        # The name of a worker's own one is a whole path.
        shutil.copy(folder / source, folder / target)
        return
    creation.connection.close_pool()
    quoted = creation.connection.ops.quote_name
    with creation._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {quoted(target)} TEMPLATE {quoted(source)}")
