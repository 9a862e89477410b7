"""`facho doctor`, `migrate`, `keys` and `onu`, and what is told when the system is not well."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.integration.own_facho import OwnFacho, new_facho
from tests.services import warm


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    return new_facho(tmp_path_factory)


def examined(facho: OwnFacho, **environment: str) -> tuple[int, dict[str, list[str]]]:
    """The exit code, and what was found by level."""
    done = facho.run("doctor", "--json", **environment)
    found: dict[str, list[str]] = {"ok": [], "warning": [], "error": []}
    for finding in json.loads(done.stdout)["findings"]:
        assert (finding["level"] == "ok") == (finding["do"] == "")
        # Whether a time service runs is for the machine of the tests to say.
        level = "ok" if finding["what"] == "clock" else finding["level"]
        found[level].append(f"{finding['what']}: {finding['told']}")
    return done.returncode, found


def engine_was_here(facho: OwnFacho, ago: float = 0) -> None:
    seen = (datetime.now(UTC) - timedelta(seconds=ago)).replace(tzinfo=None).isoformat(" ")
    turns = json.dumps({"since": datetime.now(UTC).isoformat(), "failed": {}})
    for name, value in (("scheduler", "{}"), ("coordinator", "{}"), ("retention", turns)):
        facho.rows(
            "INSERT INTO coordinator_state (name, value, updated_at) VALUES (?, ?, ?)", name, value, seen
        )
    columns = "name, pollers, queues, profiles, started_at, seen_at"
    facho.rows(f"INSERT INTO workers ({columns}) VALUES ('w', 10, '', '', ?, ?)", seen, seen)


# So that its last step is not too old when a busy machine comes to look at it.
STEPS_SELDOM: Final = {
    "FACHO_SCHEDULER_STEP": "60",
    "FACHO_COORDINATOR_STEP": "60",
    "FACHO_WORKER_SEEN_WITHIN": "600",
}


def test_all_is_well(facho: OwnFacho) -> None:
    engine_was_here(facho)
    code, found = examined(facho, **STEPS_SELDOM)
    assert (code, found["error"], found["warning"]) == (0, [], [])
    told = "\n".join(found["ok"])
    for words in (
        "settings: readable",
        "SQLite 3.",
        "schema: up to date",
        "can be decrypted",
        "files: only facho's user can read the database, the keys and the logs",
        "web: at 127.0.0.1:8000, for this machine alone",
        "\nclock: ",
        "database's clock: it agrees",
        "communities: no OLT has 'public'",
        "tokens: none ends within 14 days",
        "1 alive, with 10 pollers",
        "retention: its last run was",
        "disk: a forecast needs six hours of data (database ",
    ):
        assert words in told


def test_an_engine_that_stands_still_is_an_error(facho: OwnFacho) -> None:
    engine_was_here(facho, ago=60)
    code, found = examined(facho)
    assert code == 1
    assert [each.partition(":")[0] for each in found["error"]] == ["scheduler", "coordinator", "workers"]
    assert "facho up" in facho.run("doctor").stdout


def test_it_finds_what_is_wrong_with_olts_keys_and_executions(facho: OwnFacho) -> None:
    engine_was_here(facho)
    for number in (1, 2, 3):
        facho.does("olt", "add", f"olt-{number}", f"10.0.0.{number}", "--brand", "zte", "--no-test")
    job = ("--kind", "get", "--fact", "state", "--interval", "5m", "--olt", "olt-1")
    facho.does("job", "add", "state", *job)
    facho.does("job", "run", "state", "--olt", "olt-1")
    facho.rows("UPDATE olts SET suspended_reason = 'silent' WHERE name = 'olt-1'")
    facho.rows("UPDATE olts SET credentials = 'gAAAAAnothing' WHERE name = 'olt-2'")
    facho.rows("UPDATE snmp_executions SET state = 'RUNNING', lease_expires_at = '2020-01-01 00:00:00'")
    (facho.home / "credentials.keys").chmod(0o644)
    (facho.home / "facho.db").chmod(0o640)
    facho.home.chmod(0o755)
    code, found = examined(facho, FACHO_TLS="yes")
    assert code == 1
    told = "\n".join(found["error"])
    assert "credentials.keys can be read by others (mode 0644)" in told
    assert "facho.db can be read by others (mode 0640)" in told
    assert f"files: {facho.home} can be read by others (mode 0755)" in found["warning"]
    assert "web: FACHO_TLS is yes and FACHO_TRUSTED_PROXIES is empty" in told
    assert "communities: 2 OLTs have 'public': olt-1, olt-3" in found["warning"]
    assert "no key here decrypts those of 1: olt-2" in told
    assert "executions: stuck: 1" in told
    assert any("1 suspended: olt-1" in each for each in found["warning"])


def test_bad_settings_are_named(facho: OwnFacho) -> None:
    code, found = examined(facho, FACHO_POLLER="3", FACHO_LEASE="soon")
    assert code == 1
    assert "settings: FACHO_POLLER is not a setting of facho" in found["error"]
    assert any("FACHO_LEASE: 'soon'" in each for each in found["error"])


@pytest.mark.parametrize("command", [("olt", "list"), ("job", "list"), ("keys", "rotate"), ("migrate",)])
def test_a_system_that_is_not_well_is_a_sentence_and_exit_code_1(
    facho: OwnFacho, command: tuple[str, ...]
) -> None:
    bad = facho.run(*command, FACHO_LANGUAGE="de")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr == "Error: FACHO_LANGUAGE: 'de' is none of es, en\n"
    away = facho.run(*command, FACHO_DATABASE_URL="sqlite:////nowhere/facho.db")
    assert (away.returncode, away.stdout) == (1, "")
    assert away.stderr == "Error: the database cannot be used: unable to open database file\n"


def test_lost_keys_are_a_sentence(facho: OwnFacho) -> None:
    facho.does("olt", "add", "olt-1", "10.0.0.1", "--brand", "zte", "--no-test")
    (facho.home / "credentials.keys").unlink()
    asked = facho.run("olt", "test", "olt-1")
    assert (asked.returncode, asked.stdout) == (1, "")
    assert "encrypted with a key that is not here; put it back into" in asked.stderr
    # What needs no credentials works.
    assert [olt["name"] for olt in facho.told("olt", "list")] == ["olt-1"]


def test_a_home_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = OwnFacho(tmp_path / "file" / "home").run("olt", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be" in done.stderr
    assert "Traceback" not in done.stderr


def test_keys_are_rotated(facho: OwnFacho) -> None:
    facho.does(
        "olt", "add", "olt-1", "10.0.0.1", "--brand", "zte", "--no-test", "--community-env", "C", C="secret"
    )
    file = facho.home / "credentials.keys"
    before = file.read_text()
    told = facho.told("keys", "rotate")
    assert (told["encrypted_again"], told["unneeded_keys"], told["unreadable"]) == (1, 1, [])
    assert file.read_text() != before
    assert facho.told("olt", "show", "olt-1")["credentials"] == "community"
    keys = f"{facho.does('keys', 'new').strip()},{file.read_text().strip()}"
    assert "the others can be removed" in facho.does("keys", "rotate", FACHO_CREDENTIAL_KEYS=keys)
    first = keys.partition(",")[0]
    assert "Put a new one in front" in facho.does("keys", "rotate", FACHO_CREDENTIAL_KEYS=first)


def test_migrating_again_changes_nothing(facho: OwnFacho) -> None:
    told = facho.told("migrate")
    assert (told["migrations"], told["oids"]["created"], told["oids"]["updated"]) == ([], 0, 0)


def test_onus_are_listed(facho: OwnFacho) -> None:
    facho.does("olt", "add", "olt-1", "10.0.0.1", "--brand", "zte", "--no-test")
    assert facho.told("onu", "list") == []
    assert "There are no such ONUs" in facho.does("onu", "list", "--olt", "olt-1", "--state", "online")
    assert "OLT: there is no OLT named 'olt-2'" in facho.refuses("onu", "list", "--olt", "olt-2")
    for serial, state, presence in (("ZTEG00000001", "online", "present"), ("ZTEG00000002", "los", "absent")):
        an_onu(facho, serial, state, presence)
    (onu,) = facho.told("onu", "list")
    assert (onu["olt"], onu["interface"], onu["serial"]) == ("olt-1", "1/2:3", "ZTEG00000001")
    assert [each["serial"] for each in facho.told("onu", "list", "--absent", "--state", "los")] == [
        "ZTEG00000002"
    ]
    assert "ZTEG00000002" in facho.does("onu", "list", "--absent", "--search", "casa 0002")
    assert "1 more (--limit 0 shows all)" in facho.does("onu", "list", "--absent", "--limit", "1")


def an_onu(facho: OwnFacho, serial: str, state: str, presence: str) -> None:
    """As a collection would have left it."""
    known: dict[str, object] = {"olt_id": 1, "serial": serial, "state": state, "presence": presence}
    known |= {"description": "Casa", "slot": 1, "port": 2, "onu_id": 3}
    known |= {"first_seen": "2025-06-10 10:00:00", "last_seen": "2025-06-10 10:00:00", "missed": 0}
    columns = facho.rows("PRAGMA table_info(onu_data)")
    needed = [name for _, name, _, must, _, key in columns if must and not key]
    row = {**dict.fromkeys(needed, ""), **known}
    places = ", ".join("?" * len(row))
    facho.rows(f"INSERT INTO onu_data ({', '.join(row)}) VALUES ({places})", *row.values())


@pytest.mark.parametrize(
    "command", ["doctor", "coordinator state", "migrate", "keys rotate", "keys new", "onu list"]
)
def test_every_command_has_examples(command: str) -> None:
    done = warm.run([*command.split(), "--help"])
    assert "Examples" in done.stdout


def test_the_help_and_the_snmp_tools_do_without_django() -> None:
    program = (
        "import sys; from facho.cli import main\n"
        "try: main({words!r})\n"
        "except SystemExit: pass\n"
        "print('django' in sys.modules, file=sys.stderr)"
    )
    for words in (["--help"], ["olt", "add", "--help"], ["snmp", "get", "127.0.0.1:99999", "1.3"]):
        done = subprocess.run(
            [sys.executable, "-c", program.format(words=words)], capture_output=True, text=True
        )
        assert done.stderr.splitlines()[-1] == "False"
