"""Start a service, wait until it answers, and stop it whatever happens."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
LOOPBACK6 = "::1"
# A busy machine may be very slow; it costs nothing when the service answers.
START_SECONDS = 120.0
STOP_SECONDS = 5.0


class DidNotStart(Exception):
    """The process ended or stayed silent; the message has the end of its log."""


@contextlib.contextmanager
def running(
    argv: Sequence[str],
    *,
    log: Path,
    answers: Callable[[], bool],
    env: Mapping[str, str] | None = None,
    seconds: float = START_SECONDS,
) -> Iterator[None]:
    process = start([*dies_with_us(), *argv], log=log, answers=answers, env=env, seconds=seconds)
    try:
        yield
    finally:
        stop(process)


def start(
    argv: Sequence[str],
    *,
    log: Path,
    answers: Callable[[], bool],
    env: Mapping[str, str] | None = None,
    seconds: float = START_SECONDS,
) -> subprocess.Popen[bytes]:
    # What is started a second time goes on in the log of the first.
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            # Ctrl-C must reach pytest alone, which then stops the process in order.
            start_new_session=True,
        )
    try:
        _wait_until_it_answers(process, answers, log, seconds)
    except BaseException:
        stop(process)
        raise
    return process


def dies_with_us() -> list[str]:
    """A killed pytest runs no clean-up; the kernel then ends what it had started."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def _wait_until_it_answers(
    process: subprocess.Popen[bytes], answers: Callable[[], bool], log: Path, seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    while not answers():
        if process.poll() is not None:
            raise DidNotStart(f"it ended with status {process.returncode}: {_end_of(log)}")
        if time.monotonic() > deadline:
            raise DidNotStart(f"no answer in {seconds:.0f} s: {_end_of(log)}")
        time.sleep(0.02)


def _end_of(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "its log is empty"


def stop(
    process: subprocess.Popen[bytes], *, by: signal.Signals = signal.SIGTERM, seconds: float = STOP_SECONDS
) -> None:
    process.send_signal(by)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        probe.bind((LOOPBACK6, 0))
        return True
    return False


def free_udp_port() -> int:
    """A port free now on IPv4 and, where there is one, on IPv6 loopback."""
    for _ in range(50):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            ipv4 = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            ipv4.bind((LOOPBACK, 0))
            port: int = ipv4.getsockname()[1]
            if has_ipv6():
                stack.enter_context(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)).bind((LOOPBACK6, port))
            return port
    raise OSError("no UDP port is free on loopback")


def answers_snmp(host: str, port: int, community: str, wait: float = 0.2) -> Callable[[], bool]:
    """Asks an agent for its sysUpTime with a ready-made datagram, so that no client is trusted here."""
    datagram = _get_uptime(community.encode())
    family = socket.AF_INET6 if ":" in host else socket.AF_INET

    def ask() -> bool:
        with socket.socket(family, socket.SOCK_DGRAM) as client:
            client.settimeout(wait)
            try:
                client.connect((host, port))
                client.send(datagram)
                return bool(client.recv(65535))
            except (TimeoutError, ConnectionRefusedError):
                return False

    return ask


def _get_uptime(community: bytes) -> bytes:
    name = bytes.fromhex("06082b06010201010300")
    bindings = _field(0x30, _field(0x30, name + b"\x05\x00"))
    pdu = _field(0xA0, bytes.fromhex("0204000000010201000201 00") + bindings)
    return _field(0x30, b"\x02\x01\x01" + _field(0x04, community) + pdu)


def _field(tag: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([tag, len(content)]) + content
