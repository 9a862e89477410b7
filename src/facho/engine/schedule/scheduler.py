"""The scheduler: its step, which anybody with a clock can call, and the loop of the embedded engine."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from django.db import connection

from facho.apps.db import sql
from facho.apps.db.database import Clock, ClockJumpDetector, time_for_statement
from facho.apps.execution_coordinator.models import CoordinatorState
from facho.config import Config
from facho.core.steps import SCHEDULER
from facho.engine.coordinate.maintenance import abort_in_maintenance
from facho.engine.process.leases import SEND_SHARE
from facho.engine.process.loops import StepFailures, run_step
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.idle_check import last_step_if_idle
from facho.engine.schedule.recovery import Recovered, extend_leases_after_clock_jump, recover
from facho.engine.schedule.runner import PollerActivity, write_poller_stats
from facho.engine.schedule.slots import QueueResult, queue_due_slots, reset_slots_too_far_ahead

_CHECK_EVERY: Final = timedelta(seconds=60)
_RECORD_STEP: Final = (
    "INSERT INTO coordinator_state (name, value, updated_at) VALUES (%s, '{}', %s)"
    " ON CONFLICT (name) DO UPDATE SET updated_at = excluded.updated_at"
)


@dataclass(frozen=True, slots=True)
class StepResult:
    queued: QueueResult
    recovered: Recovered


def scheduler_step(now: datetime, config: Config, jumps: ClockJumpDetector | None = None) -> StepResult:
    """Recover lost executions, queue due slots, end what may not run, and record that the step was made.

    Claiming is not part of it. A part that fails does not keep the others from running.
    """
    ahead = timedelta() if jumps is None else jumps.since_last(now)
    # Half of what a holder stops earlier than its lease: less than that harms nobody.
    if ahead > config.lease * (1 - SEND_SHARE) / 2:
        extend_leases_after_clock_jump(now, ahead, config)
    failures = StepFailures()
    last = failures.run(lambda: last_step_if_idle(now, config), None)
    if last is not None and not _is_check_due(last, now):
        _record_step(now)
        return StepResult(QueueResult(), Recovered())
    recovered = failures.run(lambda: recover(now, config), Recovered())
    failures.run(lambda: _check_slots(now, config), None)
    queued = failures.run(lambda: _queue_and_record(now, config), QueueResult())
    failures.run(lambda: abort_in_maintenance(now, config), None)
    failures.run(lambda: write_poller_stats(now, config), None)
    failures.raise_first()
    return StepResult(queued, recovered)


def _check_slots(now: datetime, config: Config) -> None:
    last = CoordinatorState.objects.filter(name=SCHEDULER).values_list("updated_at", flat=True).first()
    if last is None or _is_check_due(last, now):
        reset_slots_too_far_ahead(now, config)


def _is_check_due(last: datetime, now: datetime) -> bool:
    """Once a minute, and when the last step was long ago or is in the future."""
    every = _CHECK_EVERY.total_seconds()
    return abs(now - last) > _CHECK_EVERY or now.timestamp() // every != last.timestamp() // every


def _queue_and_record(now: datetime, config: Config) -> QueueResult:
    queued = queue_due_slots(now, config)
    _record_step(now)
    return queued


def _record_step(now: datetime) -> None:
    with sql.write_transaction():
        sql.execute(_RECORD_STEP, [SCHEDULER, sql.db_time(now)])


class Backend(Protocol):
    """Carries the ids of claimed executions to pollers."""

    def submit(self, execution_id: int) -> None: ...

    def free_pollers(self) -> int | None:
        """Return how many more it can take at once; None when it has a queue that others empty too."""


class SchedulerLoop:
    """Steps every second, and claims in between as soon as a poller is free again."""

    def __init__(
        self, config: Config, backend: Backend, activity: PollerActivity, wake: threading.Event, clock: Clock
    ) -> None:
        """`wake` is set when an execution ended: its OLT and its poller are free for the next one."""
        self._config = config
        self._backend = backend
        self._activity = activity
        self._wake = wake
        self._clock = clock
        self._jumps = ClockJumpDetector()

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
        now = self._clock()
        scheduler_step(now, self._config, self._jumps)
        self._activity.write(now)

    def assign(self) -> None:
        now, free = time_for_statement(self._clock), self._backend.free_pollers()
        claimed = claim_executions(now, self._config, at_most=free)
        for execution_id in claimed:
            self._backend.submit(execution_id)
