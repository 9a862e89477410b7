"""`facho profile` as a person and as a script see it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from facho.cli.errors import exit_code_of
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from facho.snmp.errors import (
    AddressError,
    AgentRefused,
    CorruptAnswer,
    DeadlineExceeded,
    NoAnswer,
    SnmpError,
    TooBig,
    WrongDigest,
)
from facho.vendors import builtin
from tests.services import warm

ONUS = 100
# Of the ONUs of a Huawei; asked for when the walks are done.
OPTICS = "1.3.6.1.4.1.2011.6.128.1.1.2.51"
RECORDING = """\
1.3.6.1.2.1.1.1.0|4|Huawei Integrated Access Software
1.3.6.1.2.1.1.2.0|6|1.3.6.1.4.1.2011.2.123
1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3.4194312448.0|4x|485754431234abcd
1.3.6.1.4.1.2011.6.128.1.1.2.46.1.15.4194312448.0|2|1
1.3.6.1.4.1.2011.6.128.1.1.2.51.1.4.4194312448.0|2|-2350
1.3.6.1.4.1.2011.6.128.1.1.2.51.1.6.4194312448.0|2|999999
"""


@pytest.fixture
def recording(tmp_path: Path) -> str:
    file = tmp_path / "walk.snmprec"
    file.write_text(RECORDING)
    return str(file)


@pytest.fixture(params=["huawei", "zte"])
def fleet(request: pytest.FixtureRequest) -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(onus=ONUS, family=request.param)) as fleet:
        yield fleet


def facho_profile(*words: str) -> subprocess.CompletedProcess[str]:
    return warm.run(["profile", *words])


def tried(*words: str) -> tuple[int, dict[str, Any]]:
    done = facho_profile("try", *words, "--json")
    result: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, result


def address_of(fleet: FleetProcess) -> str:
    host, port = fleet.addresses[0]
    return f"{host}:{port}"


def test_a_device_is_recognised_and_read(fleet: FleetProcess) -> None:
    code, result = tried("--address", address_of(fleet), "--optics", "10")
    assert (code, result["complete"], result["problems"]) == (0, True, {"count": 0, "first": []})
    assert result["profile"] in ("huawei", "zte")
    assert "sysObjectID" in result["why"]
    assert len(result["onus"]) == ONUS
    assert len({onu["serial"] for onu in result["onus"]}) == ONUS
    assert {onu["technology"] for onu in result["onus"]} == {"gpon"}
    assert any(onu["state"]["is"] == "online" for onu in result["onus"])
    read = [onu for onu in result["onus"] if onu.get("onu_rx_dbm") is not None]
    # What the OLT has to ask its ONUs for is asked of few.
    assert len(read) == 10
    assert all(-27.5 < onu["onu_rx_dbm"] < -13.5 for onu in read)
    assert {onu["state"]["is"] for onu in read} == {"online"}
    assert len(result["ports"]) == 2
    assert result["boards"]
    assert result["olt"]["uptime_s"] > 0
    assert len(result["autofind"]) == 3


def test_a_brand_that_only_a_profile_knows_can_be_simulated_and_read(tmp_path: Path) -> None:
    file = tmp_path / "acme.yaml"
    file.write_text(
        """\
profile: acme
title: Acme
confidence: guess
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.7}]}
indexes: {onu: [{bits: {slot: {at: 16, width: 8}, port: {at: 8, width: 8}}}, onu]}
tables:
  onus:
    of: onu
    oid: 1.3.6.1.4.1.99999.2.1
    index: onu
    columns:
      serial: 1
      state: {column: 2, enum: {1: online, 2: offline}}
  optics:
    of: onu
    oid: 1.3.6.1.4.1.99999.3.1
    index: onu
    ask: {how: get-online, batch: 5}
    columns:
      onu_rx_dbm: {column: 1, scale: 0.1, no_value: -1}
