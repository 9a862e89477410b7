"""The pollers of a Celery worker: created when it starts, and drained when it stops."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final

from celery import signals
from celery.concurrency import get_implementation
from celery.concurrency.thread import TaskPool
from django.db import DatabaseError, connection

from facho.apps.db.database import database_sentence
from facho.apps.zabbix_pollers.store import update_heartbeat
from facho.backends.poller_process import FINISH_SHARE, PollerProcess, in_background, poller_process
from facho.backends.start_checks import key_problem, reasons_not_to_start
from facho.config import current
from facho.core.pool import SNMP_QUEUES
from facho.engine.process.loops import run_step
from facho.engine.upkeep.schema import SchemaProblem, refuse_unready
from facho.file_modes import repair_modes
from facho.keys import KeyProblem
from facho.vendors.library import log_own_profiles

log = logging.getLogger(__name__)


class Pollers:
    """The pollers of this worker, each with a number to show it by."""

    def __init__(self, process: PollerProcess, count: int) -> None:
        self._process = process
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(count):
            self._free.put(number)

    def run(self, execution_id: int, following: Callable[[frozenset[str]], int | None]) -> None:
        """Run an execution, and those that `following` claims for this poller from its queues, in turn."""
        runtime, number = self._process.runtime, self._free.get()
        left: int | None = execution_id
        with runtime.turns:
            while left is not None:
                self._process.run(left, number)
                left = following(frozenset() if runtime.stopping.is_set() else runtime.queues)
        self._free.put(number)

    def drain(self, seconds: float) -> None:
        """Offer no pollers any more, and after a while hand back what has not ended by itself."""
        runtime = self._process.runtime
        runtime.stopping.set()
        run_step("stop", lambda: update_heartbeat(runtime.worker, 0, runtime.clock(), runtime.queues))
        connection.close()
        time.sleep(seconds)
        runtime.leases.lose_all()


class _Worker:
    """The one worker of a process: Celery's signals have no other place to keep it."""

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
        reason = database_sentence(error) if isinstance(error, DatabaseError) else error
        raise SystemExit(f"Error: {what}: {reason}") from error


@signals.beat_init.connect
@_exit_on_error("this process cannot start")
def _check(**_: Any) -> None:
    """Refuse to start in the same words as `facho worker` and `facho beat`."""
    for why_not in reasons_not_to_start(current()):
        raise SystemExit(f"Error: {why_not}")
    refuse_unready()
    if reason := key_problem():
        raise SystemExit(f"Error: {reason}")
    repair_modes(current())


@signals.worker_init.connect
@_exit_on_error("this worker cannot start its pollers")
def _start(sender: Any, **_: Any) -> None:
    _check()
    _refuse_processes(sender)
    log_own_profiles()


def _refuse_processes(sender: Any) -> None:
    if get_implementation(sender.pool_cls) is not TaskPool:
        raise SystemExit("Error: pollers are threads of one process: start the worker with --pool threads")


@signals.celeryd_after_setup.connect
@_exit_on_error("this worker cannot start its pollers")
def _create_pollers(instance: Any, **_: Any) -> None:
    """Create them when Celery's worker knows how many threads it has and which queues it takes.

    Not at `worker_init`: Celery writes to the environment after that, which moves it in memory, and the
    process crashes if a thread's C library looks up a variable meanwhile to connect to the database.
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
        seconds = current().stop_within.total_seconds() * FINISH_SHARE
        in_background("drain", lambda: pollers.drain(seconds))


@signals.worker_shutdown.connect
def _stop(**_: Any) -> None:
    leave_pool()
    log.info("worker stopped", extra={"action": "worker_stopped"})


def leave_pool() -> None:
    """Stop the pollers; a second call does nothing."""
    _worker.stack.close()
