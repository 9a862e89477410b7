"""Migrate an SQLite database exclusively, after a copy of it was made.

Every command holds a shared lock on `<database>.lock` while it uses the database; a migration holds it
exclusively. The operating system releases the lock of a killed process.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from django.db import DatabaseError, connection

from facho import __version__
from facho.apps.db.database import database_file, sqlite_bytes
from facho.engine.upkeep.schema import Schema, SchemaProblem
from facho.keys import KeyProblem

Say = Callable[[str], None]

# A command that starts at the same moment holds the lock until it finds that it must wait.
_PATIENCE_S: Final = 5.0
_LOOK_EVERY_S: Final = 0.05
_COPIES_KEPT: Final = 3
# Free space that is needed, in sizes of the database: the copy, and the tables that are rewritten.
_ROOM: Final = 2


class DatabaseLock:
    """The lock of an SQLite database, held by this process."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(f"{database.name}.lock")
        self._file: int | None = None

    def lock_shared(self, say: Say) -> None:
        """Take the shared lock, after a migration that is running."""
        if not self._take(fcntl.LOCK_SH | fcntl.LOCK_NB):
            say("Another facho process changes the database; waiting for its end.")
            self._take(fcntl.LOCK_SH)

    def lock_exclusive(self, patience_s: float = _PATIENCE_S) -> None:
        """Take the exclusive lock. Raises SchemaProblem with the processes that hold the lock."""
        until = time.monotonic() + patience_s
        while not self._take(fcntl.LOCK_EX | fcntl.LOCK_NB):
            if time.monotonic() > until:
                raise SchemaProblem(
                    "the database has to be changed for this version, and is in use by "
                    f"{_holders(self._path)}: stop it, then run this again"
                )
            time.sleep(_LOOK_EVERY_S)

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _take(self, how: int) -> bool:
        if self._file is None:
            self._file = open_lock(self._path)
        return lock_file(self._file, self._path, how)


def lock_file(file: int, path: Path, how: int) -> bool:
    """Lock a file. Return False if another process has the lock and `how` says not to wait."""
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    except OSError as error:
        raise SchemaProblem(
            f"{path} cannot be locked: {error.strerror}. Its file system must support locks"
        ) from error
    return True


def open_lock(path: Path) -> int:
    """Open the file of a lock, and create it if needed."""
    try:
        with contextlib.suppress(FileExistsError):
            return _create_private(path)
        return _open_existing(path)
    except OSError as error:
        raise SchemaProblem(f"{path} cannot be opened: {error.strerror}") from error


def _open_existing(path: Path) -> int:
    """Open for writing, because NFS needs that for an exclusive lock; otherwise for reading."""
    others = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, os.O_RDWR | others)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
    return os.open(path, os.O_RDONLY | others)


