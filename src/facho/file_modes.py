"""Modes of the database, the keys, the logs and their folder: readable by the user of facho only.

The umask of every facho process makes new files private. Files that an older version or a person left open to
others are closed when a process starts, if they belong to its user.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from facho.config import Config

log = logging.getLogger(__name__)

_UMASK: Final = 0o077
_GROUP_AND_OTHERS: Final = 0o077
_OTHERS: Final = 0o007
# SQLite creates these with the mode of the database, but does not change it later.
_BESIDE_DATABASE: Final = ("", "-wal", "-shm", "-journal")
# Folders of the root, such as /srv, belong to the whole machine.
_SHALLOWEST: Final = 3


@cache
def set_private_umask() -> int:
    """Make all new files of this process private.

    Returns the umask that it was started with; a second call changes nothing.
    """
    return os.umask(_UMASK)


@contextmanager
def callers_umask() -> Iterator[None]:
    """Use the umask of the person who started the command, for a file that they named."""
    ours = os.umask(set_private_umask())
    try:
        yield
    finally:
        os.umask(ours)


def paths_open_to_others(config: Config) -> list[tuple[Path, int]]:
    """Return the folders and files that others of this machine can read or write, each with its mode.

    A file of another user, such as an env file of root, counts only if everybody can read it:
    facho may need its group to read it.
    """
    found = []
    for path in _private_paths(config):
        with contextlib.suppress(OSError):
            status = path.stat()
            mode, ours = stat.S_IMODE(status.st_mode), status.st_uid == os.geteuid()
            if mode & (_GROUP_AND_OTHERS if ours else _OTHERS):
                found.append((path, mode))
    return found


def repair_modes(config: Config) -> None:
    """Close files and folders that are open to others, and log it."""
    for path, mode in paths_open_to_others(config):
        try:
            if path.stat().st_uid != os.geteuid() or is_shared_folder(path):
                continue
            path.chmod(mode & ~_GROUP_AND_OTHERS)
        except OSError as error:
            about = {"action": "mode_not_repaired", "path": path, "why": error.strerror}
            log.warning("file can be read by others", extra=about)
            continue
        about = {"action": "mode_repaired", "path": path, "mode": f"{mode:04o}"}
        log.warning("file could be read by others", extra=about)


def _private_paths(config: Config) -> Iterator[Path]:
    """Yield FACHO_HOME first: once it is closed, nobody can exchange its files. Skip symbolic links."""
    # Imported here because it is slow, and every command imports this module.
    from facho.keys import CREDENTIALS, SECRET

    yield config.home
    inside = [config.home / name for name in (CREDENTIALS, SECRET, "facho.env")]
    if config.database.startswith("sqlite:"):
        database = unquote(config.database.removeprefix("sqlite:///"))
        inside += [Path(database + ending) for ending in _BESIDE_DATABASE]
    inside += [config.logs, *sorted(config.logs.rglob("*"))]
    yield from (path for path in inside if not path.is_symlink())


def is_shared_folder(path: Path) -> bool:
    """Say whether a folder is needed by others, such as /tmp, /srv or a home folder."""
    if not path.is_dir():
        return False
    whole = path.resolve()
    shared = bool(whole.stat().st_mode & stat.S_ISVTX)
    # Path.home() raises for a user without one: a container can run as a number that has no name.
    home = Path(os.path.expanduser("~"))
    return shared or len(whole.parts) < _SHALLOWEST or whole == home.resolve()
