"""What facho makes is for its user alone, whatever the umask that it is started with."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path


def run_with_open_umask(home: Path, *argv: str) -> str:
    environment = {**os.environ, "FACHO_HOME": str(home)}
    environment.pop("FACHO_DATABASE_URL", None)
    done = subprocess.run(
        [sys.executable, *argv], capture_output=True, text=True, env=environment, umask=0o022, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_home_and_the_database_are_private_and_a_file_that_was_asked_for_is_as_the_person_has_it(
    tmp_path: Path,
) -> None:
    home, asked = tmp_path / "home", tmp_path / "olts.csv"
    run_with_open_umask(home, "-m", "facho", "export", "olts", "-o", str(asked))
    made = {path.name: mode(path) for path in home.rglob("*")}
    assert "facho.db" in made
    assert {name: each for name, each in made.items() if each & 0o077} == {}
    assert (mode(home), mode(asked)) == (0o700, 0o644)


def test_a_worker_that_celery_starts_makes_private_files(tmp_path: Path) -> None:
    program = "import os, facho.celery; print(oct(os.umask(0)))"
    assert run_with_open_umask(tmp_path / "home", "-c", program) == "0o77\n"


def test_a_server_of_the_pages_that_a_person_starts_makes_private_files(tmp_path: Path) -> None:
    program = "import os, facho.settings; print(oct(os.umask(0)))"
    home = tmp_path / "home"
    assert run_with_open_umask(home, "-c", program) == "0o77\n"
    assert mode(home) == 0o700
