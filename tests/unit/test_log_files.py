"""Log files: whole lines of several processes, rotated without a loss, and a loss that is told."""

from __future__ import annotations

import errno
import logging
import multiprocessing
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from facho import logs, masking
from facho.config import Config
from facho.log_files import LineFile, LostLines, one_line

NOW = datetime(2025, 6, 10, 3, 10, tzinfo=UTC)


def line_file(path: Path, largest: int = 1000, backups: int = 5) -> LineFile:
    return LineFile(path, largest=largest, backups=backups)


def all_lines(path: Path) -> list[str]:
    """Who opens a file while another one writes may find it in the middle of a line, and begin a new one."""
    texts = (file.read_text("utf-8") for file in path.parent.glob("*.log*"))
    return [line for text in texts for line in text.splitlines() if line]


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\x85b", "a\u2028b", "a\x1b[2Jb", "a\x00b", "a\udcffb"])
def test_a_value_never_breaks_a_line(text: str) -> None:
    assert len(one_line(text).splitlines()) == 1
    assert one_line(text).isprintable()


def test_the_folder_is_made_when_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "coordinator" / "main.log"
    line_file(path).write("añadida", NOW)
    assert path.read_text("utf-8") == "añadida\n"


def test_it_is_rotated_before_it_becomes_too_long_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    file = line_file(path, largest=20, backups=2)
    for number in range(8):
        file.write(f"line {number}", NOW)
    found = {each.name: each.read_text().split("\n")[:-1] for each in tmp_path.glob("a.log*")}
    assert found == {
        "a.log": ["line 6", "line 7"],
        "a.log.1": ["line 4", "line 5"],
        "a.log.2": ["line 2", "line 3"],
    }


def test_what_another_one_rotated_is_not_written_to_any_more(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    mine, other = line_file(path, largest=20), line_file(path, largest=20)
    mine.write("mine 1", NOW)
    for number in range(2):
        other.write(f"other {number}", NOW)
    mine.write("mine 2", NOW)
    assert path.read_text() == "other 1\nmine 2\n"
    assert (tmp_path / "a.log.1").read_text() == "mine 1\nother 0\n"


def test_a_file_that_a_person_removed_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "a.log"
    file = line_file(path)
    file.write("1", NOW)
    path.unlink()
    path.parent.rmdir()
    file.write("2", NOW)
    assert path.read_text() == "2\n"


def test_who_hangs_while_it_rotates_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    file = line_file(path, largest=10)
    with line_file(path)._rotation_lock():
        for number in range(5):
            file.write(f"line {number}", NOW)
    assert len(path.read_text().splitlines()) == 5
    file.write("line 5", NOW)
    assert path.read_text() == "line 5\n"


def _write_many(path: Path, who: int) -> None:
    file = line_file(path, largest=5000, backups=100)
    for number in range(200):
        file.write(f"{who}:{number}:" + "x" * 50, NOW)


def test_processes_and_threads_lose_nothing_while_all_of_them_rotate(tmp_path: Path) -> None:
    path, context = tmp_path / "a.log", multiprocessing.get_context("fork")
    processes = [context.Process(target=_write_many, args=(path, who)) for who in (1, 2)]
    for process in processes:
        process.start()
    threads = [threading.Thread(target=_write_many, args=(path, who)) for who in (3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for process in processes:
        process.join()
    expected = sorted(f"{who}:{number}:" + "x" * 50 for who in (1, 2, 3, 4) for number in range(200))
    assert sorted(all_lines(path)) == expected
    # How often depends on who is paused while it rotates: the others go on writing to the full file.
    assert (tmp_path / "a.log.1").exists()
    line_file(path, largest=5000, backups=100).write("x" * 50, NOW)
    assert path.stat().st_size <= 5000


def test_a_full_disk_raises_nothing_and_is_told_when_there_is_room_again(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.symlink_to("/dev/full")
    file = line_file(path)
    for minute in range(3):
        assert file.write("gone", NOW + timedelta(minutes=minute)) is None
    assert file.losses.lines == 3
    path.unlink()
    assert file.write("here", NOW) == LostLines(3, NOW, NOW + timedelta(minutes=2))
    assert file.write("here", NOW) is None
    assert (path.read_text(), file.losses.lines) == ("here\nhere\n", 0)


def test_a_line_that_was_cut_by_a_full_disk_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "a.log", os.write
    file = line_file(path)
    file.write("before", NOW)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: write(file, data[:3]))
        file.write("cut off", NOW)
    assert file.losses.lines == 1
    file.write("after", NOW)
    assert path.read_text() == "before\ncut\nafter\n"


def test_a_folder_that_cannot_be_written_is_lost_lines_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    file = line_file(tmp_path / "logs" / "a.log")
    assert file.write("gone", NOW) is None
    assert file.losses.lines == 1
    with pytest.raises(OSError, match="exists"):
        file.open()


def test_where_nothing_can_be_renamed_the_file_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(os, "replace", refuse)
    file = line_file(tmp_path / "a.log", largest=5)
    for number in range(3):
        file.write(f"line {number}", NOW)
    assert (tmp_path / "a.log").read_text() == "line 0\nline 1\nline 2\n"


@pytest.fixture
def handler(tmp_path: Path) -> logs.FileHandler:
    handler = logs.FileHandler(line_file(tmp_path / "engine.log"))
    handler.setFormatter(logs.Formatter(replace(Config(), home=tmp_path)))
    return handler


def record(message: str, **about: object) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "facho", "levelname": "ERROR", "msg": message, **about})


def test_a_traceback_and_what_a_line_is_about_have_no_secret(
    tmp_path: Path, handler: logs.FileHandler
) -> None:
    masking.add_secrets("secret-of-test-log-files")
    try:
        raise ValueError("refused: secret-of-test-log-files")
    except ValueError as error:
        failed = (type(error), error, error.__traceback__)
    handler.emit(record("bug", exc_info=failed, error="with secret-of-test-log-files\nand another line"))
    text = (tmp_path / "engine.log").read_text()
    assert "secret-of-test-log-files" not in text
    assert "ValueError: refused: ***" in text
    assert "(error=with ***\\nand another line)" in text.splitlines()[0]


def test_a_process_tells_in_its_own_log_what_that_lost(tmp_path: Path, handler: logs.FileHandler) -> None:
    path = tmp_path / "engine.log"
    path.symlink_to("/dev/full")
    for _ in range(4):
        handler.emit(record("gone"))
    path.unlink()
    handler.emit(record("here"))
    here, told = path.read_text().splitlines()
    assert here.endswith("facho: here")
    assert "log lines lost (action=LOG_LOST lines=4" in told
    handler.close()


def test_a_process_whose_log_cannot_be_opened_says_so_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    monkeypatch.setattr(logging, "raiseExceptions", True)
    (tmp_path / "logs").write_text("a file where the folder should be")
    logs.set_up("engine", replace(Config(), home=tmp_path))
    assert "Warning: no log can be written" in capsys.readouterr().err
    (tmp_path / "logs").unlink()
    logging.getLogger("facho.test").info("here")
    assert "facho.test: here" in (tmp_path / "logs" / "engine.log").read_text()
    for handler in root.handlers:
        handler.close()
