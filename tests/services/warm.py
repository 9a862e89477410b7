"""Commands of facho that start at once: most of the second that one takes to start goes into imports.

Each has a process of its own, as a person's has. It is forked from one that has imported what they all
import, and has read no settings yet: those are the command's.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from typing import IO, Final

SECONDS: Final = 120.0
LONGEST_REQUEST: Final = 100_000
# Importable without Django's settings, every module of them.
PACKAGES: Final = ("facho.core", "facho.snmp", "facho.vendors")
MODULES: Final = (
    *("django", "django.conf.urls", "django.contrib.admin", "django.contrib.auth.hashers"),
    *("django.core.management", "django.db.backends.sqlite3.base", "django.db.migrations.executor"),
    *("django.forms", "django.template.context_processors", "django.urls", "django.utils.translation"),
    *("facho.config", "facho.keys", "facho.masking", "typer._adapters", "rich.table", "uvloop"),
)


class Warm:
    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.settimeout(SECONDS)
        number = theirs.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(number)],
            pass_fds=(number,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()

    def run(self, words: Sequence[str], files: Sequence[IO[bytes]], environment: Mapping[str, str]) -> int:
        """The status of the command, which reads the first of the files and writes to the others."""
        request = json.dumps([list(words), dict(environment), os.getcwd()])
        socket.send_fds(self._line, [request.encode()], [file.fileno() for file in files])
        return int(self._line.recv(LONGEST_REQUEST))

    def stop(self) -> None:
        self._line.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@cache
def _warm() -> Warm:
    warm = Warm()
    atexit.register(warm.stop)
    return warm


def run(
    words: Sequence[str], *, env: Mapping[str, str] = os.environ, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with the command's output captured."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(given.encode())
        files[0].seek(0)
        status = _warm().run(words, files, env)
        for file in files:
            file.seek(0)
        return subprocess.CompletedProcess(words, status, files[1].read().decode(), files[2].read().decode())


def serve(line: socket.socket) -> None:
    _import_all()
    while True:
        request, files, _, _ = socket.recv_fds(line, LONGEST_REQUEST, 3)
        if not request:
            return
        child = os.fork()
        if child == 0:
            line.close()
            _become(files, *json.loads(request))
            return
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        line.send(str(os.waitstatus_to_exitcode(status)).encode())


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


def _become(files: list[int], words: list[str], environment: dict[str, str], folder: str) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["facho", *words]
    runpy.run_module("facho", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
