"""Runs one execution, in the thread of a poller or of a person's command, and counts how busy pollers are.

A process has one asyncio loop for SNMP, in a thread of its own; pollers submit coroutines and wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import uvloop
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from facho.apps.db import sql
from facho.apps.db.database import Clock, release_connection, time_for_statement
from facho.apps.executions.models import State
from facho.apps.zabbix_pollers.models import PollerStats, PollerStatus
from facho.apps.zabbix_pollers.selectors import last_poller_stats, poller_stats
from facho.config import Config
from facho.core.pool import SNMP_QUEUES
from facho.core.reasons import Reason, text_reason
from facho.engine.collect.collector import collect
from facho.engine.collect.work_builder import NothingToAsk, plan_execution
from facho.engine.events.stream import publish
from facho.engine.events.types import ExecutionLostLease, SaturationEnded, SaturationStarted
from facho.engine.process.grouped_calls import GroupedCalls
from facho.engine.process.leases import (
    ExecutionStarter,
    HeldLease,
    LeaseKeeper,
    LeaseLost,
    StartedExecution,
    release_lease,
)
from facho.engine.process.turns import Turns, turns_of
from facho.engine.record.no_collection import hand_back, record_failure
from facho.engine.record.recorder import Result, record, record_together
from facho.keys import KeyProblem
from facho.snmp import Client

log = logging.getLogger(__name__)

_PAUSE_S: Final = 0.5
T = TypeVar("T")


class SnmpLoop:
    """Started when it is entered. Its clients may be used from its own coroutines only.

    `client` is for executions. `probe_client` is for probes, which keep to limits of their own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="snmp", daemon=True)
        self.client = Client()
        self.probe_client = Client()

    def __enter__(self) -> SnmpLoop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.submit(_close(self.client, self.probe_client)).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)


async def _close(*clients: Client) -> None:
    for client in clients:
        client.close()


