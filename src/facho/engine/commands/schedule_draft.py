"""Changes of jobs and nodes, in the database (`LiveSchedule`) or only in memory (`ScheduleDraft`).

A draft reads the rows of some OLTs once, applies the checks of the commands and the planning of nodes, and
writes nothing: a what-if takes no lock that the engine would wait for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Final, Protocol

from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.config import Config
from facho.core.plan import Task
from facho.engine.commands import jobs, nodes, usual_jobs
from facho.engine.commands.input_checks import parse_seconds
from facho.engine.commands.job_targets import covered_names
from facho.engine.commands.jobs import JobChanges, NewJob
from facho.engine.commands.nodes import KEEP, NodeChanges
from facho.engine.commands.olts import olts_named
from facho.engine.coordinate.changes import PlannedNode, plan_first_runs
from facho.engine.coordinate.forecasts import LearnedTasks, TaskToPredict, count_named_columns
from facho.engine.coordinate.workloads import EnabledNode, composite_tasks

# Ids of rows that are not saved: later than every row of the database, as new rows are.
_FIRST_DRAFT_ID: Final = 2**62


class Schedule(Protocol):
    """The changes that can be made or tried."""

    def create_job(self, new: NewJob) -> SnmpJob: ...

    def update_job(self, name: str, changes: JobChanges) -> SnmpJob: ...

    def attach(self, job: str, olts: Sequence[str]) -> object: ...

    def detach(self, job: str, olts: Sequence[str]) -> object: ...

    def nodes_of(self, job: SnmpJob) -> Mapping[int, int]:
        """Return the id of the job's node on each OLT."""

    def update_node(self, node_id: int, changes: NodeChanges) -> None: ...

    def attach_usual_jobs(self, olt: str, intervals: Mapping[str, str | timedelta]) -> None: ...


@dataclass(frozen=True, slots=True)
class LiveSchedule:
    """The database, changed by the commands."""

    now: datetime

    def create_job(self, new: NewJob) -> SnmpJob:
        return jobs.create_job(new, self.now)

    def update_job(self, name: str, changes: JobChanges) -> SnmpJob:
        return jobs.update_job(name, changes, self.now)

    def attach(self, job: str, olts: Sequence[str]) -> object:
        return jobs.attach(job, olts, self.now)

    def detach(self, job: str, olts: Sequence[str]) -> object:
        return jobs.detach(job, olts, self.now)

    def nodes_of(self, job: SnmpJob) -> Mapping[int, int]:
        return dict(job.nodes.values_list("olt_id", "id"))

    def update_node(self, node_id: int, changes: NodeChanges) -> None:
        nodes.update_node(node_id, changes, self.now)

    def attach_usual_jobs(self, olt: str, intervals: Mapping[str, str | timedelta]) -> None:
        usual_jobs.attach_usual_jobs(olt, intervals, self.now)


