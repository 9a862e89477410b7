"""A fleet in a process of its own, and the command that people start."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from facho.cli.sim import app
from facho.sim.fleet import FleetConfig, FleetError
from facho.sim.gate import PATIENCE_S
from facho.sim.model import Cause
from facho.sim.olt import Address
from facho.sim.pdu import GET_BULK, encode_request
from facho.sim.presets import PRESETS
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from facho.snmp.values import Oid
from tests.unit.sim.asking import HUAWEI, SERIAL, Said, message, read

COMMAND = [sys.executable, "-c", "from facho.cli.sim import app; app()"]


def ask(address: Address, request_id: int = 1, oid: str = SERIAL) -> Said:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE_S)
        pdu = encode_request(GET_BULK, request_id, 0, 10, [Oid.parse(oid).content])
        client.sendto(message(pdu), address)
        return read(client.recv(65535))


def test_a_fleet_in_a_process_reports_what_it_saw_and_what_it_cost() -> None:
    with FleetProcess(FleetConfig(olts=3, onus=50)) as fleet:
        ask(fleet.addresses[0], 7 << 16)
        ask(fleet.addresses[0], 8 << 16)
        ask(fleet.addresses[0], 7 << 16 | 1)
        ask(fleet.addresses[2])
        now = fleet.report()
    assert [olt.requests for olt in now.olts] == [3, 0, 1]
    assert now.olts[0].overlapping == ((7, 8),)
    assert now.total.varbinds == 40
    assert fleet.final is not None
    assert fleet.final.total == now.total
    assert 0 < now.cpu_s <= fleet.final.cpu_s < 5
    assert now.max_rss_bytes > 1 << 20


def test_a_fleet_in_a_process_takes_the_whole_configuration() -> None:
    config = FleetConfig(onus=50, scenario=Scenario(repeat_row=3, generr_rows=(7,)), addresses=True)
    with FleetProcess(config, prebuilt=True) as fleet:
        assert fleet.addresses[0][0] == "127.1.0.1"
        assert ask(fleet.addresses[0]).oids[-1].endswith(".3")


def test_a_fleet_in_a_process_can_be_made_to_misbehave_later() -> None:
    with FleetProcess(FleetConfig(olts=2, onus=50)) as fleet:
        fleet.set_scenario(Scenario(repeat_row=3), 1)
        assert ask(fleet.addresses[0]).oids[-1].endswith(".9")
        assert ask(fleet.addresses[1]).oids[-1].endswith(".3")
        fleet.set_scenario(Scenario())
        assert ask(fleet.addresses[1]).oids[-1].endswith(".9")
        fleet.call(0, "cut_power", 0)
        fleet.call(0, "bring_back", 4)
        fleet.call(0, "take_offline", 4, Cause.LOS)
        causes = ask(fleet.addresses[0], oid=f"{HUAWEI}.2.46.1.24").values
        assert causes[4] == 1
        assert 13 in causes[:4]
        fleet.call(0, "restart")
        assert fleet.report().total.restarts == 1
        with pytest.raises(ValueError, match="not explode"):
            fleet.call(0, "explode")


def test_requests_to_an_olt_in_a_process_are_held_until_they_are_released() -> None:
    with FleetProcess(FleetConfig(olts=2, onus=50)) as fleet, ThreadPoolExecutor() as threads:
        with fleet.hold(1, skip=1, under=SERIAL) as gate:
            assert len(ask(fleet.addresses[1]).rows) == 10
            assert len(ask(fleet.addresses[1], oid=HUAWEI).rows) == 10
            assert len(ask(fleet.addresses[0]).rows) == 10
            assert gate.held == 0
            asked = threads.submit(ask, fleet.addresses[1])
            gate.wait_until_held()
            assert not asked.done()
            report = fleet.report().olts[1]
            assert (report.requests, report.answers) == (3, 2)
        assert len(asked.result(PATIENCE_S).rows) == 10
        assert len(ask(fleet.addresses[1]).rows) == 10
        assert gate.held == 1


def test_waiting_for_a_request_that_nobody_sends_says_so() -> None:
    with FleetProcess(FleetConfig(onus=5)) as fleet:
        with pytest.raises(TimeoutError, match="0 of 1 requests were held within 0 s"):
            fleet.hold(0).wait_until_held(seconds=0)
        with pytest.raises(ValueError, match="no OLT 1"):
            fleet.hold(1)
        with pytest.raises(ValueError, match="nonsense"):
            fleet.hold(0, under="nonsense")


def test_a_fleet_that_cannot_start_says_why() -> None:
    with pytest.raises(FleetError, match="no family 'acme'"), FleetProcess(FleetConfig(family="acme")):
        pass


def test_the_process_ends_with_the_one_that_started_it() -> None:
    fleet = FleetProcess(FleetConfig(onus=5))
    with fleet:
        child = fleet._child
        assert child is not None
        assert child.poll() is None
    assert child.poll() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_until_it_is_told_to_stop(number: signal.Signals) -> None:
    argv = [*COMMAND, "--olts", "2", "--onus", "40", "--base-port", "0", "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        host, port = json.loads(child.stdout.readline())["addresses"][1]
        assert len(ask((host, port)).rows) == 10
        child.send_signal(number)
        output, errors = child.communicate(timeout=60)
    report = json.loads(output)
    assert (child.returncode, errors) == (0, "")
    assert report["total"]["get_bulk"] == 1
    assert [olt["varbinds"] for olt in report["olts"]] == [0, 10]


def test_the_command_prints_a_table_when_it_ends() -> None:
    argv = [*COMMAND, "--olts", "2", "--onus", "40", "--base-port", "0", "--scenario", "flaky"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(5)]
        child.send_signal(signal.SIGTERM)
        output, errors = child.communicate(timeout=60)
    assert "huawei-001" in lines[2]
    assert "Ctrl-C" in lines[4]
    assert (child.returncode, errors) == (0, "")
    assert "requests" in output


def test_the_command_lists_its_scenarios() -> None:
    result = CliRunner().invoke(app, ["--list-scenarios"])
    assert result.exit_code == 0
    assert all(name in result.output for name in PRESETS)


def test_the_help_has_examples() -> None:
    result = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert "facho sim --olts 6" in result.output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--scenario", "nope"], "there is no scenario 'nope'"),
        (["--set", "queue=x"], "'x' is no value for queue"),
        (["--set", "columns=colour"], "no family has a column 'colour'"),
        (["--family", "acme"], "there is no family 'acme'"),
        (["--recording", "/none.snmprec"], "/none.snmprec: No such file or directory"),
        (["--onus", "50000"], "cannot hold 50000 ONUs"),
        (["--base-port", "65530", "--olts", "20"], "ports 65530 to 65549"),
    ],
)
def test_bad_input_is_told_in_a_sentence(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_malformed_recording_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "walk.snmprec"
    path.write_text("1.3.6.1.2.1.1.1.0|4|fine\nnonsense\n")
    result = CliRunner().invoke(app, ["--recording", str(path)])
    assert result.exit_code == 2
    assert "walk.snmprec, line 2: expected OID|type|value" in result.stderr
