"""Reads what OLTs are owed, from grids and open executions, and what is configured for them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from facho.apps.db import sql
from facho.apps.execution_coordinator.models import OltConfiguration
from facho.apps.execution_coordinator.store import TrackerKey
from facho.apps.maintenance.selectors import closed_times
from facho.apps.snmp_jobs.selectors import members_of, node_link
from facho.core.chain import masters
from facho.core.changes import (
    Device,
    OltState,
    decode_state,
    encode_job,
    encode_state_of_tasks,
    encode_task,
    fingerprint,
)
from facho.core.maintenance import Span, slots_inside
from facho.core.quota import Hour, slots_from

_TICK: Final = timedelta(microseconds=1)


class Owed(NamedTuple):
    """The count that one part of a slot owes, and the seconds until the next slot."""

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
    rows = dict(enumerate(nodes))
    times: dict[int, tuple[datetime, timedelta]] = {}
    links = []
    for number, (olt, job, master, interval_s, _, next_run_at, *_) in rows.items():
        links.append(node_link(number, job, olt, master, next_run_at, 0, enabled=True))
        if next_run_at is not None:
            times[number] = sql.parse_time(next_run_at), timedelta(seconds=interval_s)
    master_of = masters(links)
    for number, (olt, _, _, _, task_type, *_) in rows.items():
        at = times.get(master_of.get(number, number))
        if at is not None:
            yield GridSlots(olt, task_type, *at)


def _open(row: sql.Row) -> OpenExecution:
    olt, attempt, _, _, state, slot, owes, queued_at = row
    parts = tuple(Owed(*each) for each in json.loads(owes))
    return OpenExecution(olt, sql.parse_time(slot), state, attempt, sql.parse_time(queued_at), parts)


def configured_states(olt_ids: Sequence[int] | None = None) -> dict[int, str]:
    """Return the encoded configuration of these OLTs, or of all for None, in four queries."""
    jobs = _encoded_jobs()
    tasks: dict[int, list[str]] = defaultdict(list)
    for olt_id, node_id, job_id, enabled, interval_s, priority in _fetch_of_olts(_NODES, "n.olt_id", olt_ids):
        job_on, job_interval_s, job_priority, job = jobs[job_id]
        own = interval_s if interval_s is not None else job_interval_s
        rank = priority if priority is not None else job_priority
        tasks[olt_id].append(encode_task(node_id, bool(enabled) and job_on, own, rank, job))
    return {
        olt_id: encode_state_of_tasks(Device(bool(enabled), *device), tasks.get(olt_id, ()))
        for olt_id, enabled, *device in _fetch_of_olts(_OLTS, "o.id", olt_ids)
    }


def _fetch_of_olts(statement: str, column: str, olt_ids: Sequence[int] | None) -> list[sql.Row]:
    if olt_ids is None:
        return sql.fetch_rows(statement.format(""), [])
    if not olt_ids:
        return []
    places = ", ".join(["%s"] * len(olt_ids))
    return sql.fetch_rows(statement.format(f" WHERE {column} IN ({places})"), olt_ids)


def _encoded_jobs() -> dict[int, tuple[bool, int, int, str]]:
    """Return of each job whether it is enabled, its interval and priority, and its encoding for tasks."""
    oids: dict[int, list[str]] = defaultdict(list)
    for job_id, oid in sql.fetch_rows(_OIDS, []):
        oids[job_id].append(oid)
    found = {}
    for enabled, interval_s, priority, facts, job_id, *job in sql.fetch_rows(_JOBS, []):
        asked = tuple(map(str, json.loads(facts))), tuple(oids.get(job_id, ()))
        found[job_id] = bool(enabled), interval_s, priority, encode_job((job_id, *job, *asked))
    return found


_NODES: Final = (
    "SELECT n.olt_id, n.id, n.job_id, n.enabled, n.interval_s, n.priority FROM snmp_job_hosts n{}"
    " ORDER BY n.id"
)
_OLTS: Final = (
    "SELECT o.id, o.enabled, o.name, b.name, COALESCE(m.name, ''), o.address, o.port, o.snmp_version, o.site,"
    " o.max_in_flight, o.max_varbinds, o.max_requests_per_second, o.shortest_interval_s"
    " FROM olts o JOIN brands b ON b.id = o.brand_id LEFT JOIN olt_models m ON m.id = o.model_id{}"
)
_JOBS: Final = (
    "SELECT enabled, interval_s, priority, facts, id, name, kind, task_type, master_id, max_attempts,"
    " retry_delay_s FROM snmp_jobs"
)
_OIDS: Final = (
    "SELECT x.job_id, i.oid FROM snmp_job_oids x JOIN oids i ON i.id = x.oid_id ORDER BY x.job_id, i.oid"
)


def changed_olts(states: Mapping[int, str]) -> list[int]:
    """Return the OLTs whose configuration differs from the remembered one, or was never remembered."""
    known = dict(OltConfiguration.objects.values_list("olt_id", "fingerprint"))
    return sorted(olt_id for olt_id, text in states.items() if known.get(olt_id) != fingerprint(text))


def remembered_states(olt_ids: Sequence[int]) -> dict[int, OltState | None]:
    """Return the remembered configurations; None for one that this version cannot read."""
    rows = OltConfiguration.objects.filter(olt__in=olt_ids).values_list("olt_id", "state")
    return {olt_id: decode_state(text) for olt_id, text in rows}
