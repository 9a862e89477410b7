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
from facho.engine.process.leases import LeaseKeeper
from facho.engine.process.loops import run_step
from facho.engine.process.snmp_loop import SnmpLoop
from facho.engine.schedule.loop import run_heartbeat_loop, run_probe_loop
from facho.engine.schedule.pollers import PollerActivity, register_worker, unregister_worker
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
    activity: PollerActivity


@contextmanager
def poller_process(
    config: Config, queues: frozenset[str] = frozenset(SNMP_QUEUES)
) -> Iterator[PollerProcess]:
    """Registered and alive until the end of the block; whoever uses it has stopped its pollers by then."""
    sys.setswitchinterval(_SWITCH_S)
    # Before several pollers want them at once.
    builtin()
    sql.resize_pool(most_connections(config.pollers))
    name = worker_name()
    register_worker(name, config.pollers, database_now(), queues)
    ending = threading.Event()
    with SnmpLoop() as snmp, young_objects_only():
        runtime = Runtime(config, name, snmp, LeaseKeeper(config), queues)
        activity = PollerActivity(name, config.pollers, database_now())
        threads = [
            in_background("keeper", lambda: run_heartbeat_loop(runtime, config.pollers, activity, ending)),
            in_background("probes", lambda: run_probe_loop(runtime, ending)),
            in_background("garbage", lambda: collect_until(ending)),
        ]
        try:
            yield PollerProcess(runtime, activity)
        finally:
            ending.set()
            for thread in threads:
                thread.join(config.stop_within.total_seconds())
            # This thread's connection may be older than the database's last restart.
            connection.close()
            run_step("stop", lambda: unregister_worker(name))


def in_background(name: str, target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread
