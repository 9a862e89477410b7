"""Log files that several processes of a machine write; the process that finds a file full rotates it.

A log that cannot be written never stops the work: lost lines are counted, and reported when it works again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

# Characters that would end a line, hide a part of it, or cannot be encoded in UTF-8.
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def one_line(text: str) -> str:
    """Escape line ends and control characters."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


@dataclass(frozen=True, slots=True)
class LostLines:
    """The number of lines that could not be written, and the times of the first and the last."""

    lines: int
    since: datetime
    until: datetime


class LossCounter:
    """Counts lines that could not be written to one file or table since it last worked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lost: LostLines | None = None

    @property
    def lines(self) -> int:
        return self._lost.lines if self._lost else 0

    def add(self, at: datetime) -> None:
        with self._lock:
            lost = self._lost
            self._lost = LostLines(1, at, at) if lost is None else LostLines(lost.lines + 1, lost.since, at)

    def take(self) -> LostLines | None:
        """Return the lost lines and start again at none; the caller reports them."""
        with self._lock:
            lost, self._lost = self._lost, None
            return lost


class LineFile:
    """A file of lines. Rotation only renames, so a process that has the old file open loses nothing."""

    def __init__(self, path: Path, *, largest: int, backups: int) -> None:
        self.path = path
        self.losses = LossCounter()
        self._largest = largest
        self._backups = backups
        self._lock = threading.Lock()
        self._file: int | None = None

    def write(self, line: str, at: datetime) -> LostLines | None:
        """Write a line; never raise. Return the lines lost before, if this is the first one after a loss."""
        try:
            with self._lock:
                self._append(f"{line}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            self.close()
            self.losses.add(at)
            return None
        return self.losses.take()

    def open(self) -> None:
        """Open the file. Raises OSError when it cannot be written."""
        with self._lock:
            self._current_file()

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _append(self, data: bytes) -> None:
        file = self._current_file()
        if os.fstat(file).st_size + len(data) > self._largest:
            self._rotate(len(data))
            file = self._current_file()
        # One call for the line, so that lines of other processes do not get into it.
        if os.write(file, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _current_file(self) -> int:
        """Return the file that has the name now: another process may have rotated it."""
        if self._file is not None:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.stat(self.path), os.fstat(self._file)):
                    return self._file
            os.close(self._file)
            self._file = None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _ends_with_newline(self._file):
            # A line was cut by a full disk or a crash.
            os.write(self._file, b"\n")
        return self._file

    def _rotate(self, coming: int) -> None:
        # If renaming fails, let the file grow.
        with contextlib.suppress(OSError), self._rotation_lock():
            if os.stat(self.path).st_size + coming <= self._largest:
                return
            for number in range(self._backups - 1, 0, -1):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(self._backup(number), self._backup(number + 1))
            os.replace(self.path, self._backup(1))

    def _backup(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    @contextmanager
    def _rotation_lock(self) -> Iterator[None]:
        """Lock the rotation. Raises OSError at once when another process has the lock, which may hang."""
        with self.path.with_name(f".{self.path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield


def _ends_with_newline(file: int) -> bool:
    size = os.fstat(file).st_size
    return size == 0 or os.pread(file, 1, size - 1) == b"\n"


def write_problem(folder: Path) -> str:
    """Return why a folder cannot be written to; empty if it can."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as problem:
        return problem.strerror or type(problem).__name__
    return ""
