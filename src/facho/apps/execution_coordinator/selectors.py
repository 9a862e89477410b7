"""Reads what OLTs are owed: from the grids of their nodes, and from open executions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from facho.apps.db import sql
from facho.apps.execution_coordinator.store import TrackerKey
from facho.apps.maintenance.selectors import closed_times
from facho.apps.snmp_jobs.selectors import members_of
from facho.core.maintenance import Span, slots_inside
from facho.core.quota import Hour, slots_from

_TICK: Final = timedelta(microseconds=1)


class Owed(NamedTuple):
    """What one part of a slot counts for, and the seconds until the next slot."""

    node_id: int
    task_type: str
    interval_s: int


def owed_by(master_ids: Sequence[int]) -> dict[int, tuple[Owed, ...]]:
    """Return what one slot of each of these composite nodes counts for."""
    return {
        master: tuple(Owed(each.node_id, each.task_type, every[0].interval_s) for each in every)
        for master, every in members_of(master_ids).items()
    }


@dataclass(frozen=True, slots=True)
class GridSlots:
    """The slots of one part that have not come yet."""

    olt_id: int
    task_type: str
    next_run_at: datetime
    interval: timedelta


@dataclass(frozen=True, slots=True)
class OpenExecution:
    """An execution that has not ended and counts."""

    olt_id: int
    slot: datetime
    state: str
    attempt: int
    queued_at: datetime
    owes: tuple[Owed, ...]


@dataclass(frozen=True, slots=True)
class PendingSlots:
    """The slots that are owed and have no outcome, at one instant."""

    grids: list[GridSlots]
    open: list[OpenExecution]
    # OLTs that are enabled.
    enabled: frozenset[int]
    # Slots in maintenance are not owed.
    closed: Mapping[int, Sequence[Span]] = field(default_factory=dict)

    def pending(self, hours: Sequence[Hour]) -> dict[TrackerKey, int]:
        """Return the number of pending slots of each tracker that has any."""
        found: dict[TrackerKey, int] = defaultdict(int)
        for key, count in (*self.on_grids(hours), *self._in_executions(hours)):
            found[key] += count
        return {key: count for key, count in found.items() if count}

    def on_grids(self, hours: Sequence[Hour]) -> Iterator[tuple[TrackerKey, int]]:
        for hour in hours:
            for grid in self.grids:
                if grid.next_run_at <= hour.end:
                    key = TrackerKey(grid.olt_id, grid.task_type, hour)
                    closed = self.closed.get(grid.olt_id, ())
                    count = slots_from(grid.next_run_at, grid.interval, hour)
                    yield key, count - slots_inside(grid.next_run_at, grid.interval, hour, closed)

    def _in_executions(self, hours: Sequence[Hour]) -> Iterator[tuple[TrackerKey, int]]:
        for each in self.open:
            for hour in hours:
                if each.slot in hour:
                    for owed in each.owes:
                        yield TrackerKey(each.olt_id, owed.task_type, hour), 1


def load_pending_slots(olt_ids: Sequence[int] | None, hours: Sequence[Hour], zone: tzinfo) -> PendingSlots:
    """Return what these hours owe to these OLTs, or to all for None.

    Grids and executions are read in one statement: a slot leaves its grid and becomes an execution in one
    transaction, and between two statements it would be counted twice, or not at all.
    """
    if olt_ids is not None and not olt_ids:
        return PendingSlots([], [], frozenset())
    where = "" if olt_ids is None else f" AND {{}} IN ({', '.join(['%s'] * len(olt_ids))})"
    statement = _OUTLOOK.format(where.format("n.olt_id"), where.format("e.olt_id"), where.format("o.id"))
    found: tuple[list[sql.Row], ...] = ([], [], [])
    for kind, *row in sql.fetch_rows(statement, [*(olt_ids or ())] * 3):
        found[kind].append(tuple(row))
    nodes, executions, olts = found
    enabled = frozenset(olt for olt, *_ in olts)
    after, until = min(hour.start for hour in hours), max(hour.end for hour in hours)
    # A slot on the full hour belongs to the hour that ends, and is closed by a window that begins then.
    closed = closed_times(olt_ids, after, until + _TICK, zone)
    return PendingSlots(list(_grids(nodes)), list(map(_open, executions)), enabled, closed)


# Nodes (0), executions (1) and OLTs (2), in the columns that each has.
_OUTLOOK: Final = (
    "SELECT 0, n.olt_id, n.job_id, j.master_id, COALESCE(n.interval_s, j.interval_s), j.task_type,"
    " n.next_run_at, CAST(NULL AS text), CAST(NULL AS timestamp with time zone)"
    " FROM snmp_job_hosts n JOIN snmp_jobs j ON j.id = n.job_id JOIN olts o ON o.id = n.olt_id"
    " WHERE n.enabled AND j.enabled AND o.enabled{}"
    " UNION ALL SELECT 1, e.olt_id, e.attempt, NULL, NULL, e.state, e.slot, CAST(e.owes AS text), e.queued_at"
    " FROM snmp_executions e WHERE e.state IN ('WAITING', 'PENDING', 'RUNNING')"
    " AND CAST(e.owes AS text) <> '[]'{}"
    " UNION ALL SELECT 2, o.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM olts o WHERE o.enabled{}"
)


def _grids(nodes: Iterable[sql.Row]) -> Iterator[GridSlots]:
    """Yield the grid of each node; a chained one has the slots of its master."""
    rows = list(nodes)
    times = {
        (olt, job): (sql.parse_time(next_run_at), timedelta(seconds=interval_s))
        for olt, job, _, interval_s, _, next_run_at, *_ in rows
        if next_run_at is not None
    }
    for olt, job, master, _, task_type, next_run_at, *_ in rows:
        at = times.get((olt, job if next_run_at is not None else master))
        if at is not None:
            yield GridSlots(olt, task_type, *at)


def _open(row: sql.Row) -> OpenExecution:
    olt, attempt, _, _, state, slot, owes, queued_at = row
    parts = tuple(Owed(*each) for each in json.loads(owes))
    return OpenExecution(olt, sql.parse_time(slot), state, attempt, sql.parse_time(queued_at), parts)
