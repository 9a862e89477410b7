"""A database that is locked, or whose disk is full: the engine complains, waits, and goes on by itself."""

import contextlib
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from tests.faults.engines import Facho, set_up
from tests.waiting import wait_until

OLTS = 2
ONUS = 100
JOBS = (("discovery", "--kind", "discovery", "--brand", "huawei", "--interval", "2s"),)


@pytest.fixture
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=OLTS, onus=ONUS)) as fleet:
        yield fleet


@contextlib.contextmanager
def locked(url: str) -> Iterator[None]:
    """Nobody can write, and on PostgreSQL nobody can read either."""
    if url.startswith("sqlite:///"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")
            connection.close()
    else:
        with psycopg.connect(url) as server:
            server.execute("LOCK TABLE snmp_executions, snmp_job_hosts IN ACCESS EXCLUSIVE MODE")
            yield
            server.rollback()


def collects_again(facho: Facho) -> float:
    before = facho.states().get("SUCCESS", 0)
    return wait_until(lambda: facho.states().get("SUCCESS", 0) >= before + 2 * OLTS, what="it collects again")


def complaints(facho: Facho) -> int:
    return (facho.home / "logs" / "engine.log").read_text().count("database_failed")


def assert_all_is_well(facho: Facho, fleet: FleetProcess) -> None:
    assert {"PENDING", "RUNNING"}.isdisjoint(facho.states())
    assert facho.one("SELECT count(*) FROM onu_data WHERE presence = 'present'") == OLTS * ONUS
    assert [olt.overlaps for olt in fleet.report().olts] == [0] * OLTS


@pytest.mark.both_databases
def test_a_locked_database_is_waited_for(tmp_path: Path, database_url: str, fleet: FleetProcess) -> None:
    facho = Facho(tmp_path, database_url)
    set_up(facho, fleet, JOBS)
    with facho.engine() as engine:
        wait_until(lambda: facho.states().get("SUCCESS", 0) >= OLTS, what="it collects")
        before = complaints(facho)
        with locked(database_url):
            wait_until(lambda: complaints(facho) > before, what="it complains")
        print(f"collects again {collects_again(facho):.1f} s after the lock was gone")
        engine.stop()
    assert_all_is_well(facho, fleet)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_waited_out(small_disk: Path, fleet: FleetProcess) -> None:
    facho = Facho(small_disk, f"sqlite:///{small_disk / 'facho.db'}")
    set_up(facho, fleet, JOBS)
    filler = small_disk / "filler"
    with facho.engine() as engine:
        wait_until(lambda: facho.states().get("SUCCESS", 0) >= OLTS, what="it collects")
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        wait_until(lambda: "disk is full" in engine.log.read_text(), what="it complains")
        assert engine.process.poll() is None, "it lives on"
        filler.unlink()
        print(f"collects again {collects_again(facho):.1f} s after there was room")
        engine.stop()
    assert_all_is_well(facho, fleet)
