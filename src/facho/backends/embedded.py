"""Everything in one process: the scheduler, the pollers and the SNMP loop, with no other service."""

from __future__ import annotations

import logging
import threading

from django.db import connection

from facho.backends.local import LocalBackend
from facho.backends.poller_process import in_background, poller_process
from facho.config import Config
from facho.engine.coordinate.coordinator import run_coordinator_loop
from facho.engine.events.sender import run_sender_loop
from facho.engine.schedule.loop import SchedulerLoop
from facho.engine.upkeep.housekeeping import keep_house_until

log = logging.getLogger(__name__)


def run_embedded(config: Config, stopping: threading.Event) -> None:
    """Until `stopping` is set; then finishes or hands back what runs, within `config.stop_within`."""
    with poller_process(config) as process:
        # The scheduler and the backend each need the other: one wakes, the other submits.
        wake = threading.Event()
        backend = LocalBackend(process.runtime, process.activity, wake.set)
        backend.start()
        in_background("waker", lambda: _wake_when(stopping, wake))
        others = (
            in_background("coordinator", lambda: run_coordinator_loop(stopping, config)),
            in_background("notifications", lambda: run_sender_loop(stopping, config)),
            in_background("housekeeping", lambda: keep_house_until(stopping, config)),
        )
        log.info("engine started", extra={"action": "engine_started", "worker": process.runtime.worker})
        try:
            SchedulerLoop(config, backend, process.activity, wake).run(stopping)
        finally:
            stopping.set()
            backend.stop()
            for thread in others:
                thread.join(config.stop_within.total_seconds())
            log.info("engine stopped", extra={"action": "engine_stopped", "worker": process.runtime.worker})
    connection.close()


def _wake_when(stopping: threading.Event, wake: threading.Event) -> None:
    stopping.wait()
    wake.set()
