"""The pollers of a Celery worker: made when it starts, whoever started it, and drained when it stops."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final

from celery import signals
from celery.concurrency import get_implementation
from celery.concurrency.thread import TaskPool
from django.db import DatabaseError, connection

from facho.apps.db.clock import database_now
from facho.apps.db.sql import database_sentence
from facho.backends.distributed import key_problem, reasons_not_to_start
from facho.backends.poller_process import PollerProcess, in_background, poller_process
from facho.config import current
from facho.core.queue import SNMP_QUEUES
from facho.engine.process.loops import run_step
from facho.engine.schedule.pollers import update_heartbeat
from facho.engine.schedule.runner import run_execution
from facho.engine.upkeep.schema import SchemaProblem, refuse_unready
from facho.file_modes import repair_modes
from facho.keys import KeyProblem

log = logging.getLogger(__name__)

# Of the time to stop in, so much is given to executions to finish by themselves.
_FINISH_SHARE: Final = 0.8


class Pollers:
    """The slots of this worker, each with a number to show it by."""

    def __init__(self, process: PollerProcess, count: int) -> None:
        self._process = process
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(count):
            self._free.put(number)

    def run(self, execution_id: int) -> None:
        """What is lost to the database is tried again when its lease has run out."""
        number, activity, runtime = self._free.get(), self._process.activity, self._process.runtime
        run_step(
            "poller",
            lambda: run_execution(
                execution_id, runtime, begun=lambda started: activity.begin(number, started)
            ),
        )
        run_step("poller", lambda: activity.end(number, database_now()))
        self._free.put(number)

    def drain(self, seconds: float) -> None:
        """Lends nothing more, and hands back after a while what has not ended by itself."""
        runtime = self._process.runtime
        runtime.stopping.set()
        run_step("stop", lambda: update_heartbeat(runtime.worker, 0, database_now(), runtime.queues))
        connection.close()
        time.sleep(seconds)
        runtime.keeper.lose_all()


class _Worker:
    """At most one in a process: Celery's signals know no other place to keep it."""

    def __init__(self) -> None:
        self.pollers: Pollers | None = None
        self.stack = ExitStack()


_worker: Final = _Worker()


def poller() -> Pollers:
    if _worker.pollers is None:
        raise RuntimeError("this worker has no pollers: it takes no SNMP queue")
    return _worker.pollers


@contextmanager
def _exit_on_error(what: str) -> Iterator[None]:
    """Celery goes on whatever a receiver of its signals raises, unless that is SystemExit."""
    try:
        yield
    except (SchemaProblem, KeyProblem) as error:
        raise SystemExit(f"Error: {error}") from error
    except Exception as error:
        log.exception("worker not started", extra={"action": "worker_not_started"})
        told = database_sentence(error) if isinstance(error, DatabaseError) else error
        raise SystemExit(f"Error: {what}: {told}") from error


@signals.beat_init.connect
@_exit_on_error("this process cannot start")
def _check(**_: Any) -> None:
    """Celery's own command refuses in the same words as `facho worker` and `facho beat`."""
    for why_not in reasons_not_to_start(current()):
        raise SystemExit(f"Error: {why_not}")
    refuse_unready()
    if reason := key_problem():
        raise SystemExit(f"Error: {reason}")
    repair_modes(current())


@signals.worker_init.connect
@_exit_on_error("this worker cannot lend pollers")
def _start(sender: Any, **_: Any) -> None:
    _check()
    _refuse_processes(sender)


def _refuse_processes(sender: Any) -> None:
    if get_implementation(sender.pool_cls) is not TaskPool:
        raise SystemExit("Error: pollers are threads of one process: start the worker with --pool threads")


@signals.celeryd_after_setup.connect
@_exit_on_error("this worker cannot lend pollers")
def _lend(instance: Any, **_: Any) -> None:
    """`instance` is Celery's worker, which knows by now how many threads it has and which queues it takes.

    Not at its `worker_init`, after which Celery writes to the environment: that moves it, and a thread of
    ours whose C library looks up a variable meanwhile, to connect to the database, ends the process.
    """
    taken = frozenset(instance.app.amqp.queues.consume_from).intersection(SNMP_QUEUES)
    if not taken:
        return
    config = replace(current(), pollers=instance.concurrency)
    process = _worker.stack.enter_context(poller_process(config, taken))
    _worker.pollers = Pollers(process, config.pollers)
    log.info("worker started", extra={"action": "worker_started", "worker": process.runtime.worker})


@signals.worker_shutting_down.connect
def _drain(**_: Any) -> None:
    pollers = _worker.pollers
    if pollers is not None:
        seconds = current().stop_within.total_seconds() * _FINISH_SHARE
        in_background("drain", lambda: pollers.drain(seconds))


@signals.worker_shutdown.connect
def _stop(**_: Any) -> None:
    leave_pool()
    log.info("worker stopped", extra={"action": "worker_stopped"})


def leave_pool() -> None:
    """The second time does nothing."""
    _worker.stack.close()
