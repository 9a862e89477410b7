"""`facho snmp` as a script sees it: one JSON object, an exit code, and a sentence when something is wrong."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from facho.snmp.values import OpaqueFloat, json_value
from tests.services import warm

SYS_DESCR = "1.3.6.1.2.1.1.1.0"
SERIALS = "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3"
STATES = "1.3.6.1.4.1.2011.6.128.1.1.2.46.1.15"
ONUS = 100
# For an answer that comes, however busy the machine is.
PATIENT = "60"


@pytest.fixture
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(onus=ONUS)) as fleet:
        yield fleet


def facho_snmp(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return warm.run(["snmp", *words], env={**os.environ, **(env or {})})


def address_of(fleet: FleetProcess) -> str:
    host, port = fleet.addresses[0]
    return f"{host}:{port}"


def walk_json(fleet: FleetProcess, *words: str, timeout: str = PATIENT) -> tuple[int, dict[str, Any]]:
    done = facho_snmp("walk", address_of(fleet), *words, "--timeout", timeout, "--json")
    result: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, result


@pytest.mark.parametrize("version", ["1", "2c"])
def test_a_complete_walk_is_one_object_and_exit_code_0(fleet: FleetProcess, version: str) -> None:
    code, result = walk_json(fleet, SERIALS, "-v", version)
    assert code == 0
    assert set(result) == {"complete", "reason", "rows", "requests", "timeouts", "seconds"}
    assert (result["complete"], result["reason"], result["timeouts"]) == (True, None, 0)
    assert len(result["rows"]) == ONUS
    assert all(row["oid"].startswith(SERIALS + ".") for row in result["rows"])
    assert {row["type"] for row in result["rows"]} == {"OCTET STRING"}


def test_several_columns_come_one_after_the_other(fleet: FleetProcess) -> None:
    code, result = walk_json(fleet, SERIALS, STATES)
    assert code == 0
    assert [row["oid"].startswith(STATES) for row in result["rows"]] == [False] * ONUS + [True] * ONUS
    assert {row["value"] for row in result["rows"][ONUS:]} <= {1, 2}


def test_a_get_reads_values_and_says_what_does_not_exist(fleet: FleetProcess) -> None:
    done = facho_snmp(
        "get", address_of(fleet), SYS_DESCR, "1.3.6.1.2.1.1.99.0", "--timeout", PATIENT, "--json"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["rows"] == [
        {"oid": SYS_DESCR, "type": "OCTET STRING", "value": "Huawei Integrated Access Software"},
        {"oid": "1.3.6.1.2.1.1.99.0", "type": "noSuchObject", "value": None},
    ]


def test_people_read_a_line_for_each_value(fleet: FleetProcess) -> None:
    done = facho_snmp("get", address_of(fleet), SYS_DESCR, "--timeout", PATIENT)
    assert done.stdout == f"{SYS_DESCR} = OCTET STRING: Huawei Integrated Access Software\n"


def test_the_community_can_come_from_the_environment(fleet: FleetProcess) -> None:
    words = ("get", address_of(fleet), SYS_DESCR, "--community-env", "OLT_COMMUNITY", "--timeout")
    assert facho_snmp(*words, PATIENT, env={"OLT_COMMUNITY": "public"}).returncode == 0
    refused = facho_snmp(*words, "0.3", env={"OLT_COMMUNITY": "s3cret-thing"})
    assert refused.returncode == 3
    assert "s3cret-thing" not in refused.stdout + refused.stderr


def test_rows_that_cannot_be_read_make_it_incomplete_exit_code_5(fleet: FleetProcess) -> None:
    fleet.set_scenario(Scenario(generr_rows=(20,)))
    code, result = walk_json(fleet, SERIALS)
    assert code == 5
    assert result["complete"] is False
    assert "genErr" in result["reason"]
    assert len(result["rows"]) == ONUS - 1


def test_no_answer_is_exit_code_3(fleet: FleetProcess) -> None:
    code, result = walk_json(fleet, SERIALS, "--community", "wrong", timeout="0.3")
    assert code == 3
    assert (result["complete"], result["rows"]) == (False, [])
    assert "no answer from" in result["reason"]
    assert (result["requests"], result["timeouts"]) == (3, 3)


def test_a_port_where_nothing_listens_is_said_at_once() -> None:
    done = facho_snmp("get", "127.0.0.1:9", SYS_DESCR, "--timeout", PATIENT)
    assert done.returncode == 3
    assert "nothing listens on UDP port 9" in done.stderr


def test_an_agent_that_refuses_is_exit_code_4(fleet: FleetProcess) -> None:
    fleet.set_scenario(Scenario(generr_rows=tuple(range(ONUS))))
    code, result = walk_json(fleet, SERIALS)
    assert code == 4, result


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("get", "127.0.0.1", "1.3.six"), "'1.3.six' is not an OID"),
        (("get", "127.0.0.1:0", SYS_DESCR), "port 0 is not between 1 and 65535"),
        (("walk", "no-such-olt.invalid", SYS_DESCR), "'no-such-olt.invalid' does not resolve"),
        (("get", "127.0.0.1", SYS_DESCR, "--community", "a", "--community-env", "B"), "not both"),
        (("get", "127.0.0.1", SYS_DESCR, "--community-env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE"),
        (("get", "127.0.0.1", SYS_DESCR, "-v", "4"), "'4' is not one of"),
    ],
)
def test_bad_use_is_exit_code_2_and_a_sentence(words: tuple[str, ...], said: str) -> None:
    done = facho_snmp(*words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert done.stdout == ""


def test_nobody_is_asked_in_a_community_that_was_not_given(fleet: FleetProcess) -> None:
    fleet.set_scenario(Scenario(latency_s=0.7))
    assert facho_snmp("get", address_of(fleet), SYS_DESCR, "--timeout", PATIENT).returncode == 0
    assert fleet.report().total.unknown_community == 0


def test_what_json_cannot_hold_is_written_as_text() -> None:
    assert json_value(OpaqueFloat("nan")) == "nan"
    assert json_value(OpaqueFloat("-inf")) == "-inf"
    assert json_value(OpaqueFloat(1.5)) == 1.5
