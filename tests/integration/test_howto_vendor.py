"""The page that shows how to add a vendor, run as it is written; and the reference, held to the code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.vendors import parse, parse_columns, parse_index
from facho.vendors.schema import PARTS
from facho.vendors.vocabulary import CONFIDENCE_WORDS, FACTS

DOCS = Path(__file__).parents[2] / "docs"


def block(kind: str) -> str:
    page = (DOCS / "howto" / "add-a-vendor.md").read_text()
    (found,) = re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)
    return str(found)


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    file = tmp_path / "acme.yaml"
    file.write_text(block("yaml"))
    return file


def facho(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "facho", *words], capture_output=True, text=True)


def test_the_example_is_a_profile_and_reads_its_recording_as_the_page_says(
    acme: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "acme.snmprec"
    recording.write_text(block("snmprec"))
    assert facho("profile", "check", str(acme)).returncode == 0
    done = facho("profile", "try", str(acme), "--recording", str(recording), "--json")
    said: dict[str, Any] = json.loads(done.stdout)
    expected: dict[str, Any] = json.loads(block("json"))
    assert {key: said[key] for key in expected} == expected
    assert done.returncode == 0


def test_the_example_can_be_simulated(acme: Path) -> None:
    with FleetProcess(FleetConfig(onus=70, profile=acme)) as fleet:
        host, port = fleet.addresses[0]
        done = facho("profile", "try", str(acme), "--address", f"{host}:{port}", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, len(said["onus"]), said["problems"]["count"]) == (0, 70, 0)
    assert len(said["ports"]) == 2


def reference() -> str:
    return (DOCS / "reference" / "profiles.md").read_text()


def test_the_reference_has_every_fact_with_its_unit_and_range() -> None:
    page = reference()
    for facts in FACTS.values():
        for name, fact in facts.items():
            assert f"| `{name}` | {fact.kind} | {fact.unit} | " in page
            for word, meaning in (fact.words or {}).items():
                assert f"| `{word}` | {meaning} |" in page
    for confidence, words in CONFIDENCE_WORDS.items():
        assert f"| `{confidence}` | {words} |" in page


def test_the_reference_has_every_key() -> None:
    page = reference()
    keys = {*parse._RULE_KEYS, *parse._TABLE_KEYS, *parse_columns._KEYS, *parse_index._KEYS, *PARTS}
    keys |= {
        "how",
        "batch",
        "slow",
        "bulk",
        "repetitions",
        "in_flight",
        "never",
        "why",
        "at",
        "width",
        "quirks",
    }
    missing = {key for key in keys if not re.search(rf"[`{{ ]{key}[`:,]", page)}
    assert missing == set()
