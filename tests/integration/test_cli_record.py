"""`facho record` as a person sees it, against simulated OLTs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from facho.cli.device_read import read_recording
from facho.cli.record import app
from facho.sim import snmprec
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from facho.snmp.values import Counter32, Counter64
from facho.vendors import Decoder, Facts, State, builtin
from tests.integration.own_facho import new_facho
from tests.waiting import PATIENCE_S, wait_until

ONUS = 30
QUICK = ("--timeout", "0.3", "--retries", "0")


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=2, onus=ONUS, family="mixed")) as fleet:
        yield fleet


@pytest.fixture
def scenario(fleet: FleetProcess) -> Iterator[FleetProcess]:
    """For tests in which the first OLT misbehaves."""
    yield fleet
    fleet.set_scenario(Scenario(), 0)


def address_of(fleet: FleetProcess, number: int = 0) -> str:
    host, port = fleet.addresses[number]
    return f"{host}:{port}"


def record(*words: str) -> Result:
    """In this process: a device that is not stored needs no more."""
    return CliRunner().invoke(app, list(map(str, words)))


def onus_in(file: Path) -> Facts:
    asked = read_recording(file, builtin(), None)
    return Decoder(asked.profile).decode(asked.rows).onus


def told(onus: Facts) -> list[dict[str, object]]:
    """States and numbers, without the counters, which go on between two recordings."""
    return [
        {
            fact: value
            for fact, value in onus.row(number).items()
            if isinstance(value, State | int | float) and not isinstance(value, Counter32 | Counter64)
        }
        for number in range(len(onus))
    ]


@pytest.mark.parametrize("number", [0, 1], ids=["huawei", "zte"])
def test_what_is_recorded_is_recognised_and_read_and_masked_it_says_the_same_of_others(
    fleet: FleetProcess, tmp_path: Path, number: int
) -> None:
    plain, masked = tmp_path / "plain.snmprec", tmp_path / "masked.snmprec"
    done = record(address_of(fleet, number), "-o", str(plain), "--json")
    said: dict[str, Any] = json.loads(done.stdout)
    assert (done.exit_code, said["complete"], said["masked"]) == (0, True, False)
    assert said["values"] == len(snmprec.read(plain))
    assert plain.read_text() == "".join(f"{snmprec.line_of(each)}\n" for each in snmprec.read(plain))
    assert record(address_of(fleet, number), "-o", str(masked), "--mask").exit_code == 0
    before, after = onus_in(plain), onus_in(masked)
    assert (len(before), told(after)) == (ONUS, told(before))
    assert any(value is not None for value in before.columns["onu_rx_dbm"])
    assert not {*before.columns["serial"]} & {*after.columns["serial"]}
    secrets = {str(value) for fact in ("serial", "description") for value in before.columns[fact] if value}
    assert [secret for secret in secrets if secret in masked.read_text()] == []
    assert plain.stat().st_mode & 0o077 == 0


def test_only_some_onus_are_asked_for_what_the_olt_must_ask_them_for(
    fleet: FleetProcess, tmp_path: Path
) -> None:
    file = tmp_path / "few.snmprec"
    done = record(address_of(fleet), "-o", str(file), "--onus", "3")
    assert "Asked 3 of the" in done.stdout
    assert sum(value is not None for value in onus_in(file).columns["onu_rx_dbm"]) == 3


def test_a_tree_is_walked_without_what_is_never_read(fleet: FleetProcess, tmp_path: Path) -> None:
    file = tmp_path / "tree.snmprec"
    passwords = "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.4"
    done = record(address_of(fleet), "-o", str(file), "--tree", "1.3.6.1.4.1.2011.6.128.1.1.2.43")
    assert (done.exit_code, f"Left out: {passwords} (passwords of the ONUs)." in done.stderr) == (0, True)
    assert "may hold passwords" in done.stderr
    lines = file.read_text().splitlines()
    assert not [line for line in lines if line.startswith(f"{passwords}.")]
    assert lines[0].startswith("1.3.6.1.2.1.1.1.0|4|Huawei")
    assert sum(".2.43.1.3." in line for line in lines) == ONUS
    refused = record(address_of(fleet), "-o", str(tmp_path / "no"), "--tree", passwords)
    assert (refused.exit_code, "is never read (passwords of the ONUs)" in refused.stderr) == (2, True)


def test_what_came_before_a_silence_is_kept_and_said_to_be_not_complete(
    scenario: FleetProcess, tmp_path: Path
) -> None:
    scenario.set_scenario(Scenario(silent_rows=(20,), columns=("description",)), 0)
    file = tmp_path / "part.snmprec"
    done = record(address_of(scenario), "-o", str(file), "--timeout", "5", "--retries", "0")
    assert done.exit_code == 5
    assert done.stderr.splitlines()[-1].startswith("Not complete: ")
    assert "stays silent after row" in done.stderr
    assert len(onus_in(file)) == ONUS


def test_a_device_that_says_nothing_leaves_no_file(scenario: FleetProcess, tmp_path: Path) -> None:
    scenario.set_scenario(Scenario(silent=True), 0)
    done = record(address_of(scenario), "-o", str(tmp_path / "none.snmprec"), *QUICK)
    assert (done.exit_code, "Error: " in done.stderr) == (3, True)
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_overwritten_unless_asked_to(fleet: FleetProcess, tmp_path: Path) -> None:
    file = tmp_path / "kept.snmprec"
    file.write_text("mine")
    before = fleet.report().total.requests
    done = record(address_of(fleet), "-o", str(file))
    assert (done.exit_code, "exists" in done.stderr, file.read_text()) == (2, True, "mine")
    nowhere = record(address_of(fleet), "-o", str(tmp_path / "no" / "file"))
    assert (nowhere.exit_code, "cannot be written" in nowhere.stderr) == (2, True)
    assert fleet.report().total.requests == before
    assert record(address_of(fleet), "-o", str(file), "--force", "--tree", "1.3.6.1.2.1.1").exit_code == 0
    assert file.read_text().startswith("1.3.6.1.2.1.1.1.0|4|Huawei")


def test_a_stored_olt_is_recorded_when_its_turn_has_come(
    fleet: FleetProcess, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    facho, file = new_facho(tmp_path_factory), tmp_path / "stored.snmprec"
    facho.does("olt", "add", "norte", address_of(fleet), "--community", "public")
    facho.rows(BUSY, "RUNNING")
    before = fleet.report().total.requests
    words = [sys.executable, "-m", "facho", "record", "norte", "-o", str(file), "--mask"]
    environment = {**os.environ, "FACHO_HOME": str(facho.home), **facho.settings}
    recording = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: facho.rows("SELECT 1 FROM snmp_executions WHERE state = 'WAITING'") != [])
    assert fleet.report().total.requests == before
    facho.rows("UPDATE snmp_executions SET state = 'SUCCESS' WHERE state = 'RUNNING'")
    _, errors = recording.communicate(timeout=PATIENCE_S)
    assert (recording.returncode, errors) == (0, "")
    assert len(onus_in(file)) == ONUS
    ((state, parts),) = facho.rows("SELECT state, parts FROM snmp_executions ORDER BY id DESC LIMIT 1")
    (part,) = json.loads(parts)
    assert (state, part["job"], part["rows"]) == ("SUCCESS", "record", len(snmprec.read(file)))
    assert fleet.report().total.overlaps == 0
    assert facho.rows("SELECT COUNT(*) FROM onu_data") == [(0,)]


BUSY = (
    "INSERT INTO snmp_executions (olt_id, state, trigger, run_now, slot, not_before, queued_at, why_late,"
    " attempt, parts, counts, load, result, owes, error, worker, lease_token)"
    " SELECT id, ?, 'schedule', 0, '2026-01-01', '2026-01-01', '2026-01-01', '', 1, '[]', '{}', '{}', '{}',"
    " '[]', '', 'somebody', '' FROM olts"
)
