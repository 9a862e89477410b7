"""`python -m tests.services prepare` installs what the tests need and this machine lacks.

It runs once before pytest, so that parallel workers never install at the same time. What could not be
had is no error here: pytest names it, and decides.

`python -m tests.services postgres [--set NAME=VALUE]... -- COMMAND...` runs a command with a private
PostgreSQL that goes away afterwards, `--set` being settings of the server. Where the command has {url}, it
gets the address of an empty database; so does FACHO_DATABASE_URL. Where it has {broker}, it gets that of a
private Redis.
"""

import os
import subprocess
import sys
from contextlib import ExitStack

from tests.services import packages
from tests.services.folder import temporary_folder
from tests.services.postgres import run_postgres
from tests.services.redis import run_redis
from tests.services.unavailable import Unavailable

DATABASE = "facho_bench"
USAGE = "usage: python -m tests.services prepare | postgres [--set NAME=VALUE]... -- COMMAND..."


def prepare() -> None:
    missing = packages.missing()
    if not missing:
        return
    names = " ".join(package.name for package in missing)
    print(f"Installing Debian packages for the tests: {names} ...", flush=True)
    why = packages.install(missing)
    if why is not None:
        print(f"Not installed: {why}", flush=True)


def with_postgres(command: list[str], settings: tuple[str, ...]) -> int:
    """The status of the command."""
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        server = stack.enter_context(run_postgres(folder, options=settings))
        server.create_database(DATABASE)
        url = server.url(DATABASE)
        broker = stack.enter_context(run_redis()).url if "{broker}" in command else ""
        argv = [word.replace("{url}", url).replace("{broker}", broker) for word in command]
        with subprocess.Popen(argv, env={**os.environ, "FACHO_DATABASE_URL": url}) as process:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The command has had it too, and ends in its own time.
                return process.wait()


def main(arguments: list[str], settings: tuple[str, ...] = ()) -> int | str:
    match arguments:
        case ["prepare"]:
            prepare()
            return 0
        case ["postgres", "--set", setting, *rest]:
            return main(["postgres", *rest], (*settings, setting))
        case ["postgres", "--", _, *_]:
            try:
                return with_postgres(arguments[2:], settings)
            except Unavailable as missing:
                return str(missing)
        case _:
            return USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
