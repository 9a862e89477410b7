"""`facho up` sends samples to a real Prometheus, also after the sender was killed and Prometheus was away."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from tests.integration.own_facho import OwnFacho, new_facho
from tests.integration.test_cli_up import children_of, free_port, running
from tests.services.prometheus import Prometheus
from tests.waiting import wait_until


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    return new_facho(tmp_path_factory)


def sender_of(pid: int) -> int | None:
    """Return the process of `facho up` that sends."""
    for child in children_of(pid):
        if b"remote-write" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    return None


def count_sent(prometheus: Prometheus) -> int:
    found = prometheus.samples("facho_olt_online", time.time() + 1)
    return sum(map(len, found.values()))


def is_failing(facho: OwnFacho) -> bool:
    return facho.rows("SELECT failing_since IS NOT NULL FROM remote_write_totals") == [(1,)]


def test_a_killed_sender_and_a_receiver_that_was_away_are_followed_by_more_samples(
    facho: OwnFacho, own_prometheus: Prometheus
) -> None:
    settings = {
        "FACHO_REMOTE_WRITE_URL": own_prometheus.write_url,
        "FACHO_REMOTE_WRITE_STEP": "0.2",
        "FACHO_REMOTE_WRITE_TOKEN": "a-secret-of-the-test",
    }
    with FleetProcess(FleetConfig(olts=1, onus=10)) as fleet:
        host, port = fleet.addresses[0]
        facho.does("olt", "add", "olt-0", f"{host}:{port}")
        facho.does(
            "job", "add", "discovery", "--kind", "discovery", "--interval", "1h", "--all",
            FACHO_FIRST_RUN_DELAY="1",
        )  # fmt: skip
        with running(facho, "up", "--address", f"127.0.0.1:{free_port()}", **settings) as up:
            wait_until(lambda: count_sent(own_prometheus) > 0)
            first = sender_of(up.pid)
            assert first is not None
            assert b"a-secret-of-the-test" not in Path(f"/proc/{first}/cmdline").read_bytes()
            os.kill(first, signal.SIGKILL)
            wait_until(lambda: sender_of(up.pid) not in (None, first))
            own_prometheus.stop()
            # What the killed one had claimed.
            facho.rows("UPDATE remote_write_cursors SET due_at = '2000-01-01 00:00:00'")
            wait_until(lambda: is_failing(facho))
            own_prometheus.start()
            before = count_sent(own_prometheus)
            wait_until(lambda: count_sent(own_prometheus) > before)
            wait_until(lambda: not is_failing(facho))
    logs = "".join(path.read_text() for path in (facho.home / "logs").glob("*.log"))
    assert "remote_write_failed" in logs
    assert "a-secret-of-the-test" not in logs
