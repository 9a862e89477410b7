"""The Celery tasks: a worker runs executions, and a beat's own worker makes the steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Final

from facho.apps.db.database import ClockJumpDetector, database_now, release_connection, time_for_statement
from facho.backends import celery_names
from facho.backends.celery_backend import CeleryBackend
from facho.backends.celery_worker import poller
from facho.celery import app
from facho.config import current
from facho.engine.coordinate.coordinator import coordinator_step
from facho.engine.coordinate.quota_hours import close_quota_hours
from facho.engine.events.sender import Sender
from facho.engine.process.loops import CoalescedCalls, run_step
from facho.engine.schedule.scheduler import scheduler_step
from facho.engine.upkeep.housekeeping import run_housekeeping
from facho.engine.upkeep.retention import clean_logs

backend = CeleryBackend(app)
_jumps: Final = ClockJumpDetector()
_coordinating: Final = threading.Lock()
_notifying: Final = threading.Lock()
# With a long queue a claim takes longer than many an execution: those that end meanwhile share the next one.
_claims: Final = CoalescedCalls()


@app.task(name=celery_names.EXECUTE)
def execute_one(execution_id: int) -> None:
    """Run an execution, and claim the next one at once: for its OLT, or for the poller that is free now."""
    poller().run(execution_id)
    _assign()
    release_connection()


@app.task(name=celery_names.EXECUTE_RETRY)
def execute_one_retry(execution_id: int) -> None:
    execute_one(execution_id)


@app.task(name=celery_names.SCHEDULER_STEP)
def zabbix_scheduler_loop_task() -> None:
    run_step("scheduler", lambda: scheduler_step(database_now(), current(), _jumps))
    _assign()


def _assign() -> None:
    _claims.run(
        lambda: run_step("assign", lambda: backend.assign(time_for_statement(database_now), current()))
    )


@app.task(name=celery_names.COORDINATOR_STEP)
def coordinator_loop_task() -> None:
    _run_unless_running(_coordinating, "coordinator", lambda: coordinator_step(database_now(), current()))


@app.task(name=celery_names.NOTIFY)
def send_notifications_task() -> None:
    _run_unless_running(_notifying, "notifications", lambda: sender().step(database_now()))


@cache
def sender() -> Sender:
    """Return the one sender of the process: it knows which channels hang."""
    return Sender(current())


def _run_unless_running(lock: threading.Lock, name: str, step: Callable[[], object]) -> None:
    """Skip the step while the last one still runs: it must not hold a second thread of its process."""
    if not lock.acquire(blocking=False):
        return
    try:
        run_step(name, step)
    finally:
        lock.release()


@app.task(name=celery_names.CHECK_QUOTAS)
def check_quota_violations_task() -> None:
    """Close the hours, also when the coordinator's step fails before it gets to that."""
    run_step("quotas", lambda: close_quota_hours(database_now(), current()))


@app.task(name=celery_names.CLEAN_LOGS)
def cleanup_old_coordinator_logs_task(days_old: float | None = None) -> None:
    run_step("logs", lambda: clean_logs(database_now(), current(), days_old))


@app.task(name=celery_names.HOUSEKEEPING)
def housekeeping_task() -> None:
    run_housekeeping(database_now, current())
