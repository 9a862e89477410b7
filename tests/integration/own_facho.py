"""A facho of the test's own: its home, its database, and the command as a person runs it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.services import pattern, warm


@dataclass(frozen=True, slots=True)
class OwnFacho:
    home: Path
    settings: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        ours = {**os.environ, "FACHO_HOME": str(self.home), **self.settings, **environment}
        return warm.run(words, given=given, env=ours)

    def told(self, *words: str, **environment: str) -> Any:
        """The JSON of a command that succeeds."""
        done = self.run(*words, "--json", **environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def does(self, *words: str, **environment: str) -> str:
        done = self.run(*words, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refuses(self, *words: str, **environment: str) -> str:
        """The sentence of bad use: one line, on standard error, and nothing on standard output."""
        done = self.run(*words, **environment)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        return line

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Straight from the database file: what is there, whatever a command says."""
        database = sqlite3.connect(self.home / "facho.db", timeout=60)
        with database:
            found = database.execute(statement, values).fetchall()
        database.close()
        return found


def new_facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    """With its tables already there."""
    home = tmp_path_factory.mktemp("facho") / "home"
    shutil.copytree(pattern.home(), home)
    return OwnFacho(home)
