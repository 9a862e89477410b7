"""The file of a lock: opened so that any file system gives the lock, and refused with a sentence."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from facho.engine.upkeep.schema import SchemaProblem
from facho.engine.upkeep.sqlite_upgrade import DatabaseLock, open_lock


@contextmanager
def opened(path: Path) -> Iterator[int]:
    file = open_lock(path)
    try:
        yield fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE
    finally:
        os.close(file)


def refuse_writing(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    real = os.open

    def open_file(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_ACCMODE == os.O_RDWR and not flags & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", open_file)


def test_it_is_opened_for_writing_the_first_time_and_later(tmp_path: Path) -> None:
    """NFS gives an exclusive lock to nobody else."""
    path = tmp_path / "facho.db.lock"
    before = os.umask(0o022)
    try:
        for _ in range(2):
            with opened(path) as access:
                assert access == os.O_RDWR
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_who_may_only_read_it_can_lock_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "facho.db.lock"
    path.touch()
    refuse_writing(monkeypatch, number)
    with opened(path) as access:
        assert access == os.O_RDONLY


def test_other_errors_of_opening_are_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "facho.db.lock"
    path.touch()
    refuse_writing(monkeypatch, errno.EIO)
    with pytest.raises(SchemaProblem, match=r"facho\.db\.lock cannot be opened: Input/output error"):
        open_lock(path)


@pytest.mark.parametrize("number", [errno.EBADF, errno.ENOLCK])
def test_a_file_system_without_locks_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_file: int, _how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    lock = DatabaseLock(tmp_path / "facho.db")
    try:
        with pytest.raises(SchemaProblem, match=r"facho\.db\.lock cannot be locked: .* must support locks"):
            lock.lock_exclusive()
    finally:
        lock.release()
