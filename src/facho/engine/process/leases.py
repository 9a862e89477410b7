"""An OLT belongs to one process at a time: the holder of its execution's lease.

The lease is a token and an expiry on the execution's row. It is taken by a conditional UPDATE, renewed for
all executions of a process by one UPDATE, checked before every datagram against a clock that nobody sets, and
checked again by the transaction that writes the results.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models import Q

from facho.apps.db import sql
from facho.apps.db.clock import boottime, database_now
from facho.apps.executions.models import Attempt, Execution, State
from facho.config import Config
from facho.core.delay import Blocker, Late, why_late
from facho.core.lease import send_deadline

log = logging.getLogger(__name__)


class LeaseLost(Exception):
    """The execution was aborted, or its lease ran out: nothing more is sent and nothing written."""


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


def start_execution(execution_id: int, worker: str, config: Config) -> StartedExecution | None:
    """PENDING -> RUNNING. None when another process has it, or when it is not wanted any more."""
    before = boottime()
    now = database_now()
    token = secrets.token_hex(16)
    expires = sql.db_time(now + config.lease)
    with sql.write_transaction():
        taken = sql.fetch_rows(_TAKE, [token, expires, sql.db_time(now), worker, execution_id])
        if not taken:
            return None
        execution = _Taken.of(execution_id, taken[0])
        late = _why_late(execution, now, config)
        sql.update_row(
            Execution,
            execution_id,
            {
                "delay_ms": max(0, round((now - execution.slot) / timedelta(milliseconds=1))),
                "why_late": late.why if late else "",
                "blocked_by": late.blocker.execution_id if late and late.blocker else None,
            },
        )
        ((run_id,),) = sql.fetch_rows(
            _NEW_ATTEMPT, [execution_id, execution.attempt, sql.db_time(now), worker]
        )
    return StartedExecution(
        execution_id,
        run_id,
        execution.olt_id,
        execution.node_id,
        token,
        execution.attempt,
        now,
        late is not None,
        send_deadline(before, length=config.lease),
    )


_TAKE: Final = (
    "UPDATE snmp_executions SET state = 'RUNNING', lease_token = %s, lease_expires_at = %s, started_at = %s,"
    " worker = %s, attempt = attempt + 1 WHERE id = %s AND state = 'PENDING'"
    " RETURNING olt_id, node_id, slot, queued_at, attempt"
)
_NEW_ATTEMPT: Final = (
    "INSERT INTO execution_attempts (execution_id, number, started_at, worker, error)"
    " VALUES (%s, %s, %s, %s, '') RETURNING id"
)


@dataclass(frozen=True, slots=True)
class _Taken:
    """An execution that is ours now; its attempts are counted with this one."""

    id: int
    olt_id: int
    node_id: int | None
    slot: datetime
    queued_at: datetime
    attempt: int

    @classmethod
    def of(cls, execution_id: int, row: sql.Row) -> _Taken:
        olt_id, node_id, slot, queued_at, attempt = row
        return cls(execution_id, olt_id, node_id, sql.parse_time(slot), sql.parse_time(queued_at), attempt)


def _why_late(execution: _Taken, now: datetime, config: Config) -> Late | None:
    if now - execution.slot <= config.delayed_after:
        return None
    return why_late(
        slot=execution.slot,
        queued_at=execution.queued_at,
        started_at=now,
        retried=execution.attempt > 1,
        blockers=_blockers(execution),
        after=config.delayed_after,
    )


def _blockers(execution: _Taken) -> list[Blocker]:
    """Attempt by attempt: between two of them an execution has no OLT."""
    rows = (
        Attempt.objects.filter(execution__olt=execution.olt_id)
        .filter(Q(ended_at__gt=execution.slot) | Q(ended_at__isnull=True))
        .exclude(execution=execution.id)
        .order_by()
        .values_list("execution", "execution__node__job__name", "started_at", "ended_at")
    )
    # For both at once SQLite would look at all that ever ran on the OLT.
    ended, open_ = rows.filter(execution__ended_at__gt=execution.slot), rows.filter(execution__ended_at=None)
    rows = ended.union(open_, all=True)
    return [Blocker(each, job or "", began, ended) for each, job, began, ended in rows]


class HeldLease:
    """One lease in the hands of this process. `check` is the guard of everything that it sends."""

    def __init__(self, started: StartedExecution, lost: Callable[[], None]) -> None:
        self.started = started
        self._send_until = started.send_until
        self._lost = lost
        self._is_lost = False

    def check(self) -> None:
        if self._is_lost or boottime() > self._send_until:
            raise LeaseLost(f"execution {self.started.execution_id} is not ours any more")

    def renewed(self, send_until: float) -> None:
        self._send_until = send_until

    def lose(self) -> None:
        self._is_lost = True
        self._lost()


class LeaseKeeper:
    """Renews the leases of a process, all of them with one statement."""

    def __init__(self, config: Config) -> None:
        self._config = config
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
        before, now = boottime(), database_now()
        kept = _renew(list(held), now, self._config.lease)
        send_until = send_deadline(before, length=self._config.lease)
        for token in kept:
            held[token].renewed(send_until)
        for token in _gone(held.keys() - kept, now):
            held[token].lose()

    def lose_all(self) -> None:
        with self._lock:
            held = list(self._held.values())
        for each in held:
            each.lose()


def _renew(tokens: list[str], now: datetime, length: timedelta) -> set[str]:
    """The tokens that hold for another length.

    A row that somebody has locked is left out, for all others would have to wait for it: its results are
    being stored, and nobody can take it back until that has ended.
    """
    lock = " FOR NO KEY UPDATE SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
    statement = (
        "UPDATE snmp_executions SET lease_expires_at = %s WHERE id IN "  # noqa: S608
        f"(SELECT id FROM snmp_executions WHERE {_hold(len(tokens))}{lock}) RETURNING lease_token"
    )
    # In turn with the pollers, who write all the time: it must not be the one that never gets in between.
    with sql.write_transaction():
        return {
            row[0]
            for row in sql.fetch_rows(statement, [sql.db_time(now + length), sql.db_time(now), *tokens])
        }


def _gone(tokens: Set[str], now: datetime) -> set[str]:
    """Of those that were not renewed, those that were aborted, taken back, or ran out."""
    if not tokens:
        return set()
    statement = f"SELECT lease_token FROM snmp_executions WHERE {_hold(len(tokens))}"  # noqa: S608
    return set(tokens) - {row[0] for row in sql.fetch_rows(statement, [sql.db_time(now), *tokens])}


def _hold(count: int) -> str:
    places = ", ".join(["%s"] * count)
    return f"state = 'RUNNING' AND lease_expires_at > %s AND lease_token IN ({places})"


def release_lease(started: StartedExecution) -> bool:
    """The OLT of an execution that was aborted under us is free as soon as we stopped. Whether it was."""
    aborted = (
        Execution.objects.filter(id=started.execution_id, lease_token=started.token)
        .exclude(state=State.RUNNING)
        .update(lease_token="", lease_expires_at=None)
    )
    return bool(aborted)
