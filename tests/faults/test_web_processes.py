"""Several web processes at one address: one that is killed is replaced, and all of them end together."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.integration.own_facho import OwnFacho, new_facho
from tests.integration.test_behind_a_proxy import answers, free_port
from tests.services import process
from tests.waiting import PATIENCE_S, wait_until

LISTENING = "0A"


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    return new_facho(tmp_path_factory)


def children_of(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def listeners(port: int) -> int:
    """How many sockets wait for connections at a port."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(row[3] == LISTENING and row[1].endswith(f":{port:04X}") for row in rows)


def test_they_share_an_address_and_a_killed_one_is_replaced(facho: OwnFacho, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "web.log"
    settings = {
        "FACHO_HOME": str(facho.home),
        "FACHO_WEB_ADDRESS": f"127.0.0.1:{port}",
        "FACHO_WEB_PROCESSES": "2",
    }
    argv = [sys.executable, "-m", "facho", "web"]
    web = process.start(argv, log=log, answers=lambda: answers(port), env=settings, seconds=PATIENCE_S)
    try:
        wait_until(lambda: listeners(port) == 2, what="both processes listen")
        first, second = children_of(web.pid)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: listeners(port) == 1, what="the killed one listens no more")
        # Every new connection goes to the other one.
        assert all(answers(port) for _ in range(5))
        wait_until(lambda: listeners(port) == 2, what="another one listens")
        assert second in children_of(web.pid)
        assert "web" in log.read_text()
        web.send_signal(signal.SIGTERM)
        assert web.wait(PATIENCE_S) == 0
        assert listeners(port) == 0
    finally:
        process.stop(web)


def test_an_address_that_is_taken_is_refused(facho: OwnFacho) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        said = facho.refuses("web", FACHO_WEB_PROCESSES="2", FACHO_WEB_ADDRESS=address)
    assert "cannot be served" in said
