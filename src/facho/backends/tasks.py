"""What a worker does with a message, and what a beat's own worker does each time that it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Final

from facho.apps.db import sql
from facho.apps.db.clock import database_now
from facho.backends import queues
from facho.backends.celery import CeleryBackend, assign
from facho.backends.celery_worker import poller
from facho.celery import app
from facho.config import current
from facho.engine.coordinate.coordinator import close_hours, coordinator_step
from facho.engine.events.sender import Sender
from facho.engine.process.loops import run_step
from facho.engine.schedule.step import step_now
from facho.engine.upkeep.housekeeping import keep_house
from facho.engine.upkeep.retention import clean_logs

backend = CeleryBackend(app)
_coordinating: Final = threading.Lock()
_notifying: Final = threading.Lock()


@app.task(name=queues.EXECUTE)
def execute_one(execution_id: int) -> None:
    """Runs an execution, and claims the next one at once: for its OLT, or for the poller that is free now."""
    poller().run(execution_id)
    run_step("assign", lambda: assign(backend, current()))
    sql.release_connection()


@app.task(name=queues.EXECUTE_RETRY)
def execute_one_retry(execution_id: int) -> None:
    execute_one(execution_id)


@app.task(name=queues.SCHEDULER_STEP)
def zabbix_scheduler_loop_task() -> None:
    run_step("scheduler", lambda: step_now(current()))
    run_step("assign", lambda: assign(backend, current()))


@app.task(name=queues.COORDINATOR_STEP)
def coordinator_loop_task() -> None:
    _alone(_coordinating, "coordinator", lambda: coordinator_step(database_now(), current()))


@app.task(name=queues.NOTIFY)
def send_notifications_task() -> None:
    _alone(_notifying, "notifications", lambda: sender().step(database_now()))


@cache
def sender() -> Sender:
    """One for the process: it knows which channels hang."""
    return Sender(current())


def _alone(lock: threading.Lock, name: str, step: Callable[[], object]) -> None:
    """A step that takes longer than the time to the next one must not hold a second thread of its process."""
    if not lock.acquire(blocking=False):
        return
    try:
        run_step(name, step)
    finally:
        lock.release()


@app.task(name=queues.CHECK_QUOTAS)
def check_quota_violations_task() -> None:
    """Each step of the coordinator does this too; here it does not depend on what a step does before."""
    run_step("quotas", lambda: close_hours(database_now(), current()))


@app.task(name=queues.CLEAN_LOGS)
def cleanup_old_coordinator_logs_task(days_old: float | None = None) -> None:
    run_step("logs", lambda: clean_logs(database_now(), current(), days_old))


@app.task(name=queues.HOUSEKEEPING)
def housekeeping_task() -> None:
    keep_house(current())
