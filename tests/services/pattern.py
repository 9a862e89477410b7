"""A facho that has its tables already: they take three seconds to make, and a moment to copy."""

import fcntl
import os
from pathlib import Path

from tests.services import warm

DATABASE = "facho.db"


def home() -> Path:
    """One for the whole run, on SQLite, made by whichever process needs it first."""
    folder = Path(os.environ["FACHO_HOME"]).parent / "pattern"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "home").exists():
            _make(folder / "new").rename(folder / "home")
    return folder / "home"


def _make(folder: Path) -> Path:
    ours = {name: value for name, value in os.environ.items() if name != "FACHO_DATABASE_URL"}
    done = warm.run(["migrate"], env={**ours, "FACHO_HOME": str(folder)})
    assert done.returncode == 0, done.stderr
    return folder