class ScheduleDraft:
    """The jobs and nodes of some OLTs as rows in memory, which are never saved."""

    def __init__(self, olt_ids: Sequence[int], now: datetime, config: Config) -> None:
        self._olt_ids, self._now, self._config = list(olt_ids), now, config
        # Nodes are read first, and dropped if their job or OLT is deleted before those are read: there is no
        # transaction around these reads.
        found = list(SnmpJobHost.objects.filter(olt__in=self._olt_ids).order_by("id"))
        self._jobs = {job.pk: job for job in SnmpJob.objects.select_related("brand")}
        olts = Olt.objects.filter(id__in=self._olt_ids).select_related("brand").defer("credentials")
        self._olts = {olt.pk: olt for olt in olts}
        self._nodes = {
            node.pk: self._shared(node)
            for node in found
            if node.job_id in self._jobs and node.olt_id in self._olts
        }
        self._columns_named = count_named_columns(self._jobs)
        self._learned = LearnedTasks(self._olt_ids)
        self._ids = count(_FIRST_DRAFT_ID)

    def _shared(self, node: SnmpJobHost) -> SnmpJobHost:
        """Let all nodes of a job share one job, so that its changes apply to all of them."""
        node.job, node.olt = self._jobs[node.job_id], self._olts[node.olt_id]
        return node

    def create_job(self, new: NewJob) -> SnmpJob:
        job = self._add_job(new)
        covered = covered_names(job, has_oids=bool(self._columns_named[job.pk]))
        self._begin(self._add_nodes(job, [*new.olts, *covered]))
        return job

    def _add_job(self, new: NewJob) -> SnmpJob:
        job, oids = jobs.check_job(new)
        job.pk = next(self._ids)
        self._jobs[job.pk], self._columns_named[job.pk] = job, len(oids)
        return job

    def _add_nodes(self, job: SnmpJob, names: Sequence[str]) -> list[SnmpJobHost]:
        olts = jobs.check_olts(
            job, list(dict.fromkeys(names)), has_oids=bool(self._columns_named.get(job.pk))
        )
        there = {node.olt_id for node in self._of([job])}
        fresh = [
            SnmpJobHost(id=next(self._ids), job=job, olt=self._olts.setdefault(olt.pk, olt))
            for olt in olts
            if olt.pk not in there
        ]
        self._nodes |= {node.pk: node for node in fresh}
        return fresh

    def _begin(self, fresh: Sequence[SnmpJobHost]) -> None:
        olt_ids = list(dict.fromkeys(node.olt_id for node in fresh))
        self._replan(olt_ids, new={node.pk for node in fresh})

    def update_job(self, name: str, changes: JobChanges) -> SnmpJob:
        job = self._job(name)
        columns, oids = jobs.check_changes(job, changes)
        for column, value in columns.items():
            setattr(job, column, value)
        if oids is not None:
            self._columns_named[job.pk] = len(oids)
        self._replan(self._olts_of([job]))
        if "target" in columns:
            attached, detached = jobs.target_changes(job, has_oids=bool(self._columns_named.get(job.pk)))
            self.detach(job.name, detached)
            self.attach(job.name, attached)
        if changes.interval is not None:
            self._change_interval(job, changes.interval)
        if changes.master is not None:
            job.master = jobs.check_new_master(job.pk, changes.master) if changes.master else None
            self._replan(self._olts_of([job]))
        if changes.enabled is not None:
            self._switch_job(job, enabled=changes.enabled)
        return job

    def _change_interval(self, job: SnmpJob, interval: str | timedelta) -> None:
        seconds = parse_seconds(interval)
        if seconds == job.interval_s:
            return
        following = [node for node in self._of([job]) if node.interval_s is None]
        nodes.refuse_too_short([node.olt for node in following], seconds)
        job.interval_s = seconds
        for node in following:
            node.next_run_at = None
        self._replan(self._olts_of([job]))

    def _switch_job(self, job: SnmpJob, *, enabled: bool) -> None:
        if enabled:
            _reset_nodes(node for node in self._of([job]) if node.is_suspended)
        job.enabled = enabled
        self._replan(self._olts_of([job]))

    def attach(self, job: str, olts: Sequence[str]) -> None:
        self._begin(self._add_nodes(self._job(job), olts))

    def detach(self, job: str, olts: Sequence[str]) -> None:
        found, chosen = self._job(job), [olt.pk for olt in olts_named(olts)]
        jobs.refuse_running(found, chosen)
        self._nodes = {
            key: node
            for key, node in self._nodes.items()
            if node.job_id != found.pk or node.olt_id not in chosen
        }
        self._replan(chosen)

    def nodes_of(self, job: SnmpJob) -> Mapping[int, int]:
        return {node.olt_id: node.pk for node in self._of([job])}

    def update_node(self, node_id: int, changes: NodeChanges) -> None:
        node = self._nodes.get(node_id)
        if node is None:
            raise nodes.no_such_node(node_id)
        if changes.interval is not KEEP:
            before = node.interval_s or node.job.interval_s
            node.interval_s = nodes.check_node_interval(node, changes.interval)
            if before != (node.interval_s or node.job.interval_s):
                node.next_run_at = None
            self._replan([node.olt_id])
        if changes.priority is not KEEP:
            node.priority = nodes.check_node_priority(changes.priority)
        if changes.enabled is not None:
            if changes.enabled and (not node.enabled or node.is_suspended):
                _reset_nodes([node])
            node.enabled = changes.enabled
            self._replan([node.olt_id])

    def attach_usual_jobs(self, olt: str, intervals: Mapping[str, str | timedelta]) -> None:
        fresh: list[SnmpJobHost] = []
        for each in usual_jobs.choose_usual_jobs(olt, intervals):
            with usual_jobs.errors_at_offer(each):
                job = self._job(each.job.name) if each.is_there else self._add_job(each.job)
                fresh += self._add_nodes(job, each.job.olts)
        self._begin(fresh)

    def _job(self, name: str) -> SnmpJob:
        found = next((job for job in self._jobs.values() if job.name == name), None)
        return found or jobs.job_named(name)

    def _of(self, some: Sequence[SnmpJob]) -> list[SnmpJobHost]:
        wanted = {job.pk for job in some}
        return [node for node in self._nodes.values() if node.job_id in wanted]

    def _olts_of(self, some: Sequence[SnmpJob]) -> list[int]:
        return sorted({node.olt_id for node in self._of(some)})

    def _replan(self, olt_ids: Sequence[int], new: Iterable[int] = ()) -> None:
        wanted = set(olt_ids)
        planned = [self._planned(node) for node in self._nodes.values() if node.olt_id in wanted]
        stopped, first_runs = plan_first_runs(planned, olt_ids, set(new), self._now, self._config)
        for each in stopped:
            self._nodes[each.node_id].next_run_at = None
        for node_id, at in first_runs.items():
            self._nodes[node_id].next_run_at = at

    def _planned(self, node: SnmpJobHost) -> PlannedNode:
        job, master = node.job, self._jobs.get(node.job.master_id or 0)
        return PlannedNode(
            node_id=node.pk,
            olt_id=node.olt_id,
            job_id=job.pk,
            master_job_id=job.master_id,
            master=master.name if master else None,
            interval_s=node.interval_s or job.interval_s,
            priority=node.priority or job.priority,
            node_enabled=node.enabled,
            job_enabled=job.enabled,
            olt_enabled=node.olt.enabled,
            next_run_at=node.next_run_at,
            last_run_at=node.last_run_at,
        )

    def tasks(self) -> dict[int, list[Task]]:
        """Return what each OLT has to do, as `workloads` reads it from the database."""
        asked = {each.key: each for each in (_asked(node) for node in reversed(self._nodes.values()))}
        known = self._learned.predict(asked, lambda: self._columns_named, self._now, self._config)
        on: dict[int, list[EnabledNode]] = defaultdict(list)
        for node in self._nodes.values():
            if node.enabled and node.job.enabled and node.olt.enabled:
                on[node.olt_id].append(_node(node))
        return {olt_id: list(composite_tasks(some, known)) for olt_id, some in on.items()}


def _reset_nodes(some: Iterable[SnmpJobHost]) -> None:
    for node in some:
        node.next_run_at, node.failures_in_a_row = None, 0
        for column, value in nodes.NOT_SUSPENDED.items():
            setattr(node, column, value)


def _node(node: SnmpJobHost) -> EnabledNode:
    job = node.job
    return EnabledNode(
        node_id=node.pk,
        olt_id=node.olt_id,
        job_id=job.pk,
        job=job.name,
        task_type=job.task_type,
        master_job_id=job.master_id,
        interval_s=node.interval_s or job.interval_s,
        priority=node.priority or job.priority,
        next_run_at=node.next_run_at,
        suspended=node.suspended_reason,
        olt_suspended=node.olt.suspended_reason,
    )


def _asked(node: SnmpJobHost) -> TaskToPredict:
    job, olt = node.job, node.olt
    return TaskToPredict(
        olt_id=olt.pk,
        task_type=job.task_type,
        job_id=job.pk,
        kind=job.kind,
        facts=job.facts,
        brand=olt.brand.name,
        model_id=olt.model_id,
        max_in_flight=olt.max_in_flight,
        max_varbinds=olt.max_varbinds,
        most_per_second=olt.max_requests_per_second,
    )
