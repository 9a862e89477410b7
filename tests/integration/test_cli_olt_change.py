"""`facho olt change` and `facho olt import --update`: one OLT, or many at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from tests.integration.own_facho import OwnFacho, new_facho

SECRET = "very-secret-community"


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    """With three OLTs at two sites."""
    facho = new_facho(tmp_path_factory)
    file = facho.home / "olts.csv"
    file.write_text(
        "name,address,brand,site,community\n"
        "olt-1,10.0.0.1,zte,Norte,c1\nolt-2,10.0.0.2,zte,Norte,c2\nolt-3,10.0.0.3,huawei,Sur,c3\n"
    )
    facho.does("olt", "import", str(file), "--no-test")
    return facho


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=2, onus=8, family="mixed", community=SECRET)) as fleet:
        yield fleet


def limits(facho: OwnFacho) -> list[tuple[object, ...]]:
    return facho.rows("SELECT name, max_varbinds, max_requests_per_second FROM olts ORDER BY name")


def test_many_olts_get_another_community_that_is_never_shown(facho: OwnFacho) -> None:
    before = facho.rows("SELECT name, credentials FROM olts ORDER BY name")
    words = ("olt", "change", "--site", "Norte", "--community-env", "NEW", "--yes")
    dry = facho.run(*words, "--dry-run", NEW=SECRET)
    assert "dry run" in dry.stdout
    assert facho.rows("SELECT name, credentials FROM olts ORDER BY name") == before
    done = facho.run(*words, NEW=SECRET)
    assert done.stdout == "Changed 2 OLTs.\n"
    assert "credentials" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    after = facho.rows("SELECT name, credentials FROM olts ORDER BY name")
    assert [old != new for old, new in zip(before, after, strict=True)] == [True, True, False]
    told = facho.told(*words, NEW=SECRET)
    assert told == {"saved": False, "changed": [], "unchanged": ["olt-1", "olt-2"]}


def test_limits_of_all_olts_change_and_go_back_to_the_settings(facho: OwnFacho) -> None:
    facho.does("olt", "change", "--all", "--max-varbinds", "7", "--max-rate", "2.5", "--yes")
    assert limits(facho) == [(f"olt-{number}", 7, 2.5) for number in (1, 2, 3)]
    told = facho.told("olt", "change", "--brand", "huawei", "--max-varbinds", "default", "--yes")
    (changed,) = told["changed"]
    assert changed == {"olt": "olt-3", "changes": {"max_varbinds": {"old": 7, "new": None}}}
    assert limits(facho)[2] == ("olt-3", None, 2.5)


def test_an_olt_gets_another_name_address_and_site(facho: OwnFacho) -> None:
    facho.does(
        "olt", "change", "olt-1", "--new-name", "uno", "--address", "10.0.9.1:1161", "--new-site", "Sur",
        "--disabled", "--yes",
    )  # fmt: skip
    olts = {olt["name"]: olt for olt in facho.told("olt", "list")}
    assert (olts["uno"]["address"], olts["uno"]["site"], olts["uno"]["enabled"]) == (
        "10.0.9.1:1161",
        "Sur",
        False,
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["olt-1", "--all", "--port", "1", "--yes"], "give names, or --site and --brand, or --all"),
        (["--all", "--yes"], "say what to change"),
        (["olt-1", "--port", "1161"], "add --yes, or --dry-run"),
        (["--all", "--address", "10.0.0.9", "--yes"], "--address is for one OLT, and 3 are selected"),
        (["olt-1", "--address", "10.0.0.2", "--yes"], "--address: olt-2 already has the address 10.0.0.2"),
        (["olt-1", "--new-name", "olt-2", "--yes"], "--new-name: the name 'olt-2' is already taken"),
        (["olt-1", "--new-brand", "acme", "--yes"], "--new-brand: unknown brand 'acme'"),
        (["--all", "--user", "monitor", "--yes"], "olt-1: it has SNMP v2c, and only SNMPv3 has a user"),
        (["--site", "Oeste", "--port", "1161", "--yes"], "no OLT is at the site 'Oeste'"),
        (["--all", "--max-varbinds", "many", "--yes"], "--max-varbinds: 'many' is not a whole number"),
    ],
)
def test_a_bad_change_is_refused_in_a_sentence(facho: OwnFacho, words: list[str], sentence: str) -> None:
    before = facho.rows("SELECT * FROM olts ORDER BY id")
    assert sentence in facho.refuses("olt", "change", *words)
    assert facho.rows("SELECT * FROM olts ORDER BY id") == before


def test_nothing_changes_when_an_olt_does_not_answer_with_the_new_settings(
    facho: OwnFacho, fleet: FleetProcess
) -> None:
    host, port = fleet.addresses[0]
    patient = {"FACHO_REQUEST_TIMEOUT": "20", "FACHO_REQUEST_RETRIES": "0", "NEW": SECRET}
    # Nothing listens on port 9: its silence is waited for once.
    bad = facho.run("olt", "change", "olt-1", "--address", f"{host}:9", "--test", "--yes", **patient)
    assert (bad.returncode, bad.stdout) == (3, "")
    assert "Nothing was changed: 1 of 1 OLTs did not answer." in bad.stderr
    good = ("--address", f"{host}:{port}", "--community-env", "NEW", "--test", "--yes")
    assert facho.does("olt", "change", "olt-1", *good, **patient) == "Changed 1 OLT.\n"


UPDATE = """name,address,brand,site,max_varbinds,max_requests_per_second,community
olt-1,,,,9,1.5,
olt-2,10.0.0.2,zte,Norte,,,
olt-4,10.0.0.4,zte,Sur,default,,c4
"""


def test_a_file_changes_the_olts_that_exist_and_adds_the_others(facho: OwnFacho, tmp_path: Path) -> None:
    file = tmp_path / "update.csv"
    file.write_text(UPDATE)
    words = ("olt", "import", str(file), "--update", "--no-test")
    dry = facho.told(*words, "--dry-run")
    assert dry["saved"] == 0
    assert [line["result"] for line in dry["lines"]] == ["changed", "unchanged", "added"]
    assert limits(facho)[0] == ("olt-1", None, None)
    assert facho.does(*words).splitlines() == [
        "line 2: olt-1: changed: max varbinds, max rate",
        "line 3: olt-2: unchanged",
        "line 4: olt-4: added, zte",
        "1 OLTs were added, 1 changed, 1 stay as they are.",
    ]
    assert [limits(facho)[at] for at in (0, 3)] == [("olt-1", 9, 1.5), ("olt-4", None, None)]


def test_a_file_does_not_resume_an_olt_that_it_says_is_enabled(facho: OwnFacho, tmp_path: Path) -> None:
    facho.rows("UPDATE olts SET suspended_reason = 'no answer' WHERE name = 'olt-1'")
    file = tmp_path / "olts.csv"
    file.write_text("name,enabled,site\nolt-1,yes,Centro\nolt-2,no,\n")
    facho.does("olt", "import", str(file), "--update", "--no-test")
    found = facho.rows("SELECT name, site, enabled, suspended_reason FROM olts ORDER BY name LIMIT 2")
    assert found == [("olt-1", "Centro", 1, "no answer"), ("olt-2", "Norte", 0, "")]


def test_a_file_may_have_semicolons_as_spreadsheets_write_them(facho: OwnFacho, tmp_path: Path) -> None:
    file = tmp_path / "update.csv"
    file.write_text("\ufeffname;site;max_varbinds\r\nolt-1;Ñuñoa, centro;9\r\n", "utf-8")
    assert facho.does("olt", "import", str(file), "--update", "--no-test").splitlines() == [
        "line 2: olt-1: changed: site, max varbinds",
        "0 OLTs were added, 1 changed, 0 stay as they are.",
    ]
    assert facho.rows("SELECT site FROM olts WHERE name = 'olt-1'") == [("Ñuñoa, centro",)]


def test_a_file_with_a_name_that_no_olt_has_says_so(facho: OwnFacho, tmp_path: Path) -> None:
    file = tmp_path / "update.csv"
    file.write_text("name,site\nolt-11,Sur\n")
    sentence = "olt-11: address: no OLT has this name yet; a new one needs an address"
    done = facho.run("olt", "import", str(file), "--update", "--no-test")
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_file_with_a_bad_change_says_which_line_and_saves_nothing(facho: OwnFacho, tmp_path: Path) -> None:
    file = tmp_path / "update.csv"
    file.write_text("name,address,site\nolt-1,10.0.0.2,\nolt-2,,Oeste\n")
    done = facho.run("olt", "import", str(file), "--update", "--no-test", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["saved"], told["broken"]) == (2, 0, 1)
    assert [(line["line"], line["result"]) for line in told["lines"]] == [(2, "refused"), (3, "changed")]
    assert "olt-2 already has the address" in told["lines"][0]["error"]
    assert facho.rows("SELECT count(*) FROM olts WHERE site = 'Oeste'") == [(0,)]
