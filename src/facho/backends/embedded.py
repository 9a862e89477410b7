"""Everything in one process: the scheduler, the pollers and the SNMP loop, with no other service."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable

from django.db import connection

from facho.backends.local import LocalBackend
from facho.config import Config
from facho.engine.clock import database_now
from facho.engine.leases import Keeper
from facho.engine.loop import SchedulerLoop, attempt, keep_alive, keep_probing
from facho.engine.pollers import Board, leave, register
from facho.engine.runner import Runtime
from facho.engine.snmp_loop import SnmpLoop
from facho.vendors import builtin

log = logging.getLogger(__name__)

# The thread that reads datagrams must not wait long for one that decodes.
_SWITCH_S = 0.0005


def worker_name() -> str:
    """Of this process alone, also when its number comes round again."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


def run_embedded(config: Config, stopping: threading.Event) -> None:
    """Until `stopping` is set; then finishes or hands back what runs, within `config.stop_within`."""
    sys.setswitchinterval(_SWITCH_S)
    # Before several pollers want them at once.
    builtin()
    name = worker_name()
    register(name, config.pollers, database_now())
    with SnmpLoop() as snmp:
        runtime = Runtime(config, name, snmp, Keeper(config))
        board = Board(name, config.pollers, database_now())
        # The scheduler and the backend each need the other: one wakes, the other submits.
        wake = threading.Event()
        backend = LocalBackend(runtime, board, wake.set)
        scheduler = SchedulerLoop(config, backend, board, wake)
        ending = threading.Event()
        helpers = [
            _thread("keeper", lambda: keep_alive(runtime, config.pollers, board, ending)),
            _thread("probes", lambda: keep_probing(runtime, stopping)),
        ]
        backend.start()
        log.info("engine started", extra={"action": "engine_started", "worker": name})
        _thread("waker", lambda: _wake_when(stopping, wake))
        try:
            scheduler.run(stopping)
        finally:
            stopping.set()
            backend.stop()
            ending.set()
            for thread in helpers:
                thread.join(config.stop_within.total_seconds())
            attempt("stop", lambda: leave(name))
            connection.close()
            log.info("engine stopped", extra={"action": "engine_stopped", "worker": name})


def _wake_when(stopping: threading.Event, wake: threading.Event) -> None:
    stopping.wait()
    wake.set()


def _thread(name: str, target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread
