"""The page that shows how to add a vendor, run as it is written; and the reference, held to the code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.vendors import parse, parse_columns, parse_index
from facho.vendors.facts import CONFIDENCE_WORDS, FACTS, full_fact_name
from facho.vendors.profile_entries import Form
from facho.vendors.schema import PARTS
from tests.integration.own_facho import new_facho

DOCS = Path(__file__).parents[2] / "docs"
TRIED = "facho profile try acme.yaml --recording acme.snmprec"


def block(kind: str) -> str:
    page = (DOCS / "howto" / "add-a-vendor.md").read_text()
    (found,) = re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)
    return str(found)


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Every command of the page, in its order, by what it is."""
    folder = tmp_path_factory.mktemp("howto")
    (folder / "acme.yaml").write_text(block("yaml"))
    (folder / "device.snmprec").write_text(block("snmprec"))
    with (
        FleetProcess(FleetConfig(recording=folder / "device.snmprec")) as device,
        FleetProcess(FleetConfig(onus=70, profile=folder / "acme.yaml")) as fleet,
    ):
        places = {"127.0.0.1:16100": device, "127.0.0.1:16200": fleet}
        commands = [_there(line, places) for line in lines("sh") if not line.startswith("facho sim ")]
        commands.insert(commands.index(TRIED) + 1, f"{TRIED} --json")
        return run_here(commands, folder, new_facho(tmp_path_factory).home)


def lines(kind: str) -> list[str]:
    page = (DOCS / "howto" / "add-a-vendor.md").read_text()
    blocks = re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def _there(line: str, places: dict[str, FleetProcess]) -> str:
    """The page names ports that may be taken."""
    for place, fleet in places.items():
        host, port = fleet.addresses[0]
        line = line.replace(place, f"{host}:{port}")
    return line


def run_here(commands: list[str], folder: Path, home: Path) -> dict[str, Done]:
    """In one process: each command alone would take longer to start than to run."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.following", str(folder)],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            **os.environ,
            "FACHO_HOME": str(home),
            "PYTHONPATH": str(DOCS.parent),
            "COLUMNS": "200",
        },
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return {command: Done(code, out) for command, code, out in json.loads(done.stdout)}


def said_by(followed: dict[str, Done], *words: str) -> str:
    """What the one command with all of these words said."""
    (found,) = (done for command, done in followed.items() if all(word in command for word in words))
    return found.out


def test_every_command_of_the_page_works(followed: dict[str, Done]) -> None:
    assert {command: done.out for command, done in followed.items() if done.code} == {}


def test_the_recording_has_all_that_the_device_said_and_its_columns_are_seen(
    followed: dict[str, Done],
) -> None:
    assert "99999.1.7" in said_by(followed, "snmp get")
    assert "acme.snmprec: 19 values" in said_by(followed, "record", "--tree")
    assert "2 1.3.6.1.4.1.99999.2.1.2\n" in said_by(followed, "sed")


def test_the_profile_is_fine_and_reads_the_recording_as_the_page_says(followed: dict[str, Done]) -> None:
    assert "fine: 'acme'" in said_by(followed, "profile check")
    said: dict[str, Any] = json.loads(followed[f"{TRIED} --json"].out)
    expected: dict[str, Any] = json.loads(block("json"))
    assert {key: said[key] for key in expected} == expected
    assert said["detected"]["profile"] == "acme"
    assert "It would be detected as that: its sysObjectID" in followed[TRIED].out.splitlines()[1]


def test_the_family_is_simulated(followed: dict[str, Done]) -> None:
    simulated, device = (done.out for command, done in followed.items() if "--address" in command)
    assert ("ONUs: 70" in simulated, "ONUs: 2" in device) == (True, True)


def test_once_it_is_built_in_it_is_detected_collected_and_recorded(followed: dict[str, Done]) -> None:
    assert "Detected as acme: its sysObjectID" in said_by(followed, "olt add")
    assert "SUCCESS" in said_by(followed, "collect")
    listed = said_by(followed, "onu list")
    assert [word for word in ("ACME0000002A", "house 8", "-27.45", "power_off") if word not in listed] == []
    assert "values of Acme A7 (A7)" in said_by(followed, "--mask")


def reference() -> str:
    return (DOCS / "reference" / "profiles.md").read_text()


def test_the_reference_has_every_fact_with_its_unit_and_range() -> None:
    page, all_facts = reference(), (DOCS / "reference" / "facts.md").read_text()
    for entity, facts in FACTS.items():
        for name, fact in facts.items():
            assert f"| `{full_fact_name(entity, name)}` | {fact.kind} | {fact.unit} | " in all_facts
            for word, meaning in (fact.words or {}).items():
                assert f"| `{word}` | {meaning} |" in page
    for confidence, words in CONFIDENCE_WORDS.items():
        assert f"| `{confidence}` | {words} |" in page


def test_the_reference_has_every_key() -> None:
    page = reference()
    forms = {
        form
        for module in (parse, parse_columns, parse_index)
        for form in vars(module).values()
        if isinstance(form, Form)
    }
    keys = {*PARTS, *(key for form in forms for key in form.keys)}
    missing = {key for key in keys if not re.search(rf"[`{{ ]{key}[`:,]", page)}
    assert missing == set()
