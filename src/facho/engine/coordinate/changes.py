"""Acts on what people change: a command does so at once, and the coordinator's step finds the rest.

A node has a time when nothing keeps it off and it is not chained to another one. So what has to be done can
be read off the rows: a node without a time that should have one starts, a node with a time that should have
none stops. An interval that changed is the same: the time is taken away, and the node starts anew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db.models import Q
from django.db.models.functions import Coalesce

from facho.apps.db.rows import update_rows
from facho.apps.execution_coordinator.configuration import (
    changed_olts,
    configured_states,
    remember_states,
    remembered_states,
)
from facho.apps.executions.models import QUEUED, Execution
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import enabled_nodes
from facho.config import Config, current
from facho.core.chain import Link, composites
from facho.core.changes import (
    Change,
    ConfigChanged,
    OltDisabled,
    OltEnabled,
    OltState,
    TaskAdded,
    TaskIntervalChanged,
    TaskRemoved,
    decode_state,
    differences,
)
from facho.core.schedule import first_run_of_enabled, first_run_of_new, spread
from facho.engine.coordinate.aborts import AbortedExecution, abort_open, abort_queued
from facho.engine.coordinate.plans import update_plans
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.events import types as events
from facho.engine.events.stream import olt_names, publish
from facho.engine.process.command_transaction import command

OLT_OFF: Final = "the OLT was disabled"


@dataclass(frozen=True, slots=True)
class ReplanResult:
    """What a change did to the schedule: when nodes run that started anew, and how many executions ended."""

    first_runs: Mapping[int, datetime]
    aborted: int = 0


def handle_changes(now: datetime) -> list[int]:
    """The OLTs of which something was changed behind our back, by SQL. They are handled now."""
    found = sorted({*changed_olts(configured_states()), *_out_of_step()})
    if found:
        _handle(found, now)
    return found


@command
def _handle(olt_ids: Sequence[int], now: datetime) -> ReplanResult:
    return replan(olt_ids, now)


def _out_of_step() -> set[int]:
    """OLTs with nodes that should have a time and have none, or the other way round."""
    forgotten = enabled_nodes().filter(next_run_at__isnull=True, job__master__isnull=True)
    off = Q(enabled=False) | Q(job__enabled=False) | Q(olt__enabled=False)
    lingering = SnmpJobHost.objects.filter(off, next_run_at__isnull=False)
    # In no order: theirs is by names, and there are very many of them.
    return {olt for found in (forgotten, lingering) for olt in found.order_by().values_list("olt", flat=True)}


def replan(olt_ids: Sequence[int], now: datetime, *, new: Collection[int] = ()) -> ReplanResult:
    """Give every node of these OLTs the time that it should have, end what should not be in the queue, count
    what is owed now, and write down what was changed. In the transaction of a command.

    `new` are ids of nodes that this very change made. The order of the OLTs is that in which they are spread.
    """
    config = current()
    seen = _look(olt_ids)
    _take_times(seen.with_other_interval())
    nodes = _nodes(olt_ids)
    stopped, first_runs = plan_times(nodes, olt_ids, seen.new.union(new), now, config)
    # Before the queue is looked at: a scheduler that is filling it now has to finish first.
    _take_times(node.node_id for node in stopped if node.next_run_at is not None)
    update_rows(SnmpJobHost, ["next_run_at"], list(first_runs.items()))
    ended = _end_executions(olt_ids, stopped, now)
    remember_states(seen.states, now)
    reconcile_trackers(olt_ids, now, config)
    with olt_names(seen.names):
        _write_down(seen.changes, ended, now)
        update_plans(olt_ids, now, config)
        for olt_id, count in Counter(node.olt_id for node in nodes if node.node_id in first_runs).items():
            publish(events.PlanAdjusted(olt_id=olt_id, nodes=count), now)
    return ReplanResult(first_runs, len(ended))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What differs from the last look at these OLTs, and how those that do are now."""

    changes: Mapping[int, Sequence[Change]]
    states: Mapping[int, str]
    names: Mapping[int, str]
    # Nodes that were not there at the last look.
    new: frozenset[int]

    def with_other_interval(self) -> Iterable[int]:
        every = (each for changes in self.changes.values() for each in changes)
        return (each.task.node_id for each in every if isinstance(each, TaskIntervalChanged))


def _look(olt_ids: Sequence[int]) -> _Seen:
    before, states = remembered_states(olt_ids), configured_states(olt_ids)
    changes: dict[int, Sequence[Change]] = {}
    names: dict[int, str] = {}
    new: set[int] = set()
    for olt_id, text in states.items():
        known, after = before.get(olt_id), decode_state(text)
        assert after is not None
        changes[olt_id], names[olt_id] = list(differences(known, after)), after.device.name
        if known is not None:
            new |= _node_ids(after) - _node_ids(known)
        elif olt_id not in before:
            # The OLT came since the last look, and its nodes came with it.
            new |= _node_ids(after)
    return _Seen(changes, states, names, frozenset(new))


def _node_ids(state: OltState) -> set[int]:
    return {task.node_id for task in state.tasks}


def _take_times(node_ids: Iterable[int]) -> None:
    update_rows(SnmpJobHost, ["next_run_at"], [(node_id, None) for node_id in node_ids])


