"""Processes of facho that start at once: most of the second that one takes to start goes into imports.

Each is a process of its own, as a person's is. It is forked from one that has imported what they all
import, and has read no settings yet: those are the command's.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Final

SECONDS: Final = 300.0
LONGEST_REQUEST: Final = 100_000
# Importable without Django's settings, every module of them.
PACKAGES: Final = ("facho.core", "facho.snmp", "facho.vendors")
MODULES: Final = (
    *("django", "django.conf.urls", "django.contrib.admin", "django.contrib.auth.hashers"),
    *("django.core.management", "django.db.backends.sqlite3.base", "django.db.migrations.executor"),
    *("django.forms", "django.template.context_processors", "django.urls", "django.utils.translation"),
    *("facho.config", "facho.keys", "facho.masking", "typer._adapters", "rich.table", "uvloop"),
    # Of workers and beats.
    *("celery.apps.worker", "celery.beat", "celery.concurrency.thread", "celery.fixups.django"),
    *("celery.worker.consumer", "django.db.backends.postgresql.base", "kombu.transport.redis"),
)
FAULTHANDLER: Final = "PYTHONFAULTHANDLER"
# The number that Linux has for it.
PR_SET_PDEATHSIG: Final = 1


class Process:
    """A started command, with what tests use of `subprocess.Popen`."""

    def __init__(self, warm: Warm, pid: int, args: Sequence[str]) -> None:
        self.args = list(args)
        self.pid = pid
        self.returncode: int | None = None
        self._warm = warm
        # The process is not reaped before `poll` says so: the pid is its own until then.
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        if self.returncode is None and self._has_ended(0.0):
            self._reap()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not self._has_ended(timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._reap()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _has_ended(self, timeout: float | None) -> bool:
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(None if timeout is None else timeout * 1000))

    def _reap(self) -> None:
        self.returncode = self._warm.ask(["reap", self.pid])
        os.close(self._handle)


class Warm:
    """The process that others are forked from, and the line to it."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.settimeout(SECONDS)
        self._turn = threading.Lock()
        number = theirs.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(number)],
            pass_fds=(number,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()

    def start(
        self, words: Sequence[str], files: Sequence[IO[bytes]], environment: Mapping[str, str]
    ) -> Process:
        """The command reads the first of the files and writes to the others."""
        numbers = [file.fileno() for file in files]
        pid = self.ask(["start", list(words), dict(environment), os.getcwd()], numbers)
        return Process(self, pid, ["facho", *words])

    def ask(self, request: object, files: Sequence[int] = ()) -> int:
        with self._turn:
            socket.send_fds(self._line, [json.dumps(request).encode()], files)
            answer = self._line.recv(LONGEST_REQUEST)
        assert answer, "the process that commands are forked from has ended"
        return int(answer)

    def stop(self) -> None:
        self._line.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@cache
def _warm() -> Warm:
    warm = Warm()
    atexit.register(warm.stop)
    return warm


def start(words: Sequence[str], *, env: Mapping[str, str], output: IO[bytes]) -> Process:
    """A command that goes on running. It has no input, and a session of its own; it ends when we do."""
    with Path(os.devnull).open("rb") as nothing:
        return _warm().start(words, [nothing, output, output], env)


def run(
    words: Sequence[str], *, env: Mapping[str, str] = os.environ, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with the command's output captured."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(given.encode())
        files[0].seek(0)
        status = _warm().start(words, files, env).wait(SECONDS)
        for file in files:
            file.seek(0)
        return subprocess.CompletedProcess(words, status, files[1].read().decode(), files[2].read().decode())


def serve(line: socket.socket) -> None:
    """Starts a command, or tells the status of one that has ended, until nobody is there to ask."""
    _import_all()
    while True:
        request, files, _, _ = socket.recv_fds(line, LONGEST_REQUEST, 3)
        if not request:
            return
        what, *rest = json.loads(request)
        if what == "reap":
            _, status = os.waitpid(rest[0], 0)
            line.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        _check_that_nothing_has_begun()
        ours = os.getpid()
        child = os.fork()
        if child == 0:
            line.close()
            _end_with(ours)
            _become(files, *rest)
            return
        for file in files:
            os.close(file)
        line.send(str(child).encode())


def _import_all() -> None:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    for name in MODULES:
        import_module(name)
    import_module("facho.vendors.library").builtin()
    commands = import_module("facho.cli")
    for name in set(commands.COMMANDS.values()):
        import_module(f"facho.cli.{name}")
    # A collection would copy all pages of what is shared.
    gc.freeze()


def _check_that_nothing_has_begun() -> None:
    """What a forked process cannot share: threads, and settings that are those of another one."""
    assert len(os.listdir("/proc/self/task")) == 1, "an import has started a thread"
    assert not import_module("django.conf").settings.configured, "an import has read the settings"


def _become(files: list[int], words: list[str], environment: dict[str, str], folder: str) -> None:
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    time.tzset()
    if FAULTHANDLER in environment:
        faulthandler.enable()
    sys.argv = ["facho", *words]
    runpy.run_module("facho", run_name="__main__", alter_sys=True)


def _end_with(parent: int) -> None:
    """It ends when the tests do, however they end."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
