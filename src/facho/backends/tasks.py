"""What a worker does with a message, and what a beat's own worker does each second."""

from __future__ import annotations

from facho.apps import sql
from facho.backends import queues
from facho.backends.celery import CeleryBackend, assign
from facho.backends.celery_worker import poller
from facho.celery import app
from facho.config import current
from facho.engine.clock import database_now
from facho.engine.coordinator import coordinator_step
from facho.engine.housekeeping import keep_house
from facho.engine.loop import attempt
from facho.engine.step import step_now

backend = CeleryBackend(app)


@app.task(name=queues.EXECUTE)
def execute_one(execution_id: int) -> None:
    """Runs an execution, and claims the next one at once: for its OLT, or for the poller that is free now."""
    poller().run(execution_id)
    attempt("assign", lambda: assign(backend, current()))
    sql.give_back()


@app.task(name=queues.EXECUTE_RETRY)
def execute_one_retry(execution_id: int) -> None:
    execute_one(execution_id)


@app.task(name=queues.SCHEDULER_STEP)
def zabbix_scheduler_loop_task() -> None:
    attempt("scheduler", lambda: step_now(current()))
    attempt("assign", lambda: assign(backend, current()))


@app.task(name=queues.COORDINATOR_STEP)
def coordinator_loop_task() -> None:
    attempt("coordinator", lambda: coordinator_step(database_now(), current()))


@app.task(name=queues.HOUSEKEEPING)
def housekeeping_task() -> None:
    keep_house(current())
