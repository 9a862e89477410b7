"""What every process with pollers has, however ids reach it: the SNMP loop, the leases, and signs of life."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.db.clock import database_now
from facho.backends.garbage_collection import collect_until, young_objects_only
from facho.config import Config
from facho.core.queue import SNMP_QUEUES
from facho.databases import most_connections
from facho.engine.process.leases import Keeper
from facho.engine.process.loops import attempt
from facho.engine.process.snmp_loop import SnmpLoop
from facho.engine.schedule.loop import keep_alive, keep_probing
from facho.engine.schedule.pollers import Board, leave, register
from facho.engine.schedule.runner import Runtime
from facho.vendors import builtin

# The thread that reads datagrams must not wait long for one that decodes.
_SWITCH_S: Final = 0.0005


def worker_name() -> str:
    """Of this process alone, also when its number comes round again."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True)
class PollerProcess:
    runtime: Runtime
    board: Board


@contextmanager
def poller_process(
    config: Config, queues: frozenset[str] = frozenset(SNMP_QUEUES)
) -> Iterator[PollerProcess]:
    """Registered and alive until the end of the block; whoever uses it has stopped its pollers by then."""
    sys.setswitchinterval(_SWITCH_S)
    # Before several pollers want them at once.
    builtin()
    sql.make_room(most_connections(config.pollers))
    name = worker_name()
    register(name, config.pollers, database_now(), queues)
    ending = threading.Event()
    with SnmpLoop() as snmp, young_objects_only():
        runtime = Runtime(config, name, snmp, Keeper(config), queues)
        board = Board(name, config.pollers, database_now())
        threads = [
            in_background("keeper", lambda: keep_alive(runtime, config.pollers, board, ending)),
            in_background("probes", lambda: keep_probing(runtime, ending)),
            in_background("garbage", lambda: collect_until(ending)),
        ]
        try:
            yield PollerProcess(runtime, board)
        finally:
            ending.set()
            for thread in threads:
                thread.join(config.stop_within.total_seconds())
            # This thread's connection may be older than the database's last restart.
            connection.close()
            attempt("stop", lambda: leave(name))


def in_background(name: str, target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread
