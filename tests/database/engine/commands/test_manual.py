"""The command line on a new database: SQLite is made ready by itself, a server's waits for a person."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.services import warm

pytestmark = pytest.mark.one_database

PATIENCE_S = 120


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "FACHO_HOME": str(tmp_path / "home"), "FACHO_DATABASE_URL": database_url}


def facho(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return warm.run(words, env=environment)


def test_a_new_database_is_made_ready(environment: dict[str, str], database_url: str) -> None:
    if urlsplit(database_url).scheme == "postgresql":
        refused = facho(environment, "olt", "list")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.endswith("changes that this version needs: run facho migrate\n")
        examined = json.loads(facho(environment, "doctor", "--json").stdout)["findings"]
        assert (examined[-1]["what"], examined[-1]["do"]) == ("schema", "facho migrate")
        assert facho(environment, "migrate").returncode == 0
    added = facho(environment, "olt", "add", "olt-1", "10.0.0.1", "--brand", "zte", "--no-test")
    assert (added.returncode, added.stderr) == (0, "")
    assert json.loads(facho(environment, "keys", "rotate", "--json").stdout)["encrypted_again"] == 1
    (olt,) = json.loads(facho(environment, "olt", "list", "--json").stdout)
    assert (olt["name"], olt["brand"]) == ("olt-1", "zte")


def test_several_that_start_at_once_make_it_ready_once(
    environment: dict[str, str], database_url: str
) -> None:
    words = ["migrate"] if urlsplit(database_url).scheme == "postgresql" else ["olt", "list"]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "facho", *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=PATIENCE_S)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], said


def test_a_database_that_is_not_there_is_a_sentence_without_its_password(environment: dict[str, str]) -> None:
    away = {**environment, "FACHO_DATABASE_URL": "postgresql://me:very-secret@127.0.0.1:1/facho"}
    for words in (["olt", "list"], ["doctor"]):
        done = facho(away, *words)
        assert done.returncode == 1
        assert "the database cannot be used: connection failed" in done.stdout + done.stderr
        assert "very-secret" not in done.stdout + done.stderr
