"""`facho job` as a person and as a script see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.integration.own_facho import OwnFacho, new_facho
from tests.services import warm
from tests.waiting import PATIENCE_S

STATE = ("--kind", "get", "--brand", "huawei", "--fact", "state", "--interval", "5m")


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    return with_olts(tmp_path_factory)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    """With two jobs, for tests that change nothing."""
    facho = with_olts(tmp_path_factory)
    facho.does("job", "add", "taken", *STATE)
    facho.does("job", "add", "chained", *STATE, "--after", "taken")
    return facho


def with_olts(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    """With an OLT of each of two brands."""
    facho = new_facho(tmp_path_factory)
    file = facho.home / "olts.csv"
    file.write_text("name,address,brand,community\nolt-h,10.0.0.1,huawei,c\nolt-z,10.0.0.2,zte,c\n")
    facho.does("olt", "import", str(file), "--no-test")
    return facho


def test_a_job_is_made_attached_changed_and_run(facho: OwnFacho) -> None:
    assert "Added state: every 5m on 1 OLTs, from " in facho.does("job", "add", "state", *STATE, "--all")
    shown = facho.told("job", "show", "state")
    assert (shown["kind"], shown["every"], shown["priority"], shown["task_type"]) == (
        "get",
        "5m",
        40,
        "get_state",
    )
    (node,) = shown["nodes"]
    assert (node["olt"], node["every"], node["next_run_at"] is not None) == ("olt-h", "5m", True)
    changed = facho.told("job", "change", "state", "--interval", "10m", "--priority", "50")
    assert (changed["every"], changed["priority"]) == ("10m", 50)
    first = facho.does("job", "run", "state", "--olt", "olt-h").strip()
    assert first.isdigit()
    # It has not started: nobody works here.
    assert facho.told("job", "run", "state", "--olt", "olt-h") == {
        "execution": int(first),
        "state": "WAITING",
    }
    disabled = facho.told("job", "disable", "state")
    assert (disabled["disabled"], disabled["aborted"]) == (["state"], 1)
    assert "the job state is disabled" in facho.refuses("job", "run", "state", "--olt", "olt-h")
    assert facho.told("job", "enable", "state")["first_run_at"] is not None
    assert facho.told("job", "detach", "state", "olt-h")["detached"] == ["olt-h"]
    assert facho.told("job", "show", "state")["nodes"] == []
    assert facho.told("job", "attach", "state", "--all")["attached"] == ["olt-h"]


def test_what_a_job_asks_for_and_its_retries_change(facho: OwnFacho) -> None:
    facho.does("job", "add", "state", *STATE, "--all")
    words = ("--fact", "serial", "--fact", "state", "--max-attempts", "5", "--retry-delay", "30s")
    changed = facho.told("job", "change", "state", *words, "--task-type", "mine", "--new-name", "states")
    assert (changed["name"], changed["asks_for"], changed["task_type"]) == (
        "states",
        ["serial", "state"],
        "mine",
    )
    assert (changed["max_attempts"], changed["retry_delay"], changed["every"]) == (5, "30s", "5m")
    assert "--fact" in facho.refuses("job", "change", "states", "--no-facts")
    assert "say what to change" in facho.refuses("job", "change", "states")


def test_a_job_is_copied_and_removed(facho: OwnFacho) -> None:
    facho.does("job", "add", "state", *STATE, "--all")
    facho.does("job", "run", "state", "--olt", "olt-h")
    assert facho.told("job", "duplicate", "state", "copy") == {"name": "copy", "copy_of": "state"}
    copy, first = facho.told("job", "show", "copy"), facho.told("job", "show", "state")
    assert (copy["asks_for"], copy["every"], copy["nodes"]) == (first["asks_for"], first["every"], [])
    assert "already taken" in facho.refuses("job", "duplicate", "state", "copy")
    asked = facho.run("job", "remove", "state")
    assert asked.returncode == 1
    assert "With state go 1 nodes and 1 executions." in asked.stderr
    assert facho.told("job", "remove", "state", "--yes") == {"removed": "state", "nodes": 1, "executions": 1}
    assert [job["name"] for job in facho.told("job", "list")] == ["copy"]
    assert facho.rows("SELECT count(*) FROM snmp_executions") == [(0,)]


def test_a_shell_has_the_models_and_writes_only_if_it_may(facho: OwnFacho) -> None:
    assert facho.does("shell", "-c", "print(Olt.objects.filter(brand__name='zte').count())") == "1\n"
    asked = facho.run("shell", given="print(*Olt.objects.values_list('name', flat=True))\n")
    assert asked.stdout == "olt-h olt-z\n"
    write = "Olt.objects.update(site='x')"
    refused = facho.run("shell", "-c", write)
    assert (refused.returncode, refused.stderr) == (1, "Error: a shell only reads; --write lets it write\n")
    assert facho.rows("SELECT DISTINCT site FROM olts") == [("",)]
    facho.does("shell", "--write", "-c", write)
    assert facho.rows("SELECT DISTINCT site FROM olts") == [("x",)]
    shown = facho.does("shell", "-c", "print([olt.credentials for olt in Olt.objects.all()])")
    assert "'c'" not in shown


def test_the_target_of_a_job_decides_its_olts(facho: OwnFacho) -> None:
    facho.does("job", "add", "serials", "--kind", "table", "--fact", "serial", "--interval", "1h", "--all")
    shown = facho.told("job", "show", "serials")
    assert (shown["target"], [node["olt"] for node in shown["nodes"]]) == ("all", ["olt-h", "olt-z"])
    file = facho.home / "north.csv"
    file.write_text("name,address,brand,community,site\nolt-n,10.0.0.3,zte,c,North\n")
    facho.does("olt", "import", str(file), "--no-test")
    added = facho.told("job", "show", "serials")["nodes"]
    assert [node["olt"] for node in added] == ["olt-h", "olt-n", "olt-z"]
    moved = facho.run("job", "target", "serials", "--site", "North", "--json")
    assert "serials leaves 2 OLTs, and its executions there are deleted: olt-h, olt-z" in moved.stderr
    there = json.loads(moved.stdout)
    assert (there["target"], [node["olt"] for node in there["nodes"]]) == ("site North", ["olt-n"])
    assert sorted(each["olt"] for each in there["what_if"]) == ["olt-h", "olt-n", "olt-z"]
    kept = facho.told("job", "target", "serials", "--selection")
    assert (kept["target"], [node["olt"] for node in kept["nodes"]]) == ("selection", ["olt-n"])
    assert "give one of --all, --site and --selection" in facho.refuses("job", "target", "serials")


def test_a_job_for_every_brand_runs_after_another(facho: OwnFacho) -> None:
    every = ("--interval", "1h", "--all")
    facho.does("job", "add", "discovery", "--kind", "discovery", *every)
    facho.does(
        "job", "add", "names", "--kind", "table", "--fact", "description", *every, "--after", "discovery"
    )
    (names,) = [job for job in facho.told("job", "list") if job["name"] == "names"]
    assert (names["brand"], names["after"], names["olts"]) == ("generic", "discovery", 2)
    assert [node["next_run_at"] for node in facho.told("job", "show", "names")["nodes"]] == [None, None]
    alone = facho.told("job", "change", "names", "--alone")
    assert (alone["after"], None in [node["next_run_at"] for node in alone["nodes"]]) == (None, False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*STATE, "--interval", "0"], "--interval: '0' is not an interval"),
        (
            [*STATE, "--interval", "5x"],
            "--interval: '5x' is not an interval: write a whole number and s, m, h or d",
        ),
        ([*STATE, "--brand", "hauwei"], "--brand: unknown brand 'hauwei'"),
        ([*STATE, "--fact", "sate"], "--fact: huawei has no fact 'sate'; did you mean state"),
        ([*STATE, "--oid", "1.3.6.x"], "--oid: 1.3.6.x: an OID consists of numbers and dots"),
        (
            [*STATE, "--olt", "olt-h", "--olt", "olt-z"],
            "OLT: the job is for OLTs of huawei, and not for olt-z (zte)",
        ),
        ([*STATE, "--olt", "olt-x"], "OLT: there is no OLT named 'olt-x'"),
        (
            [*STATE, "--after", "chained"],
            "--after: chained itself runs after taken, and chains have one level",
        ),
        ([*STATE, "--after", "nothing"], "--after: there is no job named 'nothing'"),
        ([*STATE, "--priority", "0"], "--priority: 0 is not between 1 and 100"),
        ([*STATE, "--all", "--olt", "olt-h"], "give one of --olt, --all and --site"),
    ],
)
def test_bad_input_is_a_sentence_at_its_place_and_nothing_is_saved(
    furnished: OwnFacho, words: list[str], sentence: str
) -> None:
    oids = furnished.rows("SELECT count(*) FROM oids")
    assert sentence in furnished.refuses("job", "add", "new", *words)
    assert furnished.rows("SELECT name FROM snmp_jobs ORDER BY id") == [("taken",), ("chained",)]
    assert furnished.rows("SELECT count(*) FROM oids") == oids
    assert furnished.rows("SELECT * FROM snmp_job_hosts") == []


def test_a_duplicate_name_is_refused(furnished: OwnFacho) -> None:
    said = furnished.refuses("job", "add", "taken", *STATE)
    assert said == "Error: NAME: the name 'taken' is already taken"


def test_a_change_is_all_or_nothing(furnished: OwnFacho) -> None:
    assert "--after: " in furnished.refuses(
        "job", "change", "taken", "--interval", "1h", "--after", "nothing"
    )
    assert furnished.rows("SELECT DISTINCT interval_s FROM snmp_jobs") == [(300,)]


def test_a_job_that_is_not_on_the_olt_cannot_be_run_there(furnished: OwnFacho) -> None:
    said = furnished.refuses("job", "run", "taken", "--olt", "olt-h")
    assert "taken is not attached to olt-h: facho job attach taken olt-h" in said


def test_waiting_ends_with_what_came_of_it_or_with_its_time(facho: OwnFacho) -> None:
    facho.does("job", "add", "state", *STATE, "--all")
    done = facho.run("job", "run", "state", "--olt", "olt-h", "--wait", "--deadline", "0.5", "--json")
    assert (done.returncode, json.loads(done.stdout)["state"]) == (5, "WAITING")
    assert "No worker is running" in done.stderr
    ended = {}
    for state in ("SUCCESS", "FAILED"):
        words = [sys.executable, "-m", "facho", "job", "run", "state", "--olt", "olt-h", "--wait", "--json"]
        ended[state] = _end_while_waiting(facho, words, state)
    assert ended == {"SUCCESS": 0, "FAILED": 1}


def _end_while_waiting(facho: OwnFacho, words: list[str], state: str) -> int:
    """Plays the worker, as soon as the execution is there."""
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FACHO_HOME": str(facho.home)},
    ) as process:
        assert process.stderr is not None
        number = process.stderr.readline().split()[-1]
        facho.rows("UPDATE snmp_executions SET state = ? WHERE id = ?", state, number)
        process.communicate(timeout=PATIENCE_S)
        return process.returncode


@pytest.mark.parametrize(
    "command",
    ["add", "list", "show", "change", "duplicate", "remove", "attach", "detach", "enable", "disable", "run"],
)
def test_every_command_has_examples(command: str) -> None:
    done = warm.run(["job", command, "--help"])
    assert "Examples" in done.stdout
