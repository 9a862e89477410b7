"""A facho of a benchmark's own: folder, keys and database. The operator's is not even looked at."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from facho.config import Config

_MARK: Final = "bench"


class Refused(Exception):
    """The database is not one that may be filled with what does not exist; the message says why."""


class CannotMeasure(Exception):
    """The engine did not do what was to be measured; the message says what came instead."""


@contextmanager
def own_system(database_url: str, **settings: str) -> Iterator[Config]:
    """Sets up Django, so once in a process. `settings` are those of facho, in small letters."""
    with tempfile.TemporaryDirectory(prefix="facho-bench-") as home:
        _set_environment({"home": home, "language": "en", "database_url": database_url, **settings})
        import django

        django.setup()
        # What goes wrong is found in the executions; a log on the terminal would only be in the way.
        logging.getLogger("facho").addHandler(logging.NullHandler())
        from django.db import connection

        from facho.config import current

        _make_ready()
        try:
            yield current()
        finally:
            connection.close()


def _set_environment(settings: dict[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith("FACHO_")]:
        del os.environ[name]
    os.environ["DJANGO_SETTINGS_MODULE"] = "facho.settings"
    os.environ.update({f"FACHO_{name.upper()}": value for name, value in settings.items() if value})


def _make_ready() -> None:
    from django.core.management import call_command
    from django.db import connection

    from facho.engine.commands.setup import prepare

    name = Path(str(connection.settings_dict["NAME"])).stem
    used = bool(connection.introspection.table_names())
    if used and _MARK not in name:
        raise Refused(
            f"the database '{name}' has tables already, and all of it would be deleted: "
            f"name one that is empty, or that has '{_MARK}' in its name"
        )
    if used:
        call_command("migrate", verbosity=0, interactive=False)
        call_command("flush", verbosity=0, interactive=False)
    prepare()


@contextmanager
def running_engine(config: Config) -> Iterator[None]:
    """The embedded engine, whole, in threads of this process."""
    from facho.backends.embedded import run_embedded

    stopping = threading.Event()
    engine = threading.Thread(target=run_embedded, args=(config, stopping), name="engine")
    engine.start()
    try:
        yield
    finally:
        stopping.set()
        engine.join()
