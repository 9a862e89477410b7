"""A process with pollers, however ids reach it: SNMP loop, leases, heartbeat and garbage collection."""

from __future__ import annotations

import gc
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.db import connection

from facho.apps.db.database import database_now, resize_pool
from facho.apps.zabbix_pollers.store import register_worker, unregister_worker, update_heartbeat
from facho.config import Config
from facho.core.pool import SNMP_QUEUES
from facho.databases import most_connections
from facho.engine.process.loops import run_loop, run_step
from facho.engine.schedule.probes import run_probe_loop
from facho.engine.schedule.runner import PollerActivity, Runtime, SnmpLoop, run_execution
from facho.vendors import profiles_in_use

# The share of the time to stop in that executions are given to end by themselves.
FINISH_SHARE: Final = 0.8
# The thread that reads datagrams must not wait long for one that decodes.
_SWITCH_S: Final = 0.0005
_COLLECT_ALL_EVERY_S: Final = 60
# New objects between two collections of the youngest, and such collections between two of what those left
# over: they look at 45,000 objects at most.
_NEW_OBJECTS: Final = 5_000
_YOUNG_COLLECTIONS: Final = 8
_NEVER: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PollerProcess:
    runtime: Runtime
    activity: PollerActivity

    def run(self, execution_id: int, poller: int) -> None:
        """Run an execution. One that is lost to the database is run again when its lease has expired."""
        begun = partial(self.activity.begin, poller)
        run_step(
            "poller",
            lambda: run_execution(execution_id, self.runtime, begun=begun),
            execution_id=execution_id,
        )
        self.activity.end(poller)

    def run_heartbeat_loop(self, stopping: threading.Event) -> None:
        """Renew the leases, and show that this process is alive."""
        run_loop("keeper", self._heartbeat, self.runtime.config.lease_renew, stopping)

    def _heartbeat(self) -> None:
        runtime = self.runtime
        # Leases first: they cannot wait for anything else that fails.
        runtime.leases.renew()
        now = runtime.clock()
        # A process that stops takes nothing more.
        pollers = 0 if runtime.stopping.is_set() else runtime.config.pollers
        update_heartbeat(runtime.worker, pollers, now, runtime.queues)
        self.activity.write(now, always=True)


@contextmanager
def poller_process(
    config: Config, queues: frozenset[str] = frozenset(SNMP_QUEUES)
) -> Iterator[PollerProcess]:
    """Register a worker and keep it alive until the end of the block; its pollers have stopped by then."""
    sys.setswitchinterval(_SWITCH_S)
    # Before several pollers want them at once.
    profiles_in_use()
    resize_pool(most_connections(config.pollers))
    name, now = worker_name(), database_now()
    register_worker(name, config.pollers, now, queues)
    ending = threading.Event()
    with SnmpLoop() as snmp, collect_young_objects_only():
        runtime = Runtime(config, name, snmp, database_now, queues)
        process = PollerProcess(runtime, PollerActivity(name, config.pollers, now))
        threads = [
            in_background("keeper", lambda: process.run_heartbeat_loop(ending)),
            in_background("probes", lambda: run_probe_loop(runtime, ending)),
            in_background("garbage", lambda: _collect_garbage_until(ending)),
        ]
        try:
            yield process
        finally:
            ending.set()
            for thread in threads:
                thread.join(config.stop_within.total_seconds())
            # This thread's connection may be older than the database's last restart.
            connection.close()
            run_step("stop", lambda: unregister_worker(name))


def worker_name() -> str:
    """Return a name that no other process has or had, also when its process id is used again."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


def in_background(name: str, target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread


@contextmanager
def collect_young_objects_only() -> Iterator[None]:
    """Let automatic garbage collections look at young objects only, and never at those that exist already.

    By itself Python looks at all objects of the process whenever they have become a quarter more. An OLT that
    sends hundreds of thousands of values would cause that again and again, and the SNMP loop would wait each
    time (docs/decisions/0009-limits-on-answers.md).
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG_COLLECTIONS, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _collect_garbage_until(ending: threading.Event) -> None:
    """Collect the garbage of all ages once a minute."""
    while not ending.wait(_COLLECT_ALL_EVERY_S):
        gc.collect()
