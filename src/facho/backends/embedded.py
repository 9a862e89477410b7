"""Everything on one machine, with no other service: the scheduler, and pollers in one or more processes."""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import replace

from django.db import connection

from facho.apps.db.database import database_now
from facho.backends.local_pollers import LocalBackend
from facho.backends.poller_children import PollerChild, PollerGroups
from facho.backends.poller_process import in_background, poller_process
from facho.config import Config
from facho.core import pool
from facho.engine.coordinate.coordinator import run_coordinator_loop
from facho.engine.events.sender import run_sender_loop
from facho.engine.schedule.scheduler import SchedulerLoop
from facho.engine.upkeep.housekeeping import run_housekeeping_loop

log = logging.getLogger(__name__)


def run_embedded(config: Config, stopping: threading.Event) -> None:
    """Run until `stopping` is set; then finish or hand back what runs, within `config.stop_within`."""
    count = pool.poller_processes(_count_cores(), config.pollers, config.poller_processes)
    own, *others = (replace(config, pollers=each) for each in pool.share_pollers(config.pollers, count))
    with poller_process(own) as process:
        # The scheduler and the backend each need the other: one wakes, the other submits.
        wake = threading.Event()
        children = (PollerChild(number, each, wake.set) for number, each in enumerate(others, 2))
        backend = PollerGroups([LocalBackend(process, wake.set), *children])
        backend.start()
        in_background("waker", lambda: _wake_when(stopping, wake))
        loops = (
            in_background("coordinator", lambda: run_coordinator_loop(stopping, config)),
            in_background("notifications", lambda: run_sender_loop(stopping, config)),
            in_background("housekeeping", lambda: run_housekeeping_loop(stopping, config)),
        )
        log.info("engine started", extra={"action": "engine_started", "worker": process.runtime.worker})
        try:
            SchedulerLoop(config, backend, process.activity, wake, database_now).run(stopping)
        finally:
            stopping.set()
            backend.stop()
            for thread in loops:
                thread.join(config.stop_within.total_seconds())
            log.info("engine stopped", extra={"action": "engine_stopped", "worker": process.runtime.worker})
    connection.close()


def _count_cores() -> int:
    """Return the cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _wake_when(stopping: threading.Event, wake: threading.Event) -> None:
    stopping.wait()
    wake.set()
