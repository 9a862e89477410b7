"""Log files that several processes of a machine write, each rotated by whoever finds it full.

A log that cannot be written never stops the work: what is lost is counted, and told when it goes on.
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

# What would end a line, hide a part of it, or cannot be written in UTF-8.
_NO_TEXT: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def one_line(text: str) -> str:
    return _NO_TEXT.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


@dataclass(frozen=True, slots=True)
class LostLines:
    """Lines that could not be written: how many, and the times of the first and the last."""

    lines: int
    since: datetime
    until: datetime


class LossCounter:
    """Of one place to write to, since it last worked."""

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
        """Once: who takes it tells it."""
        with self._lock:
            lost, self._lost = self._lost, None
            return lost


class LineFile:
    """A file of lines. Rotation only renames: who has the old file open adds to that, and nothing is lost."""

    def __init__(self, path: Path, *, largest: int, backups: int) -> None:
        self.path = path
        self.losses = LossCounter()
        self._largest = largest
        self._backups = backups
        self._lock = threading.Lock()
        self._file: int | None = None

    def write(self, line: str, at: datetime) -> LostLines | None:
        """Never raises. Returns what was lost before, when this is the first line to be written again."""
        try:
            with self._lock:
                self._append(f"{line}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            self.close()
            self.losses.add(at)
            return None
        return self.losses.take()

    def open(self) -> None:
        """Raises OSError when it cannot be written."""
        with self._lock:
            self._opened()

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _append(self, data: bytes) -> None:
        file = self._opened()
        if os.fstat(file).st_size + len(data) > self._largest:
            self._rotate(len(data))
            file = self._opened()
        # In one call: that is what keeps it apart from the lines of others.
        if os.write(file, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _opened(self) -> int:
        """The file that has the name now; another process may have rotated it, or a person removed it."""
        if self._file is not None:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.stat(self.path), os.fstat(self._file)):
                    return self._file
            os.close(self._file)
            self._file = None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _ends_a_line(self._file):
            # The disk became full in the middle of it, or a machine went down.
            os.write(self._file, b"\n")
        return self._file

    def _rotate(self, coming: int) -> None:
        # Where nothing can be renamed, a file that grows is better than none.
        with contextlib.suppress(OSError), self._alone():
            if os.stat(self.path).st_size + coming <= self._largest:
                return
            for number in range(self._backups - 1, 0, -1):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(self._backup(number), self._backup(number + 1))
            os.replace(self.path, self._backup(1))

    def _backup(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Raises OSError when another process is at it: nobody waits for that, for it may hang."""
        with self.path.with_name(f".{self.path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield


def _ends_a_line(file: int) -> bool:
    size = os.fstat(file).st_size
    return size == 0 or os.pread(file, 1, size - 1) == b"\n"


def write_problem(folder: Path) -> str:
    """Why not; nothing if it can be written to."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as problem:
        return problem.strerror or type(problem).__name__
    return ""