def _create_private(path: Path) -> int:
    """Create a file that only its owner can read, and never reuse an existing one.

    A file created by root gets the owner of the folder: otherwise a command run by root would lock out the
    user of the services.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        folder = path.parent.stat()
        os.fchown(file, folder.st_uid, folder.st_gid)
    return file


def _holders(lock: Path) -> str:
    """Return the processes that hold the lock, as far as /proc shows them."""
    found = lock.stat()
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    pids = set()
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if "->" not in words and device in words and words[1] == "FLOCK":
                pids.add(int(words[4]))
    named = [f"process {pid}{_command(pid)}" for pid in sorted(pids - {os.getpid()}) if pid > 0]
    return ", ".join(named) or "another facho process (facho up, engine, web or demo)"


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    # Only the name of the command: its arguments may be secret.
    named = [after for word, after in pairwise(words) if _is_facho(word)]
    return f" (facho {named[0]})" if named else ""


def _is_facho(word: str) -> bool:
    return Path(word).name == "facho" or word.endswith("facho/__main__.py")


@contextmanager
def change_tables_with_copy(schema: Schema, say: Say, *, copy: bool = True) -> Iterator[None]:
    """Allow changes of tables inside, after a copy. Errors say how to restore the copy."""
    database, interrupted = database_file(), _find_interrupted(schema)
    if interrupted is not None:
        kept = interrupted
        say(f"A change of the database was interrupted and goes on now.{copy_sentence(kept)}")
    elif copy and not schema.empty:
        kept = _copy(database)
        say(f"The database is changed for facho {__version__}. It is kept as it was in {kept}")
    else:
        kept = Path()
    _write_progress(kept, schema)
    try:
        yield
    except (DatabaseError, sqlite3.Error, KeyProblem) as error:
        raise SchemaProblem(
            f"the change of the database stopped: {error}. {restore_instructions(kept, database)}"
        ) from error
    except Exception:
        # A bug keeps its traceback; the person still needs to know where the copy is.
        say(f"The change of the database stopped. {restore_instructions(kept, database)}")
        raise
    _progress_file().unlink(missing_ok=True)
    _drop_old_copies(database, kept)


def copy_sentence(kept: Path) -> str:
    return f" The database as it was before is {kept}" if kept.is_file() else ""


def restore_instructions(kept: Path, database: Path) -> str:
    others = f"{database}-wal and {database}-shm"
    if kept.is_file():
        return (
            f"To go back: stop facho, remove {others}, copy {kept} over {database}, and start the earlier "
            "version"
        )
    return f"If it was new: remove {database}, {others}, and start again. Otherwise put back your own copy"


def _copy(database: Path) -> Path:
    folder = database.with_name("copies")
    _make_folder(folder)
    needed, free = _ROOM * sqlite_bytes(database), shutil.disk_usage(folder).free
    if needed > free:
        raise SchemaProblem(
            "the database has to be changed for this version, and there is no room for a copy of it first: "
            f"{needed / 10**6:.0f} MB are needed in {folder} and {free / 10**6:.0f} MB are free. Make room, "
            "or copy it elsewhere and run facho migrate --without-copy"
        )
    at = datetime.now(UTC)
    path = folder / f"{database.stem}-{at:%Y%m%dT%H%M%SZ}-before-{__version__}.db"
    unfinished = path.with_suffix(".unfinished")
    try:
        _back_up(unfinished)
        unfinished.rename(path)
    except (OSError, sqlite3.Error, DatabaseError) as error:
        unfinished.unlink(missing_ok=True)
        raise SchemaProblem(f"no copy of the database can be written to {path}: {error}") from error
    return path


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    if os.geteuid() == 0:
        above = folder.parent.stat()
        os.chown(folder, above.st_uid, above.st_gid, follow_symlinks=False)


def _back_up(path: Path) -> None:
    """Copy by SQLite's backup: a plain copy of the file would miss the write-ahead log."""
    path.unlink(missing_ok=True)
    os.close(_create_private(path))
    connection.ensure_connection()
    target = sqlite3.connect(path)
    try:
        connection.connection.backup(target)
    finally:
        target.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _drop_old_copies(database: Path, newest: Path) -> None:
    """Delete old copies, but never the one just made."""
    name = re.compile(rf"{re.escape(database.stem)}-\d{{8}}T\d{{6}}Z-before-.+\.db")
    # Sorted by the time in their names. The clock may have been set back since.
    copies = sorted(path for path in database.with_name("copies").glob("*.db") if name.fullmatch(path.name))
    others = [path for path in copies if path != newest]
    room = _COPIES_KEPT - (newest in copies)
    for path in others[:-room]:
        path.unlink()


def _progress_file() -> Path:
    """Return the path of the file that exists while tables are changed and names the copy."""
    database = database_file()
    return database.with_name(f"{database.name}.changing")


def _write_progress(kept: Path, schema: Schema) -> None:
    _progress_file().unlink(missing_ok=True)
    with os.fdopen(_create_private(_progress_file()), "w") as file:
        json.dump({"copy": str(kept), "missing": schema.missing}, file)


def _find_interrupted(schema: Schema) -> Path | None:
    """Return the copy from before a migration that was interrupted after some of its steps.

    If all of its steps are missing, it made none, or the copy was restored and used since. If none is
    missing, it was killed after the last one. A newer program has more missing steps.
    """
    try:
        found = json.loads(_progress_file().read_text())
        steps, missing = set(found["missing"]), set(schema.missing)
        return Path(found["copy"]) if steps - missing and steps & missing else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        # The process was killed while it wrote the file: nothing was changed yet.
        return None
