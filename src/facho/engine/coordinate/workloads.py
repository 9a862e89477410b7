"""The workloads of OLTs: their tasks as they are planned, and what waits and runs there now."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db.models.functions import Coalesce

from facho.apps.executions.models import OPEN, Execution, State, Trigger
from facho.apps.maintenance.selectors import closed_times
from facho.apps.snmp_jobs.selectors import enabled_nodes
from facho.config import Config
from facho.core.chain import Link, composites
from facho.core.forecast import Predicted
from facho.core.plan import ClosedSpans, Plan, Queued, Running, Task, simulate
from facho.core.reasons import Reason
from facho.engine.coordinate.forecasts import predict_durations

# For a task without a prediction.
GUESS: Final = Predicted(10.0, 30.0, sure=False)
# The expected rest of a run that takes longer than nearly all before it.
_OVERDUE_REST: Final = timedelta(seconds=5)

Predictions = Mapping[tuple[int, str], Predicted]


@dataclass(frozen=True, slots=True)
class Workload:
    olt_id: int
    tasks: tuple[Task, ...]
    running: Running | None
    queued: tuple[Queued, ...]
    closed: ClosedSpans

    def plan(self, now: datetime, until: datetime, config: Config) -> Plan:
        return simulate(
            self.tasks,
            now,
            until,
            running=self.running,
            queued=self.queued,
            closed=self.closed,
            lag=config.scheduler_step / 2,
        )


def load_workloads(
    olt_ids: Sequence[int] | None, now: datetime, until: datetime, config: Config
) -> dict[int, Workload]:
    """Return the workloads of enabled OLTs that have nodes, in a fixed number of queries."""
    nodes: dict[int, list[EnabledNode]] = defaultdict(list)
    for node in _load_nodes(olt_ids):
        nodes[node.olt_id].append(node)
    predictions = predict_durations(olt_ids, now, config)
    open_executions: dict[int, list[_Open]] = defaultdict(list)
    for each in _load_open(olt_ids):
        open_executions[each.olt_id].append(each)
    closed = closed_times(olt_ids, now, until, config.time_zone)
    return {
        olt_id: _workload(olt_id, some, open_executions[olt_id], closed.get(olt_id, ()), predictions, now)
        for olt_id, some in nodes.items()
    }


class EnabledNode(NamedTuple):
    node_id: int
    olt_id: int
    job_id: int
    job: str
    task_type: str
    master_job_id: int | None
    interval_s: int
    priority: int
    # None for a chained node.
    next_run_at: datetime | None
    suspended: Reason
    olt_suspended: Reason

    @property
    def link(self) -> Link:
        return Link(self.node_id, self.job_id, self.olt_id, self.master_job_id, self.priority, enabled=True)


def _load_nodes(olt_ids: Sequence[int] | None) -> list[EnabledNode]:
    nodes = enabled_nodes() if olt_ids is None else enabled_nodes().filter(olt__in=olt_ids)
    rows = nodes.order_by("id").values_list(
        "id", "olt_id", "job_id", "job__name", "job__task_type", "job__master_id",
        Coalesce("interval_s", "job__interval_s"), Coalesce("priority", "job__priority"), "next_run_at",
        "suspended_reason", "olt__suspended_reason",
    )  # fmt: skip
    return [EnabledNode(*row) for row in rows]


class _Open(NamedTuple):
    olt_id: int
    node_id: int | None
    job: str | None
    state: str
    slot: datetime
    not_before: datetime
    started_at: datetime | None
    trigger: str
    run_now: bool

    @property
    def by_hand(self) -> bool:
        return self.trigger == Trigger.RUN_NOW


def _load_open(olt_ids: Sequence[int] | None) -> list[_Open]:
    rows = Execution.objects.filter(state__in=OPEN)
    if olt_ids is not None:
        rows = rows.filter(olt__in=olt_ids)
    return [
        _Open(*row)
        for row in rows.values_list(
            "olt_id", "node_id", "node__job__name", "state", "slot", "not_before", "started_at", "trigger",
            "run_now",
        )
    ]  # fmt: skip


def _workload(
    olt_id: int,
    nodes: Sequence[EnabledNode],
    open_executions: Sequence[_Open],
    closed: ClosedSpans,
    predictions: Predictions,
    now: datetime,
) -> Workload:
    tasks = tuple(composite_tasks(nodes, predictions))
    by_node = {task.node_id: task for task in tasks}
    active = next((each for each in open_executions if each.state != State.WAITING), None)
    return Workload(
        olt_id,
        tasks,
        None if active is None else _running(active, by_node.get(active.node_id or 0), now),
        tuple(
            Queued(each.node_id, each.slot, max(each.slot, each.not_before), each.run_now, each.by_hand)
            for each in open_executions
            if each.state == State.WAITING and each.node_id is not None
        ),
        closed,
    )


def _running(active: _Open, task: Task | None, now: datetime) -> Running:
    started = active.started_at or now
    slot = None if active.by_hand else active.slot
    p50, p95 = (task.p50, task.p95) if task else (timedelta(seconds=GUESS.p50_s),) * 2
    until = next((at for at in (started + p50, started + p95) if at > now), now + _OVERDUE_REST)
    return Running(active.node_id or 0, active.job or "", started, until, slot)


def composite_tasks(nodes: Iterable[EnabledNode], predictions: Predictions) -> Iterator[Task]:
    """Yield a task for each composite node of one OLT."""
    by_id = {node.node_id: node for node in nodes}
    for composite in composites(node.link for node in by_id.values()):
        master = by_id[composite.master]
        if master.next_run_at is not None:
            members = [by_id[node_id] for node_id in composite.members]
            yield _task(master, members, predictions, master.next_run_at)


def _task(
    master: EnabledNode, parts: Sequence[EnabledNode], predictions: Predictions, next_slot: datetime
) -> Task:
    predicted = combine_predictions([predictions.get((part.olt_id, part.task_type), GUESS) for part in parts])
    return Task(
        node_id=master.node_id,
        job=master.job,
        task_types=tuple(part.task_type for part in parts),
        next_slot=next_slot,
        interval=timedelta(seconds=master.interval_s),
        priority=master.priority,
        p50=timedelta(seconds=predicted.p50_s),
        p95=timedelta(seconds=predicted.p95_s),
        sure=predicted.sure,
        suspended=bool(master.suspended or master.olt_suspended),
    )


def combine_predictions(parts: Sequence[Predicted]) -> Predicted:
    """Return the duration of parts in sequence. All are rarely slow at once, so p95 is less than the sum."""
    p50_s = sum(part.p50_s for part in parts)
    spread_s = math.sqrt(sum((part.p95_s - part.p50_s) ** 2 for part in parts))
    return Predicted(p50_s, p50_s + spread_s, sure=all(part.sure for part in parts))
