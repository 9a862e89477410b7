"""Reads of executions: what waits, runs and has ended, and what one of them asks."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Concat, NullIf

from facho.apps.executions.models import ACTIVE, Execution, State
from facho.core.pool import Waiting, choose
from facho.core.reasons import Reason


def _what(execution: str = "") -> Case:
    onu, nothing = f"{execution}onu", Value("")
    name = Coalesce(NullIf(f"{onu}__serial", nothing), NullIf(f"{onu}__mac", nothing), f"{onu}__address")
    read_alone = When(**{f"{onu}__isnull": False}, then=Concat(Value("ONU "), name))
    return Case(read_alone, default=F(f"{execution}node__job__name"))


# The job of an execution, or the ONU that is read alone; nothing for a manual execution.
SUBJECT_NAME: Final = _what()
# The same of the execution that held the OLT meanwhile.
BLOCKER_NAME: Final = _what("blocked_by__")
# The same for a few rows. With one join for all of it, PostgreSQL would plan longer than it reads.
BLOCKER_NAME_OF_FEW: Final = Subquery(
    Execution.objects.order_by().filter(pk=OuterRef("blocked_by")).values(_name=_what())
)


class WaitCause(enum.Enum):
    """The cause why a waiting execution has not started."""

    STARTING = enum.auto()
    OLT_BUSY = enum.auto()
    BEHIND = enum.auto()
    POLLERS_BUSY = enum.auto()
    NO_POLLERS = enum.auto()
    RETRY = enum.auto()


@dataclass(frozen=True, slots=True)
class HeldOlt:
    """An OLT that is not free, and the execution that holds it. `job` is empty for a manual execution."""

    execution_id: int
    olt_id: int
    olt: str
    job: str
    state: str
    started_at: datetime | None
    # Empty until one has taken it.
    worker: str
    lease_expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class QueuedExecution:
    """A waiting execution in its place. `because_of` is the job that it waits for on its OLT."""

    execution_id: int
    # None for an ONU that is read alone.
    node_id: int | None
    olt_id: int
    olt: str
    job: str
    run_now: bool
    slot: datetime
    # Since when it could start; in the future for a retry before its time.
    since: datetime
    reason: WaitCause
    because_of: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """`size` counts those whose time has come; `first` also has retries before their time, at the end."""

    size: int
    retries: int
    first: tuple[QueuedExecution, ...]
    # Since when the one waits that could have started first.
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class EndedExecution:
    execution_id: int
    olt_id: int
    olt: str
    job: str
    state: str
    slot: datetime
    delay: timedelta | None
    why_late: str
    # The job that held the OLT meanwhile.
    blocked_by: str
    started_at: datetime | None
    ended_at: datetime | None
    counts: Mapping[str, Any]
    error: Reason

    @property
    def duration(self) -> timedelta | None:
        if self.started_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.started_at


def held_olts(now: datetime) -> list[HeldOlt]:
    """Return what runs, and what was aborted while its holder may not know it yet: that OLT is not free."""
    columns = ("id", "olt_id", "olt__name", SUBJECT_NAME, "state", "started_at", "worker", "lease_expires_at")
    rows = Execution.objects.order_by().values_list(*columns)
    # Each half has an index of its own; for both at once SQLite would look through the whole table.
    active = rows.filter(state__in=ACTIVE)
    leased = rows.filter(~Q(lease_token=""), lease_expires_at__gt=now)
    rows = active.union(leased)
    found = [HeldOlt(i, olt, name, job or "", *held) for i, olt, name, job, *held in rows]
    return sorted(
        found, key=lambda each: (each.started_at is None, each.started_at or now, each.execution_id)
    )


def read_queue(now: datetime, holding: Iterable[HeldOlt], pollers: int, free: int, *, limit: int) -> Queue:
    """Return the first `limit` of the queue, in the order of their start, each with what it waits for."""
    busy = {each.olt_id: each.job for each in holding}
    every = list(_waiting())
    due = [each for each in every if each.slot <= now]
    later = sorted((each for each in every if each.slot > now), key=lambda each: each.slot)
    ordered = list(order_queue(due, busy, now))
    names = _names([each.execution_id for each in (*ordered, *later)[:limit]])
    first = _with_reasons(ordered, busy, names, pollers, free) if ordered else []
    first += [_queued(each, names, WaitCause.RETRY) for each in later if each.execution_id in names]
    oldest = min((each.slot for each in due), default=None)
    return Queue(len(due), len(later), tuple(first[:limit]), oldest)


def order_queue(waiting: Iterable[Waiting], busy_olts: Mapping[int, str], now: datetime) -> Iterator[Waiting]:
    """Order them in rounds, since an OLT runs one at a time: the first of each free OLT, then the others."""
    left = {each.execution_id: each for each in waiting}
    busy: Mapping[int, str] = busy_olts
    while left:
        chosen = choose(left.values(), busy, len(left), now)
        for each in chosen:
            del left[each.execution_id]
        yield from chosen
        busy = {}


def last_ended(limit: int) -> list[EndedExecution]:
    """Return the last to end. By the end alone: with the state, SQLite would sort all that ever ended."""
    rows = Execution.objects.filter(ended_at__isnull=False).order_by("-ended_at")
    return list(map(_ended, _ended_rows(rows[:limit])))


def _waiting() -> Iterator[Waiting]:
    """Return all that waits for a poller, also before its time; not manual executions, which need none."""
    rows = (
        Execution.objects.filter(state=State.WAITING)
        .exclude(node=None, onu=None)
        .values_list(
            "id",
            "olt_id",
            "slot",
            "not_before",
            "run_now",
            Coalesce("node__interval_s", "node__job__interval_s", 60),
            "priority",
        )
    )
    for execution, olt, slot, not_before, run_now, interval_s, priority in rows:
        since = max(slot, not_before)
        yield Waiting(execution, olt, since, timedelta(seconds=interval_s), priority, run_now)


class _Named(NamedTuple):
    node_id: int | None
    olt: str
    job: str
    slot: datetime


def _names(ids: list[int]) -> dict[int, _Named]:
    rows = Execution.objects.filter(id__in=ids)
    named = rows.values_list("id", "node_id", "olt__name", SUBJECT_NAME, "slot")
    return {execution: _Named(node, olt, job or "", slot) for execution, node, olt, job, slot in named}


def _with_reasons(
    ordered: Iterable[Waiting],
    busy: Mapping[int, str],
    names: Mapping[int, _Named],
    pollers: int,
    free: int,
) -> list[QueuedExecution]:
    found: list[QueuedExecution] = []
    # The job that each OLT will run next.
    ahead: dict[int, str] = {}
    for each in ordered:
        if each.execution_id not in names:
            break
        reason, because_of = _reason(each, busy, ahead, pollers, free)
        free -= reason is WaitCause.STARTING
        ahead.setdefault(each.olt_id, names[each.execution_id].job)
        found.append(_queued(each, names, reason, because_of))
    return found


def _reason(
    waiting: Waiting, busy: Mapping[int, str], ahead: Mapping[int, str], pollers: int, free: int
) -> tuple[WaitCause, str]:
    if waiting.olt_id in busy:
        return WaitCause.OLT_BUSY, busy[waiting.olt_id]
    if waiting.olt_id in ahead:
        return WaitCause.BEHIND, ahead[waiting.olt_id]
    if not pollers:
        return WaitCause.NO_POLLERS, ""
    return (WaitCause.STARTING if free > 0 else WaitCause.POLLERS_BUSY), ""


def _queued(
    waiting: Waiting,
    names: Mapping[int, _Named],
    reason: WaitCause,
    because_of: str = "",
) -> QueuedExecution:
    named = names[waiting.execution_id]
    return QueuedExecution(
        execution_id=waiting.execution_id,
        node_id=named.node_id,
        olt_id=waiting.olt_id,
        olt=named.olt,
        job=named.job,
        run_now=waiting.run_now,
        slot=named.slot,
        since=waiting.slot,
        reason=reason,
        because_of=because_of,
    )


def _ended_rows(rows: QuerySet[Execution]) -> Iterable[Any]:
    return rows.values(
        "id",
        "olt_id",
        "olt__name",
        "state",
        "slot",
        "delay_ms",
        "why_late",
        "started_at",
        "ended_at",
        "counts",
        "error",
        what=SUBJECT_NAME,
        blocker=BLOCKER_NAME_OF_FEW,
    )


def _ended(row: Mapping[str, Any]) -> EndedExecution:
    return EndedExecution(
        execution_id=row["id"],
        olt_id=row["olt_id"],
        olt=row["olt__name"],
        job=row["what"] or "",
        state=row["state"],
        slot=row["slot"],
        delay=None if row["delay_ms"] is None else timedelta(milliseconds=row["delay_ms"]),
        why_late=row["why_late"],
        blocked_by=row["blocker"] or "",
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        counts=row["counts"],
        error=row["error"],
    )


def busy_time(now: datetime, window: timedelta) -> timedelta:
    """Return how long all pollers together worked in the window that ends now."""
    begins = now - window
    rows = Execution.objects.filter(Q(ended_at__gt=begins) | Q(state=State.RUNNING), started_at__isnull=False)
    # In no order: in that of the table, SQLite would look through all of it.
    times = rows.order_by().values_list("started_at", "ended_at")
    return sum(
        (max(timedelta(), min(ended or now, now) - max(began, begins)) for began, ended in times if began),
        timedelta(),
    )
