"""One process at a time may ask an OLT: the holder of the lease of its execution.

The lease is a token and an expiry on the execution's row. It is taken by a conditional UPDATE, renewed for
all executions of a process by one UPDATE, checked before every datagram against a clock that nobody sets, and
checked again by the transaction that writes the results.

The holder stops before others may take the lease: its time is shorter and counts from before the renewal
request, on a clock that cannot be set and that continues while the machine sleeps.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from facho.apps.db import sql
from facho.apps.db.database import Clock, boottime, row_lock, time_for_statement
from facho.apps.executions.models import Execution, State
from facho.apps.executions.subjects import (
    ExecutionSubject,
    Started,
    read_started,
    take_executions,
    write_why_late,
)
from facho.config import Config
from facho.core.delay import Blocker, why_late
from facho.engine.process.grouped_calls import GroupedCalls
from facho.engine.process.loops import run_loop

# The share of a lease in which its holder may send: 15 of 20 seconds.
SEND_SHARE: Final = 0.75


class LeaseLost(Exception):
    """The execution was aborted or its lease expired: nothing more may be sent or written."""


@dataclass(frozen=True, slots=True)
class StartedExecution:
    """An execution that this process now runs."""

    execution_id: int
    # No other start of any execution has it.
    run_id: int
    olt_id: int
    node_id: int | None
    token: str
    attempt: int
    started_at: datetime
    delayed: bool
    # On the clock of the guard: until when it may send, if the lease is not renewed.
    send_until: float
    # What it asks, as it was when it was started.
    subject: ExecutionSubject | None = None


def send_deadline(boottime_before: float, length: timedelta) -> float:
    """Return until when the holder may send, on the clock read before the renewal."""
    return boottime_before + length.total_seconds() * SEND_SHARE


def start_execution(execution_id: int, worker: str, clock: Clock, config: Config) -> StartedExecution | None:
    """PENDING -> RUNNING. None when another process has it, or when it is no longer wanted."""
    return ExecutionStarter(worker, clock, config).start(execution_id)


class ExecutionStarter:
    """Starts executions of a process: those of pollers that begin at the same time with one statement."""

    def __init__(self, worker: str, clock: Clock, config: Config) -> None:
        self._worker = worker
        self._clock = clock
        self._config = config
        self._calls = GroupedCalls(self._take)

    def start(self, execution_id: int) -> StartedExecution | None:
        """PENDING -> RUNNING. None when another process has it, or when it is no longer wanted."""
        token = secrets.token_hex(16)
        before, row = self._calls.run((execution_id, token))
        if row is None:
            return None
        taken, config = read_started(row), self._config
        delayed = taken.started_at - taken.slot > config.delayed_after and _note_why_late(
            execution_id, taken, config
        )
        return StartedExecution(
            execution_id,
            taken.run_id,
            taken.olt_id,
            taken.node_id,
            token,
            taken.attempt,
            taken.started_at,
            delayed,
            send_deadline(before, config.lease),
            taken.subject,
        )

    def _take(self, wanted: Sequence[tuple[int, str]]) -> list[tuple[float, sql.Row | None]]:
        """Return for each its row, if it was taken, and `boottime` from before it was."""
        # In this order: if the process is frozen between the two, the guard stops too early, not too late.
        before, now = boottime(), time_for_statement(self._clock)
        # An id that was delivered twice is taken once.
        taken = take_executions(dict(reversed(wanted)), self._worker, now, self._config.lease)
        return [(before, taken.pop(execution_id, None)) for execution_id, _ in wanted]


def _note_why_late(execution_id: int, taken: Started, config: Config) -> bool:
    """Store why the execution starts late, if there is a reason."""
    late = why_late(
        slot=taken.slot,
        queued_at=taken.queued_at,
        started_at=taken.started_at,
        retried=taken.attempt > 1,
        blockers=_blockers(execution_id, taken.olt_id, taken.slot),
        after=config.delayed_after,
    )
    if late is None:
        return False
    write_why_late(execution_id, late.why, late.blocker.execution_id if late.blocker else None)
    return True


def _blockers(execution_id: int, olt_id: int, slot: datetime) -> list[Blocker]:
    """Return the attempts that held the OLT since the slot: between two of them an execution has no OLT."""
    moment = sql.db_time(slot)
    values = [olt_id, moment, execution_id, moment, olt_id, execution_id, moment]
    return [
        Blocker(each, job or "", sql.parse_time(began), None if ended is None else sql.parse_time(ended))
        for each, job, began, ended in sql.fetch_prepared(_BLOCKERS, values)
    ]


_BLOCKER: Final = (
    "SELECT a.execution_id, j.name, a.started_at, a.ended_at FROM snmp_executions e"
    " JOIN execution_attempts a ON a.execution_id = e.id"
    " LEFT JOIN snmp_job_hosts n ON n.id = e.node_id LEFT JOIN snmp_jobs j ON j.id = n.job_id WHERE {}"
    " AND e.id <> %s AND (a.ended_at > %s OR a.ended_at IS NULL)"
)
# For both at once SQLite would look at all that ever ran on the OLT.
_BLOCKERS: Final = " UNION ALL ".join(
    map(_BLOCKER.format, ("e.olt_id = %s AND e.ended_at > %s", "e.olt_id = %s AND e.ended_at IS NULL"))
)


class HeldLease:
    """A lease that this process holds. `check` is the guard of everything that is sent under it."""

    def __init__(self, started: StartedExecution, lost: Callable[[], None]) -> None:
        self.started = started
        self._send_until = started.send_until
        self._lost = lost
        self._is_lost = False

    def check(self) -> None:
        if self._is_lost or boottime() > self._send_until:
            raise LeaseLost(f"the lease of execution {self.started.execution_id} is lost")

    def extend(self, send_until: float) -> None:
        self._send_until = send_until

    def lose(self) -> None:
        self._is_lost = True
        self._lost()


class LeaseKeeper:
    """Renews the leases of a process, all of them with one statement."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._held: dict[str, HeldLease] = {}
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, started: StartedExecution, lost: Callable[[], None]) -> Iterator[HeldLease]:
        """`lost` is called from another thread when the lease turns out to be gone."""
        held = HeldLease(started, lost)
        with self._lock:
            self._held[started.token] = held
        try:
            yield held
        finally:
            with self._lock:
                del self._held[started.token]

    def renew(self) -> None:
        with self._lock:
            held = dict(self._held)
        if not held:
            return
        before, now = boottime(), self._clock()
        kept = _renew(list(held), now, self._config.lease)
        send_until = send_deadline(before, self._config.lease)
        for token in kept:
            held[token].extend(send_until)
        for token in _lost(held.keys() - kept, now):
            held[token].lose()

    def renew_until(self, stopping: threading.Event) -> None:
        run_loop("keeper", self.renew, self._config.lease_renew, stopping)

    def lose_all(self) -> None:
        with self._lock:
            held = list(self._held.values())
        for each in held:
            each.lose()