class PlannedNode(NamedTuple):
    """A node with all that decides whether it has a time of its own, and which."""

    node_id: int
    olt_id: int
    job_id: int
    master_job_id: int | None
    master: str | None
    interval_s: int
    priority: int
    node_on: bool
    job_on: bool
    olt_on: bool
    next_run_at: datetime | None
    last_run_at: datetime | None

    @property
    def link(self) -> Link:
        enabled = self.node_on and self.job_on and self.olt_on
        return Link(self.node_id, self.job_id, self.olt_id, self.master_job_id, self.priority, enabled)

    @property
    def why_not(self) -> str:
        if not self.olt_on:
            return OLT_OFF
        if not self.job_on:
            return "the job was disabled"
        return f"it runs after {self.master}" if self.node_on else "the node was disabled"


def _nodes(olt_ids: Collection[int]) -> list[PlannedNode]:
    rows = SnmpJobHost.objects.filter(olt__in=list(olt_ids)).values_list(
        "id",
        "olt_id",
        "job_id",
        "job__master_id",
        "job__master__name",
        Coalesce("interval_s", "job__interval_s"),
        Coalesce("priority", "job__priority"),
        "enabled",
        "job__enabled",
        "olt__enabled",
        "next_run_at",
        "last_run_at",
    )
    return [PlannedNode(*row) for row in rows.order_by("id")]


def plan_times(
    nodes: Sequence[PlannedNode],
    olt_ids: Iterable[int],
    new: Collection[int],
    now: datetime,
    config: Config,
) -> tuple[list[PlannedNode], dict[int, datetime]]:
    """Return the nodes that have no time of their own, and the first runs of those that start."""
    plain = {composite.master for composite in composites(node.link for node in nodes)}
    stopped = [node for node in nodes if node.node_id not in plain]
    starting = [node for node in nodes if node.node_id in plain and node.next_run_at is None]
    return stopped, _first_runs(starting, olt_ids, new, now, config)


def _first_runs(
    starting: Sequence[PlannedNode],
    olt_ids: Iterable[int],
    new: Collection[int],
    now: datetime,
    config: Config,
) -> dict[int, datetime]:
    planned = {node.olt_id for node in starting}
    places = {
        olt_id: place for place, olt_id in enumerate(filter(planned.__contains__, dict.fromkeys(olt_ids)))
    }
    found = {}
    for node in starting:
        interval = timedelta(seconds=node.interval_s)
        first = (
            first_run_of_new(now, delay=config.first_run_delay)
            if node.node_id in new and node.last_run_at is None
            else first_run_of_enabled(now, interval)
        )
        moved = spread(places[node.olt_id], len(places), interval, limit=config.spread_limit)
        found[node.node_id] = first + moved
    return found


def _end_executions(
    olt_ids: Collection[int], stopped: Iterable[PlannedNode], now: datetime
) -> list[AbortedExecution]:
    """Of OLTs that are off everything; of nodes that stopped what has not begun."""
    off = list(Olt.objects.filter(id__in=list(olt_ids), enabled=False).values_list("id", flat=True))
    ended = abort_open(Execution.objects.filter(olt__in=off), OLT_OFF, now) if off else []
    why = {node.node_id: node.why_not for node in stopped}
    queued: dict[str, list[int]] = defaultdict(list)
    rows = Execution.objects.filter(olt__in=list(olt_ids), state__in=QUEUED).exclude(node=None)
    for execution, node_id in rows.values_list("id", "node_id"):
        if node_id in why:
            queued[why[node_id]].append(execution)
    for reason, ids in queued.items():
        ended += abort_queued(Execution.objects.filter(id__in=ids), reason, now)
    return ended


def _write_down(
    changes: Mapping[int, Sequence[Change]], ended: Sequence[AbortedExecution], now: datetime
) -> None:
    of_olt = Counter(each.olt_id for each in ended)
    of_node = Counter(each.node_id for each in ended)
    for olt_id, several in changes.items():
        for each in several:
            publish(_event(olt_id, each, of_olt[olt_id], of_node), now)


def _event(
    olt_id: int, change: Change, aborted: int, aborted_of_node: Mapping[int | None, int]
) -> events.Event:
    match change:
        case TaskAdded(task):
            return events.TaskAdded(
                olt_id=olt_id, job=task.job, task_type=task.task_type, interval_s=task.interval_s
            )
        case TaskRemoved(task):
            return events.TaskRemoved(
                olt_id=olt_id, job=task.job, task_type=task.task_type, aborted=aborted_of_node[task.node_id]
            )
        case TaskIntervalChanged(task, before_s):
            return events.TaskIntervalChanged(
                olt_id=olt_id,
                job=task.job,
                task_type=task.task_type,
                before_s=before_s,
                after_s=task.interval_s,
            )
        case OltEnabled():
            return events.OltEnabled(olt_id=olt_id)
        case OltDisabled():
            return events.OltDisabled(olt_id=olt_id, aborted=aborted)
        case ConfigChanged(of_task, changed_values):
            job = of_task.job if of_task else None
            return events.ConfigChanged(olt_id=olt_id, job=job, changed=changed_values)