class SnmpTask:
    """Runs the coroutines of one execution on the loop, one after the other, until it is cancelled."""

    def __init__(self, snmp: SnmpLoop, turns: Turns | None = None) -> None:
        """`turns` are those of the pollers, if this is an execution of one: it gives up its turn to wait."""
        self._snmp = snmp
        self._turns = turns or Turns(1)
        self._lock = threading.Lock()
        self._cancelled = False
        self._current: Future[Any] | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Raises concurrent.futures.CancelledError when another thread cancelled it."""
        with self._lock:
            future = self._snmp.submit(coroutine)
            self._current = future
            if self._cancelled:
                future.cancel()
        with self._turns.released():
            return future.result()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._current is not None:
                self._current.cancel()


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
    turns: Turns = field(init=False)
    # Set when the process stops: what is cancelled from then on is handed back.
    stopping: threading.Event = field(default_factory=threading.Event)
    leases: LeaseKeeper = field(init=False)
    starter: ExecutionStarter = field(init=False)
    # Small results that end at about the same time are stored together.
    recordings: GroupedCalls[Result, State] = field(init=False)

    def __post_init__(self) -> None:
        self.leases = LeaseKeeper(self.config, self.clock)
        self.turns = Turns(turns_of(self.config))
        self.starter = ExecutionStarter(self.worker, self.clock, self.config)
        self.recordings = GroupedCalls(self._record_together)

    def _record_together(self, results: Sequence[Result]) -> list[State | Exception]:
        return record_together(results, time_for_statement(self.clock), self.config)


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
    started = runtime.starter.start(execution_id)
    if started is None:
        log.info("nothing to start", extra={"action": "nothing_to_start", "execution_id": execution_id})
        return None
    if begun is not None:
        begun(started)
    task = SnmpTask(runtime.snmp, runtime.turns)
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
        planned = plan_execution(
            started.execution_id, started.run_id, started.started_at, config, started.subject
        )
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
        return _record(Result(started, planned, collection), held, runtime)
    except LeaseLost:
        raise
    except Exception as bug:
        # No later try would succeed, and the OLT must not be held for ever because of its answers.
        log.exception("results cannot be stored", extra={"action": "bug", **_ids(started)})
        return _fail(_internal_error(bug), started, held, runtime)


def _record(result: Result, held: HeldLease, runtime: Runtime) -> State:
    """Store the result, with others if it may be; after a failure alone, without waiting for their locks."""
    if result.may_share:
        try:
            return runtime.recordings.run(result)
        except (OperationalError, InterfaceError) as error:
            _leave_database(error, held)
    return retry_while_leased(
        lambda now: record(result.started, result.planned, result.collection, now, runtime.config),
        held,
        runtime,
    )


def _fail(why: Reason, started: StartedExecution, held: HeldLease, runtime: Runtime) -> State:
    return retry_while_leased(lambda now: record_failure(started, why, now, runtime.config), held, runtime)


def _internal_error(bug: Exception) -> Reason:
    return Reason.of("internal_error", error=type(bug).__name__)


def retry_while_leased(store: Callable[[datetime | None], T], held: HeldLease, runtime: Runtime) -> T:
    """Call `store` with the time of each try, as `time_for_statement` has it, while the database is locked,
    full or away.

    A database that refuses the data refuses it again: that is raised at once.
    """
    until = time.monotonic() + runtime.config.execution_timeout.total_seconds()
    while True:
        try:
            return store(time_for_statement(runtime.clock))
        except (OperationalError, InterfaceError) as error:
            _leave_database(error, held)
            if time.monotonic() > until:
                raise
            with runtime.turns.released():
                time.sleep(_PAUSE_S)


def _leave_database(error: Exception, held: HeldLease) -> None:
    """Close the connection before another try. Raises LeaseLost when there may be none."""
    log.error(
        "database unavailable, results not stored yet",
        extra={"action": "store_failed", "error": str(error), **_ids(held.started)},
    )
    connection.close()
    held.check()


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


@dataclass(slots=True)
class _Poller:
    node_id: int | None = None
    since: datetime | None = None
    # The same on the clock of this process, which is read without asking a server.
    began: float = 0.0
    busy: timedelta = timedelta()
    completed: int = 0
    delayed: int = 0


class PollerActivity:
    """The activity of each poller of this process: kept in memory, and written now and then."""

    def __init__(self, worker: str, pollers: int, now: datetime) -> None:
        self._worker = worker
        self._began = now
        self._pollers = [_Poller() for _ in range(pollers)]
        self._lock = threading.Lock()
        self._changed = True

    def begin(self, number: int, started: StartedExecution) -> None:
        with self._lock:
            poller = self._pollers[number]
            poller.node_id, poller.since = started.node_id, started.started_at
            poller.began = time.monotonic()
            poller.delayed += started.delayed
            self._changed = True

    def end(self, number: int) -> None:
        with self._lock:
            poller = self._pollers[number]
            if poller.since is not None:
                poller.busy += timedelta(seconds=time.monotonic() - poller.began)
                poller.completed += 1
            poller.node_id, poller.since = None, None
            self._changed = True

    def write(self, now: datetime, *, always: bool = False) -> None:
        with self._lock:
            if not (self._changed or always):
                return
            rows = [self._row(number, poller, now) for number, poller in enumerate(self._pollers, 1)]
            self._changed = False
        given = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s, %s)"] * len(rows))
        with sql.write_transaction():
            sql.execute(_SHOW.format(given), [value for row in rows for value in row])

    def _row(self, number: int, poller: _Poller, now: datetime) -> tuple[Any, ...]:
        """Return the values of the columns, in the order of _SHOWN."""
        running = now - poller.since if poller.since is not None else timedelta()
        return (
            self._worker,
            number,
            (PollerStatus.FREE if poller.since is None else PollerStatus.BUSY).value,
            poller.node_id,
            (poller.busy + running).total_seconds(),
            (now - self._began).total_seconds(),
            poller.completed,
            poller.delayed,
            sql.db_time(now),
        )


_SHOWN: Final = (
    "status", "current_node_id", "busy_time", "total_time", "tasks_completed", "tasks_delayed", "heartbeat"
)  # fmt: skip
_SHOW: Final = (
    f"INSERT INTO pollers (worker, poller_id, {', '.join(_SHOWN)}) VALUES {{}}"  # noqa: S608
    " ON CONFLICT (worker, poller_id) DO UPDATE SET "
    + ", ".join(f"{each} = excluded.{each}" for each in _SHOWN)
)


def write_poller_stats(now: datetime, config: Config) -> PollerStats | None:
    """Write a row of statistics, unless a process wrote one lately."""
    last = last_poller_stats(now)
    if last is not None and now - last.timestamp < config.poller_stats_every:
        return None
    stats = poller_stats(now, config, last)
    PollerStats.objects.bulk_create([stats], ignore_conflicts=True)
    if stats.is_saturated != bool(last and last.is_saturated):
        changed = SaturationStarted if stats.is_saturated else SaturationEnded
        publish(changed(busy_percentage=stats.busy_percentage, queue_size=stats.queue_size), now)
    return stats
