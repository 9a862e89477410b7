"""A database of another version: refused when it is newer, copied before it is changed when it is older."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.own_facho import OwnFacho, new_facho
from tests.older_schema import APP, FORGOTTEN, LAST
from tests.waiting import wait_until

MISSING = [f"{APP}.{name}" for name in FORGOTTEN]


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    return new_facho(tmp_path_factory)


def make_newer(facho: OwnFacho, version: str = "9.1.0") -> None:
    insert = "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2030-01-01')"
    facho.rows(insert, "hosts", "0099_from_the_future")
    facho.rows("DELETE FROM coordinator_state WHERE name = 'schema'")
    state = "INSERT INTO coordinator_state (name, value, updated_at) VALUES ('schema', ?, '2030-01-01')"
    facho.rows(state, f'{{"version": "{version}"}}')


def make_older(facho: OwnFacho) -> None:
    facho.rows("DELETE FROM django_migrations WHERE app = ? AND name IN (?, ?)", APP, *FORGOTTEN)


def is_older(facho: OwnFacho) -> bool:
    return not facho.rows("SELECT 1 FROM django_migrations WHERE app = ? AND name = ?", APP, LAST)


def copies(facho: OwnFacho) -> list[Path]:
    return sorted((facho.home / "copies").glob("*")) if (facho.home / "copies").exists() else []


@contextmanager
def used_by_another(facho: OwnFacho) -> Iterator[None]:
    file = os.open(facho.home / "facho.db.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield
    finally:
        os.close(file)


def is_used(facho: OwnFacho) -> bool:
    file = os.open(facho.home / "facho.db.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


@pytest.mark.parametrize(
    "words",
    [
        ("olt", "list"),
        ("olt", "add", "x", "10.0.0.1", "--brand", "zte", "--no-test"),
        ("migrate",),
        ("up", "--address", "127.0.0.1:0"),
        ("engine",),
        ("web", "--address", "127.0.0.1:0"),
        ("keys", "rotate"),
        ("retention", "show"),
    ],
    ids=" ".join,
)
def test_an_older_program_refuses_a_newer_database(facho: OwnFacho, words: tuple[str, ...]) -> None:
    make_newer(facho)
    done = facho.run(*words)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "changed by facho 9.1.0 (hosts.0099_from_the_future)" in line
    assert not facho.rows("SELECT 1 FROM olts")
    assert not copies(facho)


def test_the_doctor_says_so_too(facho: OwnFacho) -> None:
    make_newer(facho)
    done = facho.run("doctor")
    assert done.returncode == 1
    assert "schema: the database was changed by facho 9.1.0" in done.stdout


def import_web(facho: OwnFacho) -> subprocess.CompletedProcess[str]:
    """As a server does that is not started by `facho web`."""
    ours = {**os.environ, "FACHO_HOME": str(facho.home), "DJANGO_SETTINGS_MODULE": "facho.settings"}
    return subprocess.run(
        [sys.executable, "-c", "import facho.asgi"], env=ours, capture_output=True, text=True, timeout=120
    )


def test_the_web_refuses_it_under_any_server(facho: OwnFacho) -> None:
    make_newer(facho)
    done = import_web(facho)
    assert done.returncode == 1
    assert "changed by facho 9.1.0" in done.stderr


def test_the_web_does_not_serve_when_its_database_cannot_be_looked_at(facho: OwnFacho) -> None:
    (facho.home / "facho.db").write_text("no database " * 100)
    done = import_web(facho)
    assert done.returncode == 1
    assert "file is not a database" in done.stderr.splitlines()[-1]


def test_the_web_refuses_settings_that_contradict_each_other_under_any_server(facho: OwnFacho) -> None:
    (facho.home / "facho.env").write_text("FACHO_TLS=yes\n")
    told = facho.run("web", "--address", "127.0.0.1:0").stderr
    assert "FACHO_TRUSTED_PROXIES is empty" in told
    done = import_web(facho)
    assert (done.returncode, done.stderr) == (1, told)


def test_the_web_closes_files_that_are_open_to_others_under_any_server(facho: OwnFacho) -> None:
    database = facho.home / "facho.db"
    database.chmod(0o644)
    done = import_web(facho)
    assert done.returncode == 0, done.stderr
    assert database.stat().st_mode & 0o777 == 0o600


def test_an_older_database_is_copied_before_it_is_changed(facho: OwnFacho) -> None:
    facho.does("olt", "add", "x", "10.0.0.1", "--brand", "zte", "--no-test")
    make_older(facho)
    done = facho.run("olt", "list", "--json")
    assert (done.returncode, is_older(facho)) == (0, False)
    (copy,) = copies(facho)
    assert f"kept as it was in {copy}" in done.stderr
    assert re.fullmatch(r"facho-\d{8}T\d{6}Z-before-[\d.]+\.db", copy.name)
    assert (stat.S_IMODE(copy.stat().st_mode), stat.S_IMODE(copy.parent.stat().st_mode)) == (0o600, 0o700)
    with sqlite3.connect(copy) as database:
        assert database.execute("SELECT name FROM olts").fetchall() == [("x",)]
        assert not database.execute("SELECT 1 FROM django_migrations WHERE name = ?", [LAST]).fetchall()
    database.close()
    # The second time there is nothing to do.
    assert facho.run("olt", "list").stderr == ""
    assert copies(facho) == [copy]


def test_the_last_three_copies_are_kept(facho: OwnFacho) -> None:
    folder = facho.home / "copies"
    folder.mkdir()
    for year in range(2001, 2006):
        (folder / f"facho-{year}0101T000000Z-before-0.0.1.db").write_text("")
    (folder / "mine.db").write_text("")
    make_older(facho)
    facho.does("migrate")
    assert [copy.name[:10] for copy in copies(facho)[:2]] == ["facho-2004", "facho-2005"]
    assert len(copies(facho)) == 4


@pytest.mark.parametrize("words", [("olt", "list"), ("migrate",)], ids=" ".join)
def test_a_database_in_use_is_not_changed(facho: OwnFacho, words: tuple[str, ...]) -> None:
    make_older(facho)
    with used_by_another(facho):
        done = facho.run(*words)
    assert (done.returncode, done.stdout, is_older(facho), copies(facho)) == (1, "", True, [])
    assert f"is in use by process {os.getpid()}" in done.stderr
    assert "stop it, then run this again" in done.stderr
    assert facho.run(*words).returncode == 0
    assert not is_older(facho)


def test_an_engine_uses_its_database_until_it_is_killed(facho: OwnFacho) -> None:
    assert not is_used(facho)
    ours = {**os.environ, "FACHO_HOME": str(facho.home)}
    engine = subprocess.Popen([sys.executable, "-m", "facho", "engine"], env=ours, stderr=subprocess.DEVNULL)
    try:
        # By then it has looked at the tables: one that looks at older ones brings them up to date.
        wait_until(lambda: facho.rows("SELECT 1 FROM workers"), what="the engine is at work")
        assert is_used(facho)
        make_older(facho)
        assert f"in use by process {engine.pid} (facho engine)" in facho.run("olt", "list").stderr
        engine.send_signal(signal.SIGKILL)
        engine.wait()
        # What it said of itself last may be from a moment ago.
        facho.rows("DELETE FROM workers")
        assert facho.run("olt", "list").returncode == 0
    finally:
        engine.kill()
        engine.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_what_root_leaves_belongs_to_the_owner_of_the_folder(facho: OwnFacho) -> None:
    (facho.home / "facho.db.lock").unlink()
    os.chown(facho.home, 65534, 65534)
    make_older(facho)
    facho.does("olt", "list")
    made = [facho.home / "facho.db.lock", facho.home / "copies", *copies(facho)]
    assert {path.stat().st_uid for path in made} == {65534}


def test_a_link_in_place_of_a_file_is_not_followed(facho: OwnFacho, tmp_path: Path) -> None:
    """Root would write to, or give away, what somebody else named."""
    other = tmp_path / "other"
    other.write_text("precious")
    (facho.home / "facho.db.lock").unlink()
    (facho.home / "facho.db.lock").symlink_to(other)
    done = facho.run("olt", "list")
    assert (done.returncode, "facho.db.lock cannot be opened" in done.stderr) == (1, True)
    (facho.home / "facho.db.lock").unlink()
    (facho.home / "facho.db.changing").symlink_to(other)
    make_older(facho)
    facho.does("olt", "list")
    assert other.read_text() == "precious"


def test_commands_that_start_at_once_change_it_once(facho: OwnFacho) -> None:
    make_older(facho)
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: facho.run("olt", "list"), range(3)))
    assert [each.returncode for each in done] == [0, 0, 0], [each.stderr for each in done]
    assert len(copies(facho)) == 1
    assert len(facho.rows("SELECT 1 FROM django_migrations WHERE app = ? AND name = ?", APP, LAST)) == 1


def test_a_new_database_is_just_made(tmp_path: Path) -> None:
    facho = OwnFacho(tmp_path / "home")
    done = facho.run("olt", "list")
    assert (done.returncode, done.stderr, copies(facho)) == (0, "", [])
    assert not (facho.home / "facho.db.changing").exists()
    assert facho.rows("SELECT value FROM coordinator_state WHERE name = 'schema'")


def test_a_change_that_was_interrupted_goes_on_and_says_what_it_was_before(facho: OwnFacho) -> None:
    make_older(facho)
    kept = facho.home / "copies" / "facho-20260101T000000Z-before-0.1.0.db"
    kept.parent.mkdir()
    kept.write_text("as it was")
    mark = facho.home / "facho.db.changing"
    # It had made one of its three steps.
    missing = ["hosts.0005_x", *MISSING]
    mark.write_text(json.dumps({"copy": str(kept), "missing": missing}))
    # It had got as far as to break the table.
    facho.rows("ALTER TABLE notification_channels RENAME TO channels_half")
    done = facho.run("migrate")
    assert done.returncode == 1
    assert f"was interrupted and goes on now. The database as it was before is {kept}" in done.stderr
    assert f"copy {kept} over {facho.home / 'facho.db'}" in done.stderr
    assert mark.exists()
    facho.rows("ALTER TABLE channels_half RENAME TO notification_channels")
    facho.does("migrate")
    assert (is_older(facho), mark.exists(), kept.read_text()) == (False, False, "as it was")


def test_after_a_failed_change_was_put_back_the_next_one_has_a_copy_of_its_own(facho: OwnFacho) -> None:
    make_older(facho)
    stale = facho.home / "copies" / "facho-20260101T000000Z-before-0.1.0.db"
    stale.parent.mkdir()
    stale.write_text("as it was before it was used again")
    mark = facho.home / "facho.db.changing"
    mark.write_text(json.dumps({"copy": str(stale), "missing": MISSING}))
    done = facho.run("migrate")
    assert (done.returncode, "interrupted" in done.stderr) == (0, False)
    (_, copy) = copies(facho)
    assert f"kept as it was in {copy}" in done.stderr


def test_secrets_that_no_key_opens_are_named_before_anything_is_changed(facho: OwnFacho) -> None:
    facho.does("olt", "add", "lost", "10.0.0.1", "--brand", "zte", "--no-test")
    facho.rows("UPDATE olts SET credentials = 'gAAAAAnothing'")
    make_older(facho)
    for words in (("olt", "list"), ("migrate",)):
        done = facho.run(*words)
        assert (done.returncode, done.stdout, is_older(facho), copies(facho)) == (1, "", True, [])
        assert "no key here opens the secrets of olts/lost" in done.stderr
    facho.does("migrate", "--forget-unreadable")
    assert (is_older(facho), len(copies(facho))) == (False, 1)


def test_a_mark_of_an_earlier_change_is_no_reason_not_to_copy(facho: OwnFacho) -> None:
    make_older(facho)
    (facho.home / "facho.db.changing").write_text('{"copy": "x", "missing": ["hosts.0001_initial"]}')
    facho.does("migrate")
    assert len(copies(facho)) == 1