"""
    )
    with FleetProcess(FleetConfig(onus=40, profile=file)) as fleet:
        code, result = tried(str(file), "--address", address_of(fleet))
    assert (code, result["profile"], result["why"]) == (0, "acme", "it was asked for")
    assert len(result["onus"]) == 40
    online = [onu for onu in result["onus"] if onu["state"]["is"] == "online"]
    assert all(onu["onu_rx_dbm"] < -13 for onu in online)
    assert (result["onus"][0]["slot"], result["onus"][0]["port"], result["onus"][0]["onu"]) == (1, 1, 1)


def test_a_silent_device_has_its_own_exit_of() -> None:
    with FleetProcess(FleetConfig(scenario=Scenario(silent=True))) as fleet:
        done = facho_profile("try", "--address", address_of(fleet), "--timeout", "0.1", "--retries", "0")
    assert (done.returncode, done.stdout) == (3, "")
    assert "Error: " in done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AddressError("x"), 2),
        (NoAnswer("x"), 3),
        (DeadlineExceeded("x"), 3),
        (WrongDigest("x"), 4),
        (AgentRefused("x", 16), 4),
        (CorruptAnswer("x"), 5),
        (TooBig("x"), 4),
    ],
)
def test_only_bad_use_ends_as_bad_use(error: SnmpError, code: int) -> None:
    assert exit_code_of(error) == code


def test_the_deadline_is_for_all_of_it_and_what_was_read_is_kept() -> None:
    with FleetProcess(FleetConfig(onus=ONUS, family="huawei")) as fleet, fleet.hold(0, under=OPTICS):
        words = ("--address", address_of(fleet), "--timeout", "60")
        code, result = tried(*words, "--deadline", "20", "--optics", "100")
    assert (code, result["complete"]) == (5, False)
    assert "not everything was read in 20 s" in result["reason"]
    assert len(result["onus"]) == ONUS


def test_a_device_that_does_not_say_what_it_is_before_the_deadline_gave_no_answer() -> None:
    with FleetProcess(FleetConfig(scenario=Scenario(silent=True))) as fleet:
        done = facho_profile("try", "--address", address_of(fleet), "--deadline", "0.2")
    assert (done.returncode, done.stdout) == (3, "")
    assert "not everything was read in 0.2 s" in done.stderr


def test_a_table_that_could_not_be_read_to_its_end_is_incomplete() -> None:
    with FleetProcess(FleetConfig(onus=ONUS, scenario=Scenario(generr_rows=(7,)))) as fleet:
        code, result = tried("--address", address_of(fleet))
    assert (code, result["complete"]) == (5, False)
    assert "genErr" in result["reason"]
    assert len(result["onus"]) == ONUS - 1


def test_optics_that_could_not_be_read_are_incomplete_and_it_says_of_how_many_they_were_asked() -> None:
    scenario = Scenario(generr_rows=tuple(range(0, 64, 3)), columns=("rx_power",))
    with FleetProcess(FleetConfig(onus=ONUS, family="huawei", scenario=scenario)) as fleet:
        code, result = tried("--address", address_of(fleet), "--optics", "20")
        shown = facho_profile("try", "--address", address_of(fleet), "--optics", "20")
    assert (code, result["complete"], shown.returncode) == (5, False, 5)
    assert "genErr" in result["reason"]
    online = sum(onu["state"]["is"] == "online" for onu in result["onus"])
    assert result["optics_asked"] == {"asked": 20, "online": online}
    assert 0 < sum(onu.get("onu_rx_dbm") is not None for onu in result["onus"]) < 20
    assert f"Asked 20 of the {online} ONUs that are online" in shown.stdout


def test_a_recording_is_read_and_what_cannot_be_read_is_shown(recording: str) -> None:
    code, result = tried("--recording", recording)
    assert (code, result["model"]) == (0, "MA5603T")
    (onu,) = result["onus"]
    assert onu == {
        "frame": 0,
        "slot": 1,
        "port": 1,
        "onu": 0,
        "technology": "gpon",
        "serial": "HWTC1234ABCD",
        "state": {"is": "online", "word": "online"},
        "onu_rx_dbm": -23.5,
        "olt_rx_dbm": None,
    }
    assert result["problems"]["count"] == 1
    assert "999999 is 9899.99 dBm" in result["problems"]["first"][0]["why"]
    shown = facho_profile("try", "huawei", "--recording", recording).stdout
    assert "HWTC1234ABCD" in shown
    assert "Rows that could not be read: 1" in shown


def test_the_built_in_profiles_are_listed_with_their_confidence() -> None:
    listed = {each["profile"]: each for each in json.loads(facho_profile("list", "--json").stdout)}
    assert list(listed) == list(builtin())
    huawei = listed["huawei"]
    assert huawei["confidence"]["agreed"] > 50
    assert huawei["confidence"]["conflict"] == 2
    assert "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.4" in huawei["never_read"]
    assert listed["zte"]["notes"]["gpon_distance.distance_m"].startswith("column 1 is the equalisation delay")
    assert "two or more independent sources agree" in facho_profile("list").stdout


def test_a_profile_is_checked_and_all_mistakes_are_named(tmp_path: Path) -> None:
    good = Path(__file__).parents[2] / "src" / "facho" / "vendors" / "profiles" / "huawei.yaml"
    fine = facho_profile("check", str(good))
    assert (fine.returncode, fine.stderr) == (0, "")
    bad = tmp_path / "bad.yaml"
    bad.write_text(good.read_text().replace("unit: dBm", "unit: dB", 1).replace("of: board", "of: bored", 1))
    wrong = facho_profile("check", str(good), str(bad))
    assert wrong.returncode == 2
    assert wrong.stderr.count(f"{bad}, line ") == 2
    assert "onu_tx_dbm is in dBm, not in dB" in wrong.stderr
    assert "'bored' is not one of" in wrong.stderr
    assert facho_profile("check", str(tmp_path / "none.yaml")).returncode == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "either --address or --recording"),
        (["--address", "127.0.0.1", "--recording", "x"], "either --address or --recording"),
        (["nothing.yaml", "--address", "127.0.0.1"], "No such file"),
        (["--recording", "nothing.snmprec"], "No such file"),
        (["olt-7.snmprec"], "is a recording, not a profile: --recording olt-7.snmprec"),
        (["--address", "127.0.0.1:99999"], "port"),
    ],
)
def test_bad_use_is_refused_with_a_sentence(words: list[str], sentence: str) -> None:
    done = facho_profile("try", *words)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.parametrize("command", ["list", "check", "try"])
def test_every_command_has_examples(command: str) -> None:
    assert "Examples" in facho_profile(command, "--help").stdout
