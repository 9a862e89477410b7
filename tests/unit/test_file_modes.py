"""Files of facho are for its user alone: what was left open is closed, and what is not ours is left alone."""

from __future__ import annotations

import logging
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from facho import logs
from facho.cli.doctor.machine import check_file_modes
from facho.config import Config
from facho.file_modes import is_shared_folder, paths_open_to_others, repair_modes
from facho.log_files import LineFile

FILES = (
    *("facho.db", "facho.db-wal", "facho.db-shm", "credentials.keys", "secret.key", "facho.env"),
    *("logs/web.log", "logs/web.log.1", "logs/coordinator/main.log", "logs/.web.log.lock"),
)
FOLDERS = (".", "logs", "logs/coordinator")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """As an older version left it."""
    home = tmp_path / "home"
    (home / "logs" / "coordinator").mkdir(parents=True)
    for name in FILES:
        (home / name).touch()
        (home / name).chmod(0o644)
    for name in FOLDERS:
        (home / name).chmod(0o755)
    return Config(home=home)


def modes(home: Path) -> dict[str, int]:
    return {name: stat.S_IMODE((home / name).stat().st_mode) for name in (*FILES, *FOLDERS)}


def test_what_others_can_read_is_closed_and_told(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    assert {str(path.relative_to(config.home)) for path, _mode in paths_open_to_others(config)} == {
        *FILES,
        *FOLDERS,
    }
    repair_modes(config)
    assert modes(config.home) == dict.fromkeys(FILES, 0o600) | dict.fromkeys(FOLDERS, 0o700)
    told = [record.__dict__ for record in caplog.records]
    assert [each["action"] for each in told] == ["mode_repaired"] * len(FILES + FOLDERS)
    assert (told[0]["path"], told[0]["mode"]) == (config.home, "0755")
    caplog.clear()
    repair_modes(config)
    assert (paths_open_to_others(config), caplog.records) == ([], [])


def test_a_process_does_it_when_its_log_begins(config: Config) -> None:
    root = logging.getLogger()
    before, level, raising = list(root.handlers), root.level, logging.raiseExceptions
    try:
        logs.set_up("engine", config)
        assert paths_open_to_others(config) == []
        assert "mode_repaired" in (config.home / "logs" / "engine.log").read_text()
    finally:
        for handler in list(root.handlers):
            root.removeHandler(handler)
            handler.close()
        for handler in before:
            root.addHandler(handler)
        root.setLevel(level)
        logging.raiseExceptions = raising


def test_a_database_elsewhere_is_closed_and_its_folder_left_alone(config: Config, tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir(mode=0o755)
    (elsewhere / "my.db").touch(mode=0o644)
    (elsewhere / "my.db").chmod(0o644)
    elsewhere.chmod(0o755)
    repair_modes(replace(config, database_url=f"sqlite:///{elsewhere}/my.db".replace(" ", "%20")))
    assert stat.S_IMODE((elsewhere / "my.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755


def test_files_of_others_are_left_alone(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    before = modes(config.home)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    repair_modes(config)
    assert modes(config.home) == before
    assert len(paths_open_to_others(config)) == len(before)
    # Of root's, and for the group of facho.
    (config.home / "facho.env").chmod(0o640)
    assert config.home / "facho.env" not in dict(paths_open_to_others(config))


def test_a_link_is_not_followed(config: Config, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    other.chmod(0o644)
    (config.logs / "link.log").symlink_to(other)
    repair_modes(config)
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


def test_a_folder_that_everybody_uses_stays_open(config: Config) -> None:
    config.home.chmod(0o1777)
    repair_modes(config)
    assert modes(config.home)["."] == 0o1777
    assert modes(config.home)["facho.db"] == 0o600


def test_the_folder_of_a_person_stays_open(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(config.home))
    repair_modes(config)
    assert modes(config.home)["."] == 0o755


def test_modes_are_repaired_for_a_user_without_a_home(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    assert not is_shared_folder(config.home)


def test_the_doctor_says_to_move_out_of_a_folder_that_others_need(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advice() -> dict[str, str]:
        """By the first path that a finding names."""
        return {finding.told.split()[0]: finding.do for finding in check_file_modes(config)}

    home, keys = str(config.home), str(config.home / "credentials.keys")
    assert "chmod go=" in advice()[home]
    with monkeypatch.context() as at_home:
        at_home.setenv("HOME", home)
        assert advice()[home].startswith("move FACHO_HOME to a folder of its own")
    config.home.chmod(0o1777)
    assert advice()[home].startswith("move FACHO_HOME to a folder of its own")
    # What is in it is closed at the next start.
    assert "chmod go=" in advice()[keys]
    assert "chmod go=" in advice()[str(config.logs)]


def test_a_log_is_made_for_its_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = LineFile(tmp_path / "web.log", largest=1000, backups=1)
        file.open()
        file.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "web.log").stat().st_mode) == 0o600