def _renew(tokens: list[str], now: datetime, length: timedelta) -> set[str]:
    """Return the tokens whose leases now last for another length.

    A locked row is left out, or all others would have to wait for it: its results are being stored, and it
    cannot be taken back until that has ended.
    """
    statement = (
        "UPDATE snmp_executions SET lease_expires_at = %s WHERE id IN (SELECT id FROM snmp_executions"  # noqa: S608
        f" WHERE {_holds(len(tokens))}{row_lock(skip_locked=True)}) RETURNING lease_token"
    )
    values = [sql.db_time(now + length), sql.db_time(now), *tokens]
    # In a transaction that waits for its turn: pollers write all the time, and this must get in between.
    with sql.write_transaction():
        return {row[0] for row in sql.fetch_rows(statement, values)}


def _lost(tokens: Set[str], now: datetime) -> set[str]:
    """Return those of the leases not renewed that were aborted, taken back, or have expired."""
    if not tokens:
        return set()
    statement = f"SELECT lease_token FROM snmp_executions WHERE {_holds(len(tokens))}"  # noqa: S608
    return set(tokens) - {row[0] for row in sql.fetch_rows(statement, [sql.db_time(now), *tokens])}


def _holds(count: int) -> str:
    places = ", ".join(["%s"] * count)
    return f"state = 'RUNNING' AND lease_expires_at > %s AND lease_token IN ({places})"


def release_lease(started: StartedExecution) -> bool:
    """Free the OLT of an execution that was aborted while it ran. Return whether it was aborted."""
    aborted = (
        Execution.objects.filter(id=started.execution_id, lease_token=started.token)
        .exclude(state=State.RUNNING)
        .update(lease_token="", lease_expires_at=None)
    )
    return bool(aborted)
