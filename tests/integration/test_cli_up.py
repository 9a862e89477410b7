"""`facho up`, `demo` and `collect`, as a person runs them."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from tests.integration.own_facho import OwnFacho, new_facho
from tests.waiting import PATIENCE_S, wait_until

ONUS = 50
DEMO_WITHIN_S = 600.0


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    return new_facho(tmp_path_factory)


@pytest.fixture
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=1, onus=ONUS)) as fleet:
        yield fleet


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


@contextmanager
def running(facho: OwnFacho, *words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "facho", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "FACHO_HOME": str(facho.home), **facho.settings, **environment},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE_S)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/admin/login/", timeout=PATIENCE_S) as page:
            return "Facho" in page.read().decode()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def workers(facho: OwnFacho) -> list[str]:
    return [name for (name,) in facho.rows("SELECT name FROM workers")]


def has_tables(facho: OwnFacho) -> bool:
    return bool(facho.rows("SELECT 1 FROM sqlite_master WHERE name = 'onu_data'"))


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_up_collects_and_shows_and_stops_in_order(facho: OwnFacho, fleet: FleetProcess) -> None:
    host, port = fleet.addresses[0]
    facho.does("olt", "add", "norte", f"{host}:{port}")
    facho.does(
        "job", "add", "discovery", "--kind", "discovery", "--interval", "1h", "--all",
        FACHO_FIRST_RUN_DELAY="1",
    )  # fmt: skip
    web = free_port()
    with running(facho, "up", "--address", f"127.0.0.1:{web}", "--pollers", "2") as up:
        wait_until(lambda: answers(web))
        wait_until(lambda: facho.rows("SELECT count(*) FROM onu_data") == [(ONUS,)])
        assert facho.rows("SELECT pollers FROM workers") == [(2,)]
        children = children_of(up.pid)
        up.send_signal(signal.SIGINT)
        assert up.wait(PATIENCE_S) == 0
    assert workers(facho) == []
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_up_says_how_to_log_in_until_there_is_an_administrator(facho: OwnFacho) -> None:
    hint = "Nobody can log in yet: facho user add NAME --role administrator"
    assert hint in lines_of_up(facho)
    facho.does("user", "add", "ana", "--role", "administrator")
    assert hint not in lines_of_up(facho)


def lines_of_up(facho: OwnFacho) -> list[str]:
    web = free_port()
    with running(facho, "up", "--address", f"127.0.0.1:{web}") as up:
        wait_until(lambda: answers(web))
        up.send_signal(signal.SIGINT)
        output, _ = up.communicate(timeout=PATIENCE_S)
    return output.splitlines()


def test_an_engine_that_dies_is_started_again(facho: OwnFacho) -> None:
    with running(facho, "up", "--address", f"127.0.0.1:{free_port()}") as up:
        wait_until(lambda: workers(facho))
        (first,) = workers(facho)
        os.kill(int(first.split(":")[-2]), signal.SIGKILL)
        wait_until(lambda: any(name != first for name in workers(facho)))
        up.terminate()
        assert up.wait(PATIENCE_S) == 0


def test_children_end_with_a_parent_that_is_killed(facho: OwnFacho) -> None:
    with running(facho, "up", "--address", f"127.0.0.1:{free_port()}") as up:
        wait_until(lambda: workers(facho))
        children = children_of(up.pid)
        up.kill()
        assert children
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert workers(facho) == []


def test_a_port_that_is_taken_is_said_before_anything_starts(facho: OwnFacho) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = facho.refuses("up", "--address", f"127.0.0.1:{port}")
    assert said == (
        f"Error: the web cannot be served at 127.0.0.1:{port}: Address already in use; "
        "choose another with --address"
    )


def test_the_demo_has_onus_soon_and_keeps_them(tmp_path: Path) -> None:
    facho = OwnFacho(tmp_path / "home")
    with running(facho, "demo", "--port", str(free_port())) as demo:
        wait_until(lambda: (facho.home / "facho.db").exists())
        # It makes its tables, its jobs and six OLTs first: on a busy machine that takes minutes.
        count = "SELECT count(*) FROM onu_data"
        wait_until(lambda: has_tables(facho) and facho.rows(count) == [(3000,)], DEMO_WITHIN_S)
        # The month before comes all at once, and then the engine starts.
        steps = "SELECT count(*) FROM coordinator_state WHERE name = 'coordinator'"
        wait_until(lambda: facho.rows(steps) == [(1,)], DEMO_WITHIN_S)
        violations, hours = (f"SELECT count(*) FROM {table}" for table in ("quota_violations", "onu_history"))
        assert facho.rows(violations) == [(2,)]
        assert facho.rows(hours)[0][0] > 10_000
        assert len(facho.told("onu", "list")) > 0
        demo.send_signal(signal.SIGINT)
        said = demo.communicate(timeout=PATIENCE_S)[0]
    assert demo.returncode == 0
    assert "Administrator: admin, password: " in said
    again = facho.run("demo", "--port", str(free_port()), "--seconds", "3")
    assert again.returncode == 0, again.stderr
    assert "password" not in again.stdout
    assert facho.rows("SELECT count(*) FROM onu_data") == [(3000,)]
    assert facho.rows("SELECT count(*) FROM olts") == [(6,)]
    assert facho.rows(violations) == [(2,)]


def test_collect_reads_all_that_the_family_offers(facho: OwnFacho, fleet: FleetProcess) -> None:
    host, port = fleet.addresses[0]
    facho.does("olt", "add", "norte", f"{host}:{port}")

    told = facho.told("collect", "norte")

    assert told["state"] == "SUCCESS"
    names = [part["job"] for part in told["parts"]]
    assert names == [
        "discovery", "description", "state", "optics", "model", "details", "traffic", "health", "uplinks",
        "ports", "autofind",
    ]  # fmt: skip
    assert {part["state"] for part in told["parts"]} == {"success"}
    ports, boards = "SELECT count(*) > 0 FROM pon_ports", "SELECT count(*) > 0 FROM olt_health"
    assert facho.rows(ports) == facho.rows(boards) == [(1,)]
    onus = facho.told("onu", "list", "--olt", "norte")
    assert len(onus) == ONUS
    assert all(onu["rx_dbm"] is not None for onu in onus if onu["state"] == "online")


def test_collect_of_a_job_that_is_not_there_is_refused(facho: OwnFacho, fleet: FleetProcess) -> None:
    host, port = fleet.addresses[0]
    facho.does("olt", "add", "norte", f"{host}:{port}")
    assert "there is no job" in facho.refuses("collect", "norte", "--job", "optics")
    assert "there is no OLT" in facho.refuses("collect", "sur")


def test_collect_of_a_silent_olt_says_so(facho: OwnFacho, fleet: FleetProcess) -> None:
    host, port = fleet.addresses[0]
    facho.does("olt", "add", "norte", f"{host}:{port}")
    fleet.set_scenario(Scenario(silent=True))
    done = facho.run("collect", "norte", "--json", FACHO_REQUEST_TIMEOUT="0.2", FACHO_REQUEST_RETRIES="0")
    assert done.returncode == 5
    assert "no answer" in json.loads(done.stdout)["error"]
    assert facho.rows("SELECT count(*) FROM snmp_executions WHERE state IN ('PENDING', 'RUNNING')") == [(0,)]
