"""Pollers in processes of their own, children of the engine: one interpreter uses one core.

The engine claims for all of them and sends each id, as a line of JSON, to the process with most free pollers.
A process answers with a line when it is ready and after each execution. The truth is in the database: the
executions of a process that dies are recovered when their leases have expired.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from facho.backends.local_pollers import LocalBackend, read_message, write_message
from facho.backends.poller_process import in_background, poller_process
from facho.config import Config

log = logging.getLogger(__name__)

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
# A process that ran for so long did not end because of a failed start.
_SETTLED_S: Final = 60.0
# Time for a process to end, beyond the time that its work has.
_MARGIN_S: Final = 2.0


class PollerGroup(Protocol):
    """Pollers that ids can be given to."""

    def start(self) -> None: ...

    def submit(self, execution_id: int) -> None: ...

    def free_pollers(self) -> int: ...

    def begin_stop(self) -> None:
        """Take nothing more. Those that can do it meanwhile begin to finish what they have."""

    def stop(self) -> None:
        """Return when all executions have ended or are handed back."""


class PollerGroups:
    """Groups of pollers as one: an id goes to the group with most free pollers."""

    def __init__(self, groups: Sequence[PollerGroup]) -> None:
        self._groups = groups

    def start(self) -> None:
        for group in self._groups:
            group.start()

    def submit(self, execution_id: int) -> None:
        max(self._groups, key=lambda group: group.free_pollers()).submit(execution_id)

    def free_pollers(self) -> int:
        return sum(max(0, group.free_pollers()) for group in self._groups)

    def stop(self) -> None:
        for group in self._groups:
            group.begin_stop()
        for group in self._groups:
            group.stop()


class PollerChild:
    """A process with pollers that is started again when it ends. `changed` is called when one is free."""

    def __init__(self, number: int, config: Config, changed: Callable[[], None]) -> None:
        """`config` has the pollers of this process alone."""
        self._number = number
        self._config = config
        self._changed = changed
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._free = 0
        self._thread = threading.Thread(target=self._supervise, name=f"pollers-{number}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def free_pollers(self) -> int:
        return self._free

    def submit(self, execution_id: int) -> None:
        with self._lock:
            self._free -= 1
            channel = self._channel
        # If it has died, the execution is recovered when its reservation expires, as all that it had.
        with suppress(OSError):
            if channel is not None:
                channel.sendall(write_message(execution_id).encode() + b"\n")

    def begin_stop(self) -> None:
        self._stopping.set()
        with self._lock, suppress(OSError):
            self._free = 0
            if self._channel is not None:
                self._channel.shutdown(socket.SHUT_WR)

    def stop(self) -> None:
        self.begin_stop()
        self._thread.join(self._config.stop_within.total_seconds() + _MARGIN_S)
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()
            self._thread.join()

    def _supervise(self) -> None:
        pause = _FIRST_PAUSE_S
        while not self._stopping.is_set():
            began = time.monotonic()
            code = self._run()
            if self._stopping.is_set():
                return
            settled = time.monotonic() - began > _SETTLED_S
            pause = _FIRST_PAUSE_S if settled else min(2 * pause, _LONGEST_PAUSE_S)
            log.error(
                "poller process ended, restarting",
                extra={"action": "pollers_ended", "number": self._number, "status": code, "pause": pause},
            )
            self._stopping.wait(pause)

    def _run(self) -> int:
        """Start the process, and count its free pollers until it has ended. Return its status."""
        ours, theirs = socket.socketpair()
        with ours, ours.makefile("rb") as lines:
            with theirs:
                process = _start_process(theirs, self._config.pollers)
            with self._lock:
                self._process, self._channel = process, ours
            # The stop may have come before there was a channel to close.
            if self._stopping.is_set():
                self.begin_stop()
            with suppress(OSError):
                for line in lines:
                    self._count(json.loads(line)["free"])
            with self._lock:
                self._free, self._channel = 0, None
        return process.wait()

    def _count(self, free: int) -> None:
        with self._lock:
            if not self._stopping.is_set():
                self._free += free
        self._changed()


def _start_process(channel: socket.socket, pollers: int) -> subprocess.Popen[bytes]:
    number = channel.fileno()
    argv = [sys.executable, "-m", "facho", "engine", "--pollers", str(pollers)]
    return subprocess.Popen(  # noqa: S603 - our own program
        [*argv, "--poller-channel", str(number)],
        stdin=subprocess.DEVNULL,
        pass_fds=[number],
        # Ctrl-C is for the parent, which stops its children in order.
        start_new_session=True,
    )


def run_poller_child(config: Config, channel_number: int, stopping: threading.Event) -> None:
    """Run the pollers of a child until its parent closes the channel or ends in any way."""
    with socket.socket(fileno=channel_number) as channel, poller_process(config) as process:
        os.set_inheritable(channel_number, False)
        backend = LocalBackend(process, lambda: _tell_free(channel, 1))
        backend.start()
        in_background("stop", lambda: _close_when(stopping, channel))
        log.info("pollers started", extra={"action": "pollers_started", "worker": process.runtime.worker})
        _tell_free(channel, config.pollers)
        with suppress(OSError), channel.makefile("rb") as lines:
            for line in lines:
                backend.submit(read_message(line.decode()))
        backend.stop()
        log.info("pollers stopped", extra={"action": "pollers_stopped", "worker": process.runtime.worker})


def _tell_free(channel: socket.socket, count: int) -> None:
    """Tell the parent that so many more pollers are free; a parent that is gone need not know."""
    with suppress(OSError):
        channel.sendall(json.dumps({"free": count}).encode() + b"\n")


def _close_when(stopping: threading.Event, channel: socket.socket) -> None:
    stopping.wait()
    with suppress(OSError):
        channel.shutdown(socket.SHUT_RD)
