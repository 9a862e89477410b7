"""A facho that has its tables already: they take three seconds to make, and a moment to copy."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.services import warm
from tests.services.postgres import Databases, copy_data, run_postgres

DATABASE: Final = "facho.db"
# On a PostgreSQL that began as a copy of the pattern.
POSTGRES_DATABASE: Final = "facho_pattern"


def home() -> Path:
    """One for the whole run, on SQLite, made by whichever process needs it first."""
    return _made_once("home", _make_home)


def postgres_data() -> Path:
    """The data of a PostgreSQL, with a database that has the tables; one for the whole run, too."""
    return _made_once("postgres", _make_postgres_data)


def put_tables(database_url: str) -> None:
    """Into a new, empty database; if its PostgreSQL has no pattern, they are left for `facho migrate`."""
    if database_url.startswith("sqlite:///"):
        shutil.copy(home() / DATABASE, database_url.removeprefix("sqlite:///"))
        return
    address = conninfo_to_dict(database_url)
    databases = Databases(Path(str(address["host"])))
    with psycopg.connect(databases.url()) as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", [POSTGRES_DATABASE])
        if found.fetchone() is None:
            return
    name = str(address["dbname"])
    databases.drop_database(name)
    databases.create_database(name, POSTGRES_DATABASE)


def _made_once(name: str, make: Callable[[Path], None]) -> Path:
    folder = Path(os.environ["FACHO_HOME"]).parent / "pattern"
    folder.mkdir(exist_ok=True)
    made = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            new = folder / f"{name}.new"
            make(new)
            new.rename(made)
    return made


def _make_home(folder: Path) -> None:
    ours = {name: value for name, value in os.environ.items() if name != "FACHO_DATABASE_URL"}
    _migrate({**ours, "FACHO_HOME": str(folder)})


def _make_postgres_data(folder: Path) -> None:
    with run_postgres(folder.parent) as server:
        server.create_database(POSTGRES_DATABASE)
        # It makes keys, which those who copy the tables have no use for.
        other = folder.with_name(f"{folder.name}.home")
        _migrate(
            {**os.environ, "FACHO_HOME": str(other), "FACHO_DATABASE_URL": server.url(POSTGRES_DATABASE)}
        )
        server.stop(immediate=False)
        copy_data(server.data, folder)


def _migrate(environment: dict[str, str]) -> None:
    done = warm.run(["migrate"], env=environment)
    assert done.returncode == 0, done.stderr
