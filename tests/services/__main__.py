"""`python -m tests.services prepare` installs what the tests need and this machine lacks.

It runs once before pytest, so that parallel workers never install at the same time. What could not be
had is no error here: pytest names it, and decides.
"""

import sys

from tests.services import packages


def prepare() -> None:
    missing = packages.missing()
    if not missing:
        return
    names = " ".join(package.name for package in missing)
    print(f"Installing Debian packages for the tests: {names} ...", flush=True)
    why = packages.install(missing)
    if why is not None:
        print(f"Not installed: {why}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] != ["prepare"]:
        sys.exit("usage: python -m tests.services prepare")
    prepare()
