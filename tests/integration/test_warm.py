"""The processes that tests fork instead of starting them: real ones, with a pid, signals and a status."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.services import warm
from tests.waiting import wait_until

# Runs until it is told to end. On a free port, since two run at once.
LASTING: Final = ("sim", "--olts", "1", "--onus", "1", "--base-port", "0")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[], warm.Process]]:
    """A simulated OLT, once it has said that it is there."""
    processes: list[warm.Process] = []

    def start() -> warm.Process:
        output = tmp_path / f"{len(processes)}.out"
        with output.open("wb") as file:
            processes.append(warm.start(LASTING, env=os.environ, output=file))
        wait_until(output.read_bytes, what="it says where it is")
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def state(process: warm.Process) -> str:
    """One letter, as Linux has it."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_it_has_a_pid_and_a_session_of_its_own(started: Callable[[], warm.Process]) -> None:
    first, second = started(), started()
    assert first.pid != second.pid
    assert os.getsid(first.pid) == first.pid
    assert first.poll() is second.poll() is None


def test_it_is_stopped_and_goes_on(started: Callable[[], warm.Process]) -> None:
    process = started()
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state(process) == "T", what="it stands still")
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: state(process) != "T", what="it goes on")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_its_status_is_told_and_it_is_gone(
    started: Callable[[], warm.Process], number: signal.Signals
) -> None:
    process = started()
    process.send_signal(number)
    assert process.wait(60) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    assert process.poll() == process.returncode
    assert not Path(f"/proc/{process.pid}").exists()
    # Nobody else is meant by now.
    process.kill()


def test_settings_are_those_of_each_process() -> None:
    told = [
        warm.run(["olt", "list"], env={**os.environ, "FACHO_POLLERS": pollers}).stderr
        for pollers in ("many", "few")
    ]
    assert "many" in told[0]
    assert "few" in told[1]


def test_it_ends_with_the_process_that_it_was_forked_from(tmp_path: Path) -> None:
    """Which ends with the tests, even when they are killed."""
    forks = warm.Warm()
    output = tmp_path / "out"
    with Path(os.devnull).open("rb") as nothing, output.open("wb") as file:
        process = forks.start(LASTING, [nothing, file, file], os.environ)
    wait_until(output.read_bytes, what="it says where it is")
    handle = os.pidfd_open(process.pid)
    forks.stop()
    ended, _, _ = select.select([handle], [], [], 60)
    os.close(handle)
    assert ended
