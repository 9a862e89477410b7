"""Reads what OLTs are owed, from grids and open executions, what is configured for them, and plans."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from facho import __version__
from facho.apps.db import sql
from facho.apps.db.database import is_embedded
from facho.apps.execution_coordinator.models import ExecutionPlan, OltConfiguration, PlanStatus
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

    def first_in(self, hour: Hour) -> datetime:
        """Return the first of these slots after the start of the hour."""
        late = hour.start - self.next_run_at
        return self.next_run_at + max(0, late // self.interval + 1) * self.interval


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


_OF_NODE: Final = "n.olt_id, n.id, n.job_id, n.enabled, n.interval_s, n.priority"
_FROM_NODES: Final = "FROM snmp_job_hosts n"
_OF_OLT: Final = (
    "o.id, o.enabled, o.name, b.name, COALESCE(m.name, ''), o.address, o.port, o.snmp_version, o.site,"
    " o.max_in_flight, o.max_varbinds, o.max_requests_per_second, o.shortest_interval_s"
)
_FROM_OLTS: Final = (
    "FROM olts o JOIN brands b ON b.id = o.brand_id LEFT JOIN olt_models m ON m.id = o.model_id"
)
_OF_JOB: Final = (
    "enabled, interval_s, priority, facts, id, name, kind, task_type, master_id, max_attempts, retry_delay_s"
)
_FROM_JOBS: Final = "FROM snmp_jobs"
_OF_OID: Final = "x.job_id, i.oid"
_FROM_OIDS: Final = "FROM snmp_job_oids x JOIN oids i ON i.id = x.oid_id"
_NODES: Final = f"SELECT {_OF_NODE} {_FROM_NODES}{{}} ORDER BY n.id"
_OLTS: Final = f"SELECT {_OF_OLT} {_FROM_OLTS}{{}}"
_JOBS: Final = f"SELECT {_OF_JOB} {_FROM_JOBS}"
_OIDS: Final = f"SELECT {_OF_OID} {_FROM_OIDS} ORDER BY x.job_id, i.oid"
# Everything that a configuration is made of.
_CONFIGURATION: Final = (
    (_OF_NODE, _FROM_NODES), (_OF_OLT, _FROM_OLTS), (_OF_JOB, _FROM_JOBS), (_OF_OID, _FROM_OIDS)
)  # fmt: skip


def configuration_digest() -> str:
    """Return a text that differs whenever the configuration of any OLT does, however it was changed.

    The database computes it from the same columns as `configured_states`: reading those of 10,000 OLTs into
    this process every few seconds would cost more than all else that a quiet step does. A server adds up
    64-bit hashes of the rows. SQLite has no hash function: its rows are hashed here, as one text.
    """
    rows = "SUM(hash_record_extended(ROW({}), 0))" if not is_embedded() else "group_concat(json_array({}))"
    parts = (f"(SELECT {rows.format(columns)} {tables})" for columns, tables in _CONFIGURATION)
    (found,) = sql.fetch_prepared(f"SELECT {', '.join(parts)}", [])
    # Another version may encode the same rows in another way.
    text = "\n".join(map(str, (__version__, *found)))
    return hashlib.sha256(text.encode()).hexdigest()


def olts_to_replan() -> list[int]:
    """Return the OLTs that the engine itself has marked as changed, or whose nodes have wrong next runs.

    An enabled node that is not chained has a next run, and a disabled one has none.
    """
    return sorted(olt for (olt,) in sql.fetch_prepared(_TO_REPLAN, []))


_NODE_RUNS: Final = "SELECT n.olt_id FROM snmp_job_hosts n JOIN snmp_jobs j ON j.id = n.job_id"
# Each part has an index of its own, or few rows to begin with.
_TO_REPLAN: Final = (
    "SELECT olt_id FROM olt_configurations WHERE fingerprint = ''"  # noqa: S608  our own names
    f" UNION {_NODE_RUNS} JOIN olts o ON o.id = n.olt_id"
    " WHERE n.next_run_at IS NULL AND j.master_id IS NULL AND n.enabled AND j.enabled AND o.enabled"
    " UNION SELECT n.olt_id FROM snmp_job_hosts n WHERE NOT n.enabled AND n.next_run_at IS NOT NULL"
    f" UNION {_NODE_RUNS} WHERE NOT j.enabled AND n.next_run_at IS NOT NULL"
    " UNION SELECT n.olt_id FROM olts o JOIN snmp_job_hosts n ON n.olt_id = o.id"
    " WHERE NOT o.enabled AND n.next_run_at IS NOT NULL"
)


def changed_olts(states: Mapping[int, str]) -> list[int]:
    """Return the OLTs whose configuration differs from the remembered one, or was never remembered."""
    known = dict(OltConfiguration.objects.values_list("olt_id", "fingerprint"))
    return sorted(olt_id for olt_id, text in states.items() if known.get(olt_id) != fingerprint(text))


def remembered_states(olt_ids: Sequence[int]) -> dict[int, OltState | None]:
    """Return the remembered configurations; None for one that this version cannot read."""
    rows = OltConfiguration.objects.filter(olt__in=olt_ids).values_list("olt_id", "state")
    return {olt_id: decode_state(text) for olt_id, text in rows}


def plan_of_slot(olt_id: int, slot: datetime) -> int | None:
    """Return the plan of the hour that a slot of an OLT belongs to, but none that was replaced."""
    # As in `hour_of`: a slot on the stroke belongs to the hour that it ends.
    plans = ExecutionPlan.objects.filter(olt=olt_id, period_start__lt=slot, period_end__gte=slot)
    kept = plans.exclude(status=PlanStatus.SUPERSEDED).order_by("-period_start", "-id")
    return kept.values_list("id", flat=True).first()
