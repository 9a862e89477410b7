"""No change without a copy, and the last copies are kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from facho.engine.upkeep import sqlite_upgrade
from facho.engine.upkeep.schema import Schema, SchemaProblem
from facho.engine.upkeep.sqlite_upgrade import change_tables_with_copy
from facho.keys import KeyProblem


def test_a_full_disk_is_a_sentence_and_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "facho.db"
    database.write_bytes(b"x" * 3_000_000)
    monkeypatch.setattr(sqlite_upgrade, "database_file", lambda: database)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=5_000_000))
    schema = Schema(missing=("hosts.0006_x",))
    entered: list[int] = []
    with (
        pytest.raises(SchemaProblem, match=r"6 MB are needed in .* and 5 MB are free.*--without-copy"),
        change_tables_with_copy(schema, lambda _said: None),
    ):
        entered.append(1)
    assert (entered, list((tmp_path / "copies").iterdir())) == ([], [])
    with change_tables_with_copy(schema, lambda _said: None, copy=False):
        entered.append(1)
    assert entered == [1]


def put(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("")


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "facho.db"
    path.write_text("as it is")

    def copy_file(to: Path) -> None:
        to.write_text(path.read_text())

    monkeypatch.setattr(sqlite_upgrade, "database_file", lambda: path)
    monkeypatch.setattr(sqlite_upgrade, "_back_up", copy_file)
    return path


def change_once(*missing: str) -> str:
    said: list[str] = []
    with change_tables_with_copy(Schema(missing=missing), said.append):
        pass
    return said[0]


def test_copies_of_another_database_are_left_alone(database: Path) -> None:
    folder = database.with_name("copies")
    others = [f"facho-lab-{year}0101T000000Z-before-0.1.0.db" for year in range(2001, 2006)]
    put(folder, *others, *(f"facho-{year}0101T000000Z-before-0.1.0.db" for year in range(2001, 2006)))
    change_once("hosts.0006_x")
    assert all((folder / name).exists() for name in others)
    ours = sorted(path.name[:10] for path in folder.iterdir() if "lab" not in path.name)
    assert (ours[:2], len(ours)) == (["facho-2004", "facho-2005"], 3)


def test_the_copy_just_made_stays_also_when_the_clock_was_set_back(database: Path) -> None:
    folder = database.with_name("copies")
    put(folder, *(f"facho-{year}0101T000000Z-before-0.1.0.db" for year in range(2901, 2906)))
    said = change_once("hosts.0006_x")
    names = sorted(path.name for path in folder.iterdir())
    assert [name[:10] for name in names[1:]] == ["facho-2904", "facho-2905"]
    assert names[0] in said


def test_a_change_that_stopped_half_way_keeps_the_copy_from_before_it(database: Path) -> None:
    with (
        pytest.raises(SchemaProblem, match=r"stopped: the key file is gone\. To go back: stop facho"),
        change_tables_with_copy(Schema(missing=("hosts.0006_x", "hosts.0007_x")), lambda _said: None),
    ):
        raise KeyProblem("the key file is gone")
    (copy,) = database.with_name("copies").iterdir()
    database.write_text("half")
    said = change_once("hosts.0007_x")
    assert f"was interrupted and goes on now. The database as it was before is {copy}" in said
    assert copy.read_text() == "as it is"


@pytest.mark.parametrize("bug", [ValueError("no number"), OSError("no room")])
def test_a_bug_in_a_step_is_raised_as_it_is_after_it_was_said_where_the_copy_is(
    database: Path, bug: Exception
) -> None:
    said: list[str] = []
    with (
        pytest.raises(type(bug)) as raised,
        change_tables_with_copy(Schema(missing=("hosts.0006_x",)), said.append),
    ):
        raise bug
    assert raised.value is bug
    (copy,) = database.with_name("copies").iterdir()
    assert f"The change of the database stopped. To go back: stop facho, remove {database}-wal" in said[-1]
    assert f"copy {copy} over {database}" in said[-1]
    assert database.with_name("facho.db.changing").exists()


def test_a_newer_version_after_a_change_that_stopped_half_way_keeps_the_copy_too(database: Path) -> None:
    with (
        pytest.raises(SchemaProblem),
        change_tables_with_copy(Schema(missing=("hosts.0006_x", "hosts.0007_x")), lambda _said: None),
    ):
        raise KeyProblem("the key file is gone")
    (copy,) = database.with_name("copies").iterdir()
    database.write_text("half")
    said = change_once("hosts.0007_x", "hosts.0008_x")
    assert f"The database as it was before is {copy}" in said
    assert [path.read_text() for path in database.with_name("copies").iterdir()] == ["as it is"]


def test_a_change_of_which_no_step_is_left_has_a_new_copy(database: Path) -> None:
    """Its database was put back as it was, and used since."""
    folder, missing = database.with_name("copies"), ("hosts.0006_x", "hosts.0007_x")
    put(folder, "facho-20010101T000000Z-before-0.1.0.db")
    stale = folder / "facho-20010101T000000Z-before-0.1.0.db"
    mark = database.with_name("facho.db.changing")
    mark.write_text(json.dumps({"copy": str(stale), "missing": missing}))
    said = change_once(*missing)
    assert str(stale) not in said
    assert [path.read_text() for path in folder.iterdir() if path != stale] == ["as it is"]
