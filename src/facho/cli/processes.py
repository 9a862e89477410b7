"""Child processes of one command: start them, restart those that end, stop them together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final

import typer

_CHECK_EVERY_S: Final = 0.2
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
# A process that ran for so long did not end because of a failed start.
_SETTLED_S: Final = 60.0
WITH_PARENT: Final = "--with-parent"
WithParent = Annotated[bool, typer.Option(WITH_PARENT, hidden=True)]


class Child:
    """A facho command in a process of its own. It ends with its standard input, so it never outlives us."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self._argv = [sys.executable, "-m", "facho", *arguments, WITH_PARENT]
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._pause = _FIRST_PAUSE_S
        self._start_at = 0.0

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            self._argv,
            stdin=subprocess.PIPE,
            env=self._environment,
            # Ctrl-C is for the parent, which stops its children in order.
            start_new_session=True,
        )
        self._started = time.monotonic()

    def restart_if_ended(self, say: Callable[[str], None]) -> None:
        """Start it again when it has ended, after a pause that doubles each time."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._start_at:
                self.start()
            return
        code = self._process.poll()
        if code is None:
            return
        self._pause = (
            _FIRST_PAUSE_S if now - self._started > _SETTLED_S else min(2 * self._pause, _LONGEST_PAUSE_S)
        )
        say(f"The {self.name} ended with status {code}; it is restarted in {self._pause:g} s.")
        self._process, self._start_at = None, now + self._pause

    def stop(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self, until: float) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def run_children(
    children: Sequence[Child], stopping: threading.Event, patience: float, say: Callable[[str], None]
) -> None:
    """Run the children until `stopping` is set; then each has `patience` seconds to end."""
    try:
        for child in children:
            child.start()
        while not stopping.wait(_CHECK_EVERY_S):
            for child in children:
                child.restart_if_ended(say)
    finally:
        for child in children:
            child.stop()
        until = time.monotonic() + patience
        for child in children:
            child.wait(until)


def stop_on_signals() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set. A second Ctrl-C ends the process at once."""
    stopping = threading.Event()

    def stop(number: int, frame: object) -> None:  # noqa: ARG001
        stopping.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    return stopping


def stop_with_parent(stopping: threading.Event) -> None:
    """Set `stopping` when standard input ends, which it does when the parent has ended in any way."""

    def watch() -> None:
        # Not by sys.stdin: Python cannot end while a thread reads its buffer, and aborts.
        while os.read(0, 1024):
            pass
        stopping.set()

    threading.Thread(target=watch, name="parent", daemon=True).start()
