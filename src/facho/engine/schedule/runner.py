"""Runs one execution, in the thread of a poller or of a person's command."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from facho.apps.db.database import Clock, release_connection
from facho.apps.executions.models import State
from facho.config import Config
from facho.core.pool import SNMP_QUEUES
from facho.core.reasons import Reason, text_reason
from facho.engine.collect.collector import collect
from facho.engine.collect.work_builder import NothingToAsk, plan_execution
from facho.engine.events.stream import publish
from facho.engine.events.types import ExecutionLostLease
from facho.engine.process.leases import (
    HeldLease,
    LeaseKeeper,
    LeaseLost,
    StartedExecution,
    release_lease,
    start_execution,
)
from facho.engine.process.snmp_loop import SnmpLoop, SnmpTask
from facho.engine.record.no_collection import hand_back, record_failure
from facho.engine.record.recorder import record
from facho.keys import KeyProblem

log = logging.getLogger(__name__)

_PAUSE_S: Final = 0.5
T = TypeVar("T")


@dataclass(slots=True)
class Runtime:
    """Everything that a process needs to run executions."""

    config: Config
    worker: str
    snmp: SnmpLoop
    clock: Clock
    # The queues from which its pollers take executions.
    queues: frozenset[str] = frozenset(SNMP_QUEUES)
    # One poller at a time decodes: many at once would make every answer wait for the interpreter.
    decoding: threading.Lock = field(default_factory=threading.Lock)
    # Set when the process stops: what is cancelled from then on is handed back.
    stopping: threading.Event = field(default_factory=threading.Event)
    leases: LeaseKeeper = field(init=False)

    def __post_init__(self) -> None:
        self.leases = LeaseKeeper(self.config, self.clock)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run. The state is None when the lease was lost, or the execution handed back."""

    started: StartedExecution
    state: State | None


def run_execution(
    execution_id: int,
    runtime: Runtime,
    *,
    begun: Callable[[StartedExecution], None] | None = None,
    progress: Callable[[int], None] | None = None,
) -> RunResult | None:
    """Return None when there was nothing to start: delivered twice, aborted, or taken by another process."""
    started = start_execution(execution_id, runtime.worker, runtime.clock, runtime.config)
    if started is None:
        log.info("nothing to start", extra={"action": "nothing_to_start", "execution_id": execution_id})
        return None
    if begun is not None:
        begun(started)
    task = SnmpTask(runtime.snmp)
    with runtime.leases.holding(started, task.cancel) as held:
        try:
            return RunResult(started, _collect_and_record(started, held, task, runtime, progress))
        except (LeaseLost, CancelledError):
            abandon_execution(started, runtime)
            return RunResult(started, None)


def _collect_and_record(
    started: StartedExecution,
    held: HeldLease,
    task: SnmpTask,
    runtime: Runtime,
    progress: Callable[[int], None] | None,
) -> State:
    config = runtime.config
    try:
        planned = plan_execution(started.execution_id, started.run_id, runtime.clock(), config)
        # It may be long until the OLT has answered.
        release_connection()
        collection = collect(
            planned.work, task.run, runtime.snmp.client, held.check, runtime.decoding, progress
        )
    except (LeaseLost, CancelledError, DatabaseError):
        raise
    except NothingToAsk as refused:
        return _fail(refused.reason, started, held, runtime)
    except KeyProblem as problem:
        return _fail(text_reason(str(problem)), started, held, runtime)
    except Exception as bug:
        log.exception("execution failed by an internal error", extra={"action": "bug", **_ids(started)})
        return _fail(_internal_error(bug), started, held, runtime)
    try:
        return retry_while_leased(
            lambda now: record(started, planned, collection, now, config), held, runtime
        )
    except LeaseLost:
        raise
    except Exception as bug:
        # No later try would succeed, and the OLT must not be held for ever because of its answers.
        log.exception("results cannot be stored", extra={"action": "bug", **_ids(started)})
        return _fail(_internal_error(bug), started, held, runtime)


def _fail(why: Reason, started: StartedExecution, held: HeldLease, runtime: Runtime) -> State:
    return retry_while_leased(lambda now: record_failure(started, why, now, runtime.config), held, runtime)


def _internal_error(bug: Exception) -> Reason:
    return Reason.of("internal_error", error=type(bug).__name__)


def retry_while_leased(store: Callable[[datetime], T], held: HeldLease, runtime: Runtime) -> T:
    """Call `store` with the time of each try while the database is locked, full or away.

    A database that refuses the data refuses it again: that is raised at once.
    """
    until = time.monotonic() + runtime.config.execution_timeout.total_seconds()
    while True:
        try:
            return store(runtime.clock())
        except (OperationalError, InterfaceError) as error:
            log.error(
                "database unavailable, results not stored yet",
                extra={"action": "store_failed", "error": str(error), **_ids(held.started)},
            )
            connection.close()
            held.check()
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)


def abandon_execution(started: StartedExecution, runtime: Runtime) -> None:
    """Hand the execution back if this process stops; free the OLT if the execution was aborted."""
    stopping, aborted = runtime.stopping.is_set(), False
    with contextlib.suppress(DatabaseError):
        if stopping:
            hand_back(started, runtime.clock(), runtime.config)
        aborted = release_lease(started)
    if stopping or aborted:
        log.warning("execution given up", extra={"action": "execution_given_up", **_ids(started)})
    else:
        # Not the database's clock: it may be away.
        now = datetime.now(UTC)
        event = ExecutionLostLease(
            olt_id=started.olt_id, execution_id=started.execution_id, worker=runtime.worker
        )
        publish(event, now)


def _ids(started: StartedExecution) -> dict[str, int]:
    return {"olt_id": started.olt_id, "execution_id": started.execution_id}
