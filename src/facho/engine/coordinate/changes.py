"""Replans OLTs after their configuration changed: by a command at once, by SQL at the coordinator's step.

An enabled node that is not chained has a next run. So the rows show what to do: a node without one that
should have it starts, a node with one that should have none stops. A node whose interval changed loses its
next run, and starts again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db.models.functions import Coalesce

from facho.apps.db.sql import insert_rows, update_rows
from facho.apps.execution_coordinator.selectors import (
    changed_olts,
    configured_states,
    olts_to_replan,
    remembered_states,
)
from facho.apps.execution_coordinator.store import remember_states
from facho.apps.executions.models import QUEUED, Execution, Trigger
from facho.apps.executions.store import set_priorities
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
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
from facho.core.reasons import Reason
from facho.core.schedule import first_run_of_enabled, first_run_of_new, spread
from facho.engine.coordinate.aborts import AbortedExecution, abort_open, abort_queued
from facho.engine.coordinate.plans import update_plans
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.events import types as events
from facho.engine.events.stream import olt_names, publish
from facho.engine.process.command_transaction import command

OLT_DISABLED: Final = Reason.of("olt_disabled")


@dataclass(frozen=True, slots=True)
class ReplanResult:
    """The first runs of nodes that were started, and the number of executions that were aborted."""

    first_runs: Mapping[int, datetime]
    aborted: int = 0


def handle_changes(now: datetime, *, compare: bool = True) -> list[int]:
    """Replan the OLTs that were changed without a command, by SQL, and return them.

    `compare` is whether the configurations may differ from the remembered ones.
    """
    changed = olts_to_replan()
    if compare:
        changed = sorted({*changed, *changed_olts(configured_states())})
    if changed:
        command(replan)(changed, now)
    return changed


def replan(
    olt_ids: Sequence[int], now: datetime, *, new: Collection[int] = (), reason: str = ""
) -> ReplanResult:
    """Start and stop the nodes of these OLTs, abort what must not run, reconcile trackers, publish changes.

    In the transaction of a command. `new` are the nodes that this change created, and `reason` is why a
    person disabled nodes. The first runs of several
    OLTs are spread in the given order.
    """
    config = current()
    found = _find_changes(olt_ids)
    _clear_next_runs(found.nodes_with_new_interval())
    nodes = _load_nodes(olt_ids)
    stopped, first_runs = plan_first_runs(nodes, olt_ids, found.new.union(new), now, config)
    # Before the queue is read: this waits for a scheduler that is filling it now.
    _clear_next_runs(node.node_id for node in stopped if node.next_run_at is not None)
    update_rows(SnmpJobHost, ["next_run_at"], list(first_runs.items()))
    _queue_first_runs(nodes, first_runs, found.new.union(new), now, config)
    if found.is_priority_changed():
        set_priorities(olt_ids)
    disabled = dict(
        Olt.objects.filter(id__in=list(olt_ids), enabled=False).values_list("id", "disabled_reason")
    )
    aborted = _abort_executions(olt_ids, disabled, stopped, now)
    remember_states(found.states, now)
    reconcile_trackers(olt_ids, now, config)
    with olt_names(found.names):
        _publish_changes(found.changes, disabled, reason, aborted, now)
        update_plans(olt_ids, now, config)
        for olt_id, count in Counter(node.olt_id for node in nodes if node.node_id in first_runs).items():
            publish(events.PlanAdjusted(olt_id=olt_id, nodes=count), now)
    return ReplanResult(first_runs, len(aborted))


@dataclass(frozen=True, slots=True)
class _FoundChanges:
    """The differences between the remembered and the present configuration of OLTs."""

    changes: Mapping[int, Sequence[Change]]
    states: Mapping[int, str]
    names: Mapping[int, str]
    # Nodes that are not in the remembered configuration.
    new: frozenset[int]

    def nodes_with_new_interval(self) -> Iterable[int]:
        return (each.task.node_id for each in self._every() if isinstance(each, TaskIntervalChanged))

    def is_priority_changed(self) -> bool:
        return any(isinstance(each, ConfigChanged) and "priority" in each.changed for each in self._every())

    def _every(self) -> Iterator[Change]:
        return (each for changes in self.changes.values() for each in changes)


def _find_changes(olt_ids: Sequence[int]) -> _FoundChanges:
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
            # The OLT is new, and so are its nodes.
            new |= _node_ids(after)
    return _FoundChanges(changes, states, names, frozenset(new))


def _node_ids(state: OltState) -> set[int]:
    return {task.node_id for task in state.tasks}


def _clear_next_runs(node_ids: Iterable[int]) -> None:
    update_rows(SnmpJobHost, ["next_run_at"], [(node_id, None) for node_id in node_ids])


class PlannedNode(NamedTuple):
    """A node with everything that decides whether it has a next run of its own, and when."""

    node_id: int
    olt_id: int
    job_id: int
    master_job_id: int | None
    master: str | None
    interval_s: int
    priority: int
    node_enabled: bool
    job_enabled: bool
    olt_enabled: bool
    next_run_at: datetime | None
    last_run_at: datetime | None

    @property
    def link(self) -> Link:
        enabled = self.node_enabled and self.job_enabled and self.olt_enabled
        return Link(self.node_id, self.job_id, self.olt_id, self.master_job_id, self.priority, enabled)

    @property
    def why_stopped(self) -> Reason:
        if not self.olt_enabled:
            return OLT_DISABLED
        if not self.job_enabled:
            return Reason.of("job_disabled")
        if not self.node_enabled:
            return Reason.of("node_disabled")
        return Reason.of("chained", job=self.master or "")


def _load_nodes(olt_ids: Collection[int]) -> list[PlannedNode]:
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


def plan_first_runs(
    nodes: Sequence[PlannedNode],
    olt_ids: Iterable[int],
    new: Collection[int],
    now: datetime,
    config: Config,
) -> tuple[list[PlannedNode], dict[int, datetime]]:
    """Return the nodes that have no next run of their own, and the first runs of those that start."""
    masters = {composite.master for composite in composites(node.link for node in nodes)}
    stopped = [node for node in nodes if node.node_id not in masters]
    starting = [node for node in nodes if node.node_id in masters and node.next_run_at is None]
    return stopped, _first_runs(starting, olt_ids, new, now, config)


def _first_runs(
    starting: Sequence[PlannedNode],
    olt_ids: Iterable[int],
    new: Collection[int],
    now: datetime,
    config: Config,
) -> dict[int, datetime]:
    with_starting = {node.olt_id for node in starting}
    ordered = [olt_id for olt_id in dict.fromkeys(olt_ids) if olt_id in with_starting]
    places = {olt_id: place for place, olt_id in enumerate(ordered)}
    first_runs = {}
    for node in starting:
        interval = timedelta(seconds=node.interval_s)
        first = (
            first_run_of_new(now, delay=config.first_run_delay)
            if node.node_id in new and node.last_run_at is None
            else first_run_of_enabled(now, interval)
        )
        shift = spread(places[node.olt_id], len(places), interval, limit=config.spread_limit)
        first_runs[node.node_id] = first + shift
    return first_runs


def _queue_first_runs(
    nodes: Iterable[PlannedNode],
    first_runs: Mapping[int, datetime],
    new: Collection[int],
    now: datetime,
    config: Config,
) -> None:
    """Queue a run at once for each new node whose first slot was moved, because many start together.

    The grids stay spread, or the OLTs would be asked together ever after; but nobody waits for values while
    pollers are free. It is an extra run, like one that a person asks for, but it does not go first: it is the
    run of no slot, and quotas do not count it. If it has not begun when the first slot comes, it becomes the
    run of that slot.
    """
    usual = first_run_of_new(now, delay=config.first_run_delay)
    rows = [
        (node.node_id, node.olt_id, Trigger.RUN_NOW.value, now, now, now, node.priority)
        for node in nodes
        if node.node_id in new and node.last_run_at is None and first_runs.get(node.node_id, usual) > usual
    ]
    insert_rows(Execution, _FIRST_RUN, rows, unless_there=True)


_FIRST_RUN: Final = ("node", "olt", "trigger", "slot", "not_before", "queued_at", "priority")


def _abort_executions(
    olt_ids: Collection[int], disabled: Collection[int], stopped: Iterable[PlannedNode], now: datetime
) -> list[AbortedExecution]:
    """Abort everything of disabled OLTs, and what has not begun of stopped nodes."""
    aborted = (
        abort_open(Execution.objects.filter(olt__in=list(disabled)), OLT_DISABLED, now) if disabled else []
    )
    why = {node.node_id: node.why_stopped for node in stopped}
    queued: dict[Reason, list[int]] = defaultdict(list)
    rows = Execution.objects.filter(olt__in=list(olt_ids), state__in=QUEUED).exclude(node=None)
    for execution, node_id in rows.values_list("id", "node_id"):
        if node_id in why:
            queued[why[node_id]].append(execution)
    for reason, ids in queued.items():
        aborted += abort_queued(Execution.objects.filter(id__in=ids), reason, now)
    return aborted


def _publish_changes(
    changes: Mapping[int, Sequence[Change]],
    reasons: Mapping[int, str],
    reason: str,
    aborted: Sequence[AbortedExecution],
    now: datetime,
) -> None:
    """Publish the changes. `reasons` tells why OLTs are disabled, `reason` why nodes are."""
    of_olt = Counter(each.olt_id for each in aborted)
    of_node = Counter(each.node_id for each in aborted)
    for olt_id, several in changes.items():
        for each in several:
            event = _event(olt_id, each, of_olt[olt_id], of_node)
            if isinstance(event, events.OltDisabled):
                event = replace(event, reason=reasons.get(olt_id, ""))
            elif isinstance(event, events.TaskRemoved):
                event = replace(event, reason=reason)
            publish(event, now)


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
