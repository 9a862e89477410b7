"""`facho olt` as a person and as a script see it, against simulated OLTs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from tests.integration.own_facho import OwnFacho, new_facho
from tests.services import warm
from tests.waiting import wait_until

# For an answer that comes, however busy the machine is; and for one that does not.
PATIENT = ("--timeout", "60", "--retries", "0")
QUICK = ("--timeout", "0.3", "--retries", "0")
SECRET = "very-secret-community"


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    return new_facho(tmp_path_factory)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    """With one OLT, for tests that change nothing."""
    facho = new_facho(tmp_path_factory)
    facho.does("olt", "add", "taken", "10.0.0.1", "--brand", "zte", "--no-test")
    return facho


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=2, onus=8, family="mixed", community=SECRET)) as fleet:
        yield fleet


def address_of(fleet: FleetProcess, number: int = 0) -> str:
    host, port = fleet.addresses[number]
    return f"{host}:{port}"


def add(facho: OwnFacho, *words: str) -> subprocess.CompletedProcess[str]:
    return facho.run("olt", "add", *words, *PATIENT, "--community-env", "OLT_COMMUNITY", OLT_COMMUNITY=SECRET)


def names(facho: OwnFacho) -> list[str]:
    return [olt["name"] for olt in facho.told("olt", "list")]


def test_an_olt_is_asked_what_it_is_and_it_is_told_why(facho: OwnFacho, fleet: FleetProcess) -> None:
    done = add(facho, "olt-1", address_of(fleet), "--site", "Centro")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Added olt-1: Huawei" in done.stdout
    assert "Detected as huawei: its sysObjectID" in done.stdout
    added = json.loads(add(facho, "olt-2", address_of(fleet, 1), "--json").stdout)
    assert (added["brand"], added["detected"]["brand"]) == ("zte", "zte")
    (first, second) = facho.told("olt", "list")
    assert (first["name"], first["brand"], first["site"], first["state"]) == (
        "olt-1",
        "huawei",
        "Centro",
        "not asked yet",
    )
    assert (second["address"], second["jobs"], second["onus"]) == (address_of(fleet, 1), 0, 0)
    assert names(facho) == ["olt-1", "olt-2"]
    assert [olt["name"] for olt in facho.told("olt", "list", "--brand", "zte")] == ["olt-2"]
    assert [olt["name"] for olt in facho.told("olt", "list", "--site", "Centro")] == ["olt-1"]


def test_the_community_comes_from_standard_input_too(facho: OwnFacho, fleet: FleetProcess) -> None:
    done = facho.run(
        "olt", "add", "olt-1", address_of(fleet), "--community-stdin", *PATIENT, given=f"{SECRET}\n"
    )
    assert done.returncode == 0
    tested = facho.told("olt", "test", "olt-1", *PATIENT)
    assert (tested["answers"], tested["detected"]["brand"]) == (True, "huawei")


def test_a_brand_that_a_person_knows_better_is_taken_with_a_note(
    facho: OwnFacho, fleet: FleetProcess
) -> None:
    done = add(facho, "olt-1", address_of(fleet), "--brand", "zte")
    assert "it looks like huawei" in done.stdout
    assert facho.told("olt", "show", "olt-1")["brand"] == "zte"


def test_a_wrong_community_is_no_answer_and_nothing_is_saved(facho: OwnFacho, fleet: FleetProcess) -> None:
    done = facho.run("olt", "add", "olt-1", address_of(fleet), *QUICK)
    assert (done.returncode, done.stdout) == (3, "")
    assert "no answer" in done.stderr
    assert "community" in done.stderr
    assert "--brand NAME --no-test" in done.stderr
    assert names(facho) == []


def test_one_that_is_not_there_yet_can_be_added_unseen_and_says_so_when_tested(facho: OwnFacho) -> None:
    added = facho.told("olt", "add", "olt-1", "127.0.0.1:9", "--brand", "zte", "--no-test")
    assert (added["brand"], added["detected"]) == ("zte", None)
    done = facho.run("olt", "test", "olt-1", *QUICK)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Error: ")
    tested = facho.run("olt", "test", "olt-1", *QUICK, "--json")
    assert (tested.returncode, json.loads(tested.stdout)["answers"]) == (3, False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["olt-1", "no-such-host.invalid"], "'no-such-host.invalid' does not resolve to an address"),
        (["olt-1", "10.0.0.999", "--no-test", "--brand", "zte"], "ADDRESS: '10.0.0.999' is neither"),
        # Before the OLT is asked, which nothing would answer for.
        (["olt-\u202e1", "127.0.0.1:9"], "NAME: a name is one line of readable characters"),
        (["olt-1", "127.0.0.1:99999"], "port 99999 is not between 1 and 65535"),
        (
            ["olt-1", "127.0.0.1", "--brand", "hauwei"],
            "--brand: unknown brand 'hauwei'; known brands: bdcom, calix, ",
        ),
        (["olt-1", "127.0.0.1", "--no-test"], "--brand: detecting the brand needs a connection test"),
        (["olt-1", "127.0.0.1", "--user", "me"], "--user, --auth and --priv are for SNMPv3"),
        (
            ["taken", "127.0.0.1", "--brand", "zte", "--no-test"],
            "NAME: the name 'taken' is already taken",
        ),
        (
            ["olt-1", "127.0.0.1", "--brand", "zte", "--no-test", "--shortest-interval", "5x"],
            "--shortest-interval: '5x'",
        ),
        (
            ["olt-1", "127.0.0.1", "--brand", "zte", "--no-test", "--max-in-flight", "0"],
            "--max-in-flight: 0 is not",
        ),
    ],
)
def test_bad_input_is_a_sentence_at_its_place_and_nothing_is_saved(
    furnished: OwnFacho, words: list[str], sentence: str
) -> None:
    done = furnished.run("olt", "add", *words, *QUICK)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr.splitlines()[0]
    assert furnished.rows("SELECT name FROM olts") == [("taken",)]


def test_no_secret_is_ever_shown(facho: OwnFacho, fleet: FleetProcess) -> None:
    passwords = {"FACHO_AUTH_PASSWORD": "auth-secret-1", "FACHO_PRIV_PASSWORD": "priv-secret-1"}
    v3 = ("-v", "3", "--user", "monitor", "--auth", "SHA-256", "--priv", "AES")
    facho.does("olt", "add", "olt-3", "10.0.0.3", *v3, "--brand", "zte", "--no-test", **passwords)
    add(facho, "olt-1", address_of(fleet))
    said = [
        add(facho, "olt-1", address_of(fleet)),
        facho.run("olt", "test", "olt-3", *QUICK),
        *(
            facho.run("olt", "show", name, *json_too)
            for name in ("olt-1", "olt-3")
            for json_too in ((), ("--json",))
        ),
        facho.run("olt", "list", "--json"),
        facho.run("doctor"),
    ]
    for done in said:
        for secret in (SECRET, "auth-secret-1", "priv-secret-1"):
            assert secret not in done.stdout + done.stderr
    assert facho.told("olt", "show", "olt-1")["credentials"] == "community"
    assert facho.told("olt", "show", "olt-3")["credentials"] == "SNMPv3 user"
    stored = b"".join(path.read_bytes() for path in facho.home.rglob("*") if path.is_file())
    assert SECRET.encode() not in stored


def test_no_process_shows_the_community(facho: OwnFacho, fleet: FleetProcess) -> None:
    """While it waits for an OLT that does not answer."""
    words = ["olt", "add", "olt-1", address_of(fleet), "--community-env", "OLT_COMMUNITY", *PATIENT]
    environment = {**os.environ, "FACHO_HOME": str(facho.home), "OLT_COMMUNITY": SECRET}
    with (
        fleet.hold(0) as gate,
        subprocess.Popen([sys.executable, "-m", "facho", *words], env=environment) as process,
    ):
        try:
            shown = Path(f"/proc/{process.pid}/cmdline")

            def asks() -> bool:
                assert SECRET.encode() not in shown.read_bytes()
                return bool(gate.held)

            wait_until(asks)
            assert SECRET.encode() not in shown.read_bytes()
        finally:
            process.kill()


def test_the_database_is_made_by_itself_and_its_files_are_private(tmp_path: Path) -> None:
    facho = OwnFacho(tmp_path / "new")
    assert "There are no OLTs yet" in facho.does("olt", "list")
    assert {path.name for path in facho.home.iterdir()} >= {"facho.db", "secret.key"}
    facho.does("olt", "add", "olt-1", "10.0.0.1", "--brand", "zte", "--no-test")
    assert (facho.home / "credentials.keys").stat().st_mode & 0o777 == 0o600


def test_olts_are_disabled_and_enabled(facho: OwnFacho) -> None:
    for name, address in (("olt-1", "10.0.0.1"), ("olt-2", "10.0.0.2")):
        facho.does("olt", "add", name, address, "--brand", "zte", "--no-test")
    facho.does(
        "job",
        "add",
        "state",
        "--kind",
        "get",
        "--brand",
        "zte",
        "--fact",
        "state",
        "--interval",
        "5m",
        "--all",
    )
    assert facho.does("olt", "disable", "olt-1") == "1 OLT disabled.\n"
    assert facho.told("olt", "show", "olt-1")["nodes"][0]["next_run_at"] is None
    enabled = facho.told("olt", "enable", "--all")
    assert (enabled["enabled"], enabled["first_run_at"] is not None) == (["olt-1"], True)
    assert "give names, or --all" in facho.refuses("olt", "enable")
    assert "OLT: there is no OLT named 'olt-3'" in facho.refuses("olt", "disable", "olt-1", "olt-3")
    assert facho.told("olt", "show", "olt-1")["enabled"]


GOOD = "name,address,brand,site,community\nolt-1,10.0.0.1,zte,Norte,c1\nolt-2,10.0.0.2,huawei,Sur,c2\n"


def test_a_file_of_olts_is_imported(facho: OwnFacho, tmp_path: Path) -> None:
    file = tmp_path / "olts.csv"
    file.write_text(GOOD)
    said = facho.does("olt", "import", str(file), "--no-test")
    assert said.splitlines() == [
        "line 2: olt-1: added, zte",
        "line 3: olt-2: added, huawei",
        "2 of 2 OLTs were added.",
    ]
    assert [(olt["name"], olt["site"]) for olt in facho.told("olt", "list")] == [
        ("olt-1", "Norte"),
        ("olt-2", "Sur"),
    ]


BROKEN = """name,address,port,brand,community
olt-1,10.0.0.1,161,zte,c1
olt-2,10.0.0.2,sixteen,zte,c2
olt-3,10.0.0.3,161
olt-4,10.0.0.4,161,hauwei,c4
olt-1,10.0.0.5,161,zte,c5
,10.0.0.6,161,zte,c6
olt-7,10.0.0.7,161,zte,
"""
REASONS = [
    "line 3: olt-2: port: 'sixteen' is not a whole number",
    "line 4: olt-3: it has 3 columns, and the first line has 5",
    "line 5: olt-4: brand: unknown brand 'hauwei'; known brands: bdcom, calix, ",
    "line 6: olt-1: name: line 2 has this name too",
    "line 7: (no name): name: a name is needed",
    "line 8: olt-7: community: none is given, neither here nor by --community-env",
]


def test_a_file_with_broken_lines_says_which_and_why_and_nothing_is_saved(
    facho: OwnFacho, tmp_path: Path
) -> None:
    file = tmp_path / "olts.csv"
    file.write_text(BROKEN)
    done = facho.run("olt", "import", str(file), "--no-test")
    assert done.returncode == 2
    *reasons, last = done.stderr.splitlines()
    assert [reason.partition("; known brands")[0] for reason in reasons] == [
        reason.partition("; known brands")[0] for reason in REASONS
    ]
    assert "Nothing was saved: 6 of 7 lines are broken" in last
    assert names(facho) == []


def test_the_good_lines_are_saved_when_asked_to(facho: OwnFacho, tmp_path: Path) -> None:
    file = tmp_path / "olts.csv"
    file.write_text(BROKEN)
    done = facho.run(
        "olt", "import", str(file), "--no-test", "--keep-going", "--json", "--community-env", "C", C=SECRET
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["saved"], told["broken"]) == (5, 2, 5)
    assert [line["line"] for line in told["lines"] if line["ok"]] == [2, 8]
    assert SECRET not in done.stdout + done.stderr
    assert names(facho) == ["olt-1", "olt-7"]


def test_the_olts_of_a_file_are_asked_what_they_are(
    facho: OwnFacho, fleet: FleetProcess, tmp_path: Path
) -> None:
    file = tmp_path / "olts.csv"
    lines = [f"olt-{number},{host},{port}" for number, (host, port) in enumerate(fleet.addresses)]
    file.write_text("\n".join(["name,address,port", *lines, "silent,127.0.0.1,9"]))
    # Nothing listens on port 9: its silence is waited for once.
    patient = {"FACHO_REQUEST_TIMEOUT": "20", "FACHO_REQUEST_RETRIES": "0", "C": SECRET}
    done = facho.run("olt", "import", str(file), "--community-env", "C", "--keep-going", "--json", **patient)
    told = json.loads(done.stdout)
    assert (done.returncode, told["saved"]) == (5, 2)
    assert [line["brand"] for line in told["lines"]] == ["huawei", "zte", None]
    assert told["lines"][2]["error"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name,adress\nx,y\n", "line 1: 'adress' is no column; these are: name, address"),
        ("name,site\nx,y\n", "line 1: the column 'address' is missing"),
        ("", "line 1: the column 'name' is missing"),
    ],
)
def test_a_file_that_is_no_list_of_olts_is_refused(
    furnished: OwnFacho, tmp_path: Path, text: str, sentence: str
) -> None:
    file = tmp_path / "olts.csv"
    file.write_text(text)
    assert sentence in furnished.refuses("olt", "import", str(file))


def test_a_file_that_is_not_there_is_refused(furnished: OwnFacho) -> None:
    assert "cannot be read: No such file" in furnished.refuses("olt", "import", "nothing.csv")


@pytest.mark.parametrize("command", ["add", "list", "show", "test", "import", "change", "enable", "disable"])
def test_every_command_has_examples(command: str) -> None:
    done = warm.run(["olt", command, "--help"])
    assert "Examples" in done.stdout


def test_credentials_are_unreadable_in_the_database_file(facho: OwnFacho) -> None:
    facho.does(
        "olt", "add", "olt-1", "10.0.0.1", "--brand", "zte", "--no-test", "--community-env", "C", C=SECRET
    )
    ((stored,),) = facho.rows("SELECT credentials FROM olts")
    assert stored.startswith("gAAAA")
