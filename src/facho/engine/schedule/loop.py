"""The loops of an engine process: each is `while not stopping: step`, and survives what a step raises."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta
from typing import Final, Protocol

from django.db import connection

from facho.apps.db.clock import database_now
from facho.config import Config
from facho.engine.process.leases import LeaseKeeper
from facho.engine.process.loops import run_loop, run_step
from facho.engine.process.snmp_loop import SnmpTask
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.pollers import PollerActivity, update_heartbeat
from facho.engine.schedule.probes import claim_due_probes, run_probes
from facho.engine.schedule.runner import Runtime
from facho.engine.schedule.step import step_now

log = logging.getLogger(__name__)

_PROBE_EVERY: Final = timedelta(seconds=1)


class Backend(Protocol):
    """How an execution's id reaches a poller."""

    def submit(self, execution_id: int) -> None: ...

    def room(self) -> int | None:
        """How many more it can take at once; None when it has a queue of its own that others empty too."""


class SchedulerLoop:
    """Steps every second, and claims in between as soon as a poller is free again."""

    def __init__(
        self, config: Config, backend: Backend, activity: PollerActivity, wake: threading.Event
    ) -> None:
        """`wake` is set when an execution ended: who waits for its OLT or its poller is next."""
        self._config = config
        self._backend = backend
        self._activity = activity
        self._wake = wake

    def run(self, stopping: threading.Event) -> None:
        every = self._config.scheduler_step.total_seconds()
        next_step = time.monotonic()
        while not stopping.is_set():
            if time.monotonic() >= next_step:
                run_step("scheduler", self.step)
                next_step = max(next_step + every, time.monotonic())
            run_step("assign", self.assign)
            self._wake.wait(max(0.0, next_step - time.monotonic()))
            self._wake.clear()
        connection.close()

    def step(self) -> None:
        self._activity.write(step_now(self._config))

    def assign(self) -> None:
        for execution_id in claim_executions(database_now(), self._config, room=self._backend.room()):
            self._backend.submit(execution_id)


def run_heartbeat_loop(
    runtime: Runtime, pollers: int, activity: PollerActivity, stopping: threading.Event
) -> None:
    """Renews the leases, and shows that this process lives."""

    def step() -> None:
        # Leases first: they cannot wait for anything else that fails.
        runtime.keeper.renew()
        now = database_now()
        # Who stops takes nothing more.
        lent = 0 if runtime.stopping.is_set() else pollers
        update_heartbeat(runtime.worker, lent, now, runtime.queues)
        activity.write(now, always=True)

    run_loop("keeper", step, runtime.config.lease_renew, stopping)


def run_lease_loop(keeper: LeaseKeeper, config: Config, stopping: threading.Event) -> None:
    """For a process that has no pollers: somebody collects by hand."""
    run_loop("keeper", keeper.renew, config.lease_renew, stopping)


def run_probe_loop(runtime: Runtime, stopping: threading.Event) -> None:
    def step() -> None:
        due = claim_due_probes(database_now(), runtime.config)
        run_probes(due, SnmpTask(runtime.snmp).run, runtime.snmp.aside, runtime.config)

    run_loop("probes", step, _PROBE_EVERY, stopping)
