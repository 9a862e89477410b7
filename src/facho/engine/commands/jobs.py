"""Make jobs, change them, and attach them to OLTs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils.translation import gettext as _

from facho.apps.executions.failure_words import translated
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Oid, Olt
from facho.apps.hosts.remembered import columns_now
from facho.apps.hosts.selectors import spelled_out
from facho.apps.snmp_jobs.models import JobKind, SnmpJob, SnmpJobHost, SnmpJobOid
from facho.config import Config, current
from facho.core.chain import ChainError, check_master
from facho.engine.collect.work_builder import profile_of
from facho.engine.commands.asked import check_enough, check_facts, find_oids
from facho.engine.commands.checks import LARGEST, name_of, no_such, seconds_of, whole_between
from facho.engine.commands.errors import CommandError
from facho.engine.commands.nodes import refuse_too_short, start_anew
from facho.engine.commands.olts import brand_for, olts_named
from facho.engine.coordinate.aborts import abort_queued
from facho.engine.coordinate.changes import ReplanResult, replan
from facho.engine.process.command_transaction import command

_TASK_TYPE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,60}")
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class NewJob:
    """What is None or empty is the setting, or follows from the rest."""

    name: str
    brand: str
    kind: str
    interval: str | timedelta
    facts: Sequence[str] = ()
    oids: Sequence[str] = ()
    priority: int | None = None
    max_attempts: int | None = None
    retry_delay: str | timedelta | None = None
    task_type: str = ""
    master: str = ""
    olts: Sequence[str] = ()
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class JobChanges:
    """What is not None changes. The interval, the master and the OLTs have commands of their own."""

    name: str | None = None
    facts: Sequence[str] | None = None
    oids: Sequence[str] | None = None
    priority: int | None = None
    max_attempts: int | None = None
    retry_delay: str | timedelta | None = None
    task_type: str | None = None


@command
def create_job(new: NewJob, now: datetime) -> SnmpJob:
    job, nodes = make_job(new)
    begin(nodes, now)
    return job


def make_job(new: NewJob) -> tuple[SnmpJob, list[SnmpJobHost]]:
    """In the transaction of a command, which then lets the nodes begin: those of several jobs at once."""
    job, oids = check_job(new)
    job.save()
    _set_oids(job, oids)
    return job, make_nodes(job, new.olts)


def check_job(new: NewJob) -> tuple[SnmpJob, list[Oid]]:
    """Return the job as it would be saved, and its OIDs. Reads only; raises CommandError."""
    config = current()
    name, brand, kind = _free_name(new.name), brand_for(new.brand), _kind_of(new.kind)
    check_enough(kind, new.facts, new.oids)
    facts = check_facts(new.facts, brand)
    retry_delay = config.retry_delay if new.retry_delay is None else new.retry_delay
    attempts = config.max_attempts if new.max_attempts is None else new.max_attempts
    job = SnmpJob(
        name=name,
        brand=brand,
        kind=kind,
        facts=facts,
        interval_s=seconds_of(new.interval),
        priority=_priority_of(new.priority, kind, config),
        max_attempts=whole_between(attempts, 1, LARGEST, "max_attempts"),
        retry_delay_s=seconds_of(retry_delay, "retry_delay"),
        task_type=_task_type_of(new.task_type or default_task_type(kind, facts, name)),
        master=check_new_master(None, new.master) if new.master else None,
        enabled=new.enabled,
    )
    return job, find_oids(new.oids, brand)


@command
def update_job(name: str, changes: JobChanges, now: datetime) -> SnmpJob:
    job = job_named(name)
    columns, oids = check_changes(job, changes)
    for column, value in columns.items():
        setattr(job, column, value)
    if columns:
        job.save(update_fields=list(columns))
    if oids is not None:
        _set_oids(job, oids)
    replan(_olts_of([job]), now)
    return job


def check_changes(job: SnmpJob, changes: JobChanges) -> tuple[dict[str, Any], list[Oid] | None]:
    """Return the columns that would change, and all OIDs if they would. Reads only; raises CommandError."""
    columns = _changed_columns(job, changes)
    oids = list(job.oids.values_list("oid", flat=True)) if changes.oids is None else list(changes.oids)
    check_enough(job.kind, columns.get("facts", job.facts), oids)
    return columns, None if changes.oids is None else find_oids(changes.oids, job.brand)


def _changed_columns(job: SnmpJob, changes: JobChanges) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if changes.name is not None:
        found["name"] = _free_name(changes.name, job.pk)
    if changes.facts is not None:
        found["facts"] = check_facts(changes.facts, job.brand)
    if changes.priority is not None:
        found["priority"] = whole_between(changes.priority, 1, 100, "priority")
    if changes.max_attempts is not None:
        found["max_attempts"] = whole_between(changes.max_attempts, 1, LARGEST, "max_attempts")
    if changes.retry_delay is not None:
        found["retry_delay_s"] = seconds_of(changes.retry_delay, "retry_delay")
    if changes.task_type is not None:
        found["task_type"] = _task_type_of(changes.task_type)
    return found


@command
def duplicate_job(name: str, copy: str) -> SnmpJob:
    """The same job under another name, attached to no OLT: there it would do the same work twice."""
    job = job_named(name)
    oids = list(job.job_oids.values_list("oid_id", flat=True))
    job.pk, job.name = None, _free_name(copy)
    job._state.adding = True
    job.save()
    SnmpJobOid.objects.bulk_create(SnmpJobOid(job=job, oid_id=oid) for oid in oids)
    return job


@command
def attach(job: str, olts: Sequence[str], now: datetime) -> ReplanResult:
    """OLTs that have the job already keep their times."""
    return begin(make_nodes(job_named(job), olts), now)


def make_nodes(job: SnmpJob, names: Sequence[str]) -> list[SnmpJobHost]:
    olts = check_olts(job, names, has_oids=job.oids.exists())
    there = set(job.nodes.values_list("olt_id", flat=True))
    nodes = [SnmpJobHost(job=job, olt=olt) for olt in olts if olt.id not in there]
    return SnmpJobHost.objects.bulk_create(nodes)


def check_olts(job: SnmpJob, names: Sequence[str], *, has_oids: bool) -> list[Olt]:
    """Return the OLTs that the job may be attached to. Reads only; raises CommandError."""
    olts = olts_named(names)
    _refuse_other_brands(job, olts)
    _refuse_families_without(job, olts, has_oids=has_oids)
    refuse_too_short(olts, job.interval_s, "olts" if job.nodes.exists() else "interval")
    return olts


def begin(nodes: Sequence[SnmpJobHost], now: datetime) -> ReplanResult:
    """Each OLT once, in the order of its first node."""
    olt_ids = list(dict.fromkeys(node.olt_id for node in nodes))
    return replan(olt_ids, now, new=[node.id for node in nodes])


@command
def detach(job: str, olts: Sequence[str], now: datetime) -> ReplanResult:
    """The nodes are gone, and their executions with them; so one that runs has to end first."""
    chosen = [olt.id for olt in olts_named(olts)]
    aborted = _take_away(job_named(job), chosen, now)
    done = replan(chosen, now)
    return ReplanResult(done.first_runs, done.aborted + aborted)


@command
def remove_job(name: str, now: datetime) -> ReplanResult:
    """With its nodes and their executions. What was chained to it runs on its own from then on."""
    job = job_named(name)
    # Those that were chained to it run there, too.
    olt_ids = _olts_of([job])
    aborted = _take_away(job, olt_ids, now)
    job.delete()
    done = replan(olt_ids, now)
    return ReplanResult(done.first_runs, done.aborted + aborted)


def _take_away(job: SnmpJob, olt_ids: Sequence[int], now: datetime) -> int:
    """How many executions had not begun, and never will."""
    nodes = job.nodes.filter(olt__in=olt_ids)
    # Nothing can be queued for them any more, nor begin.
    list(nodes.select_for_update().values_list("id"))
    executions = Execution.objects.filter(node__in=nodes)
    aborted = abort_queued(executions, "the OLT was detached from the job", now)
    refuse_running(job, olt_ids)
    nodes.delete()
    return len(aborted)


def refuse_running(job: SnmpJob, olt_ids: Sequence[int]) -> None:
    executions = Execution.objects.filter(node__in=job.nodes.filter(olt__in=olt_ids))
    held = executions.filter(state=State.RUNNING) | executions.exclude(lease_token="")
    if busy := list(held.values_list("olt__name", flat=True).distinct()[:_MOST_NAMED]):
        said = {"job": job.name, "olts": ", ".join(busy)}
        raise CommandError("olts", _("%(job)s runs on %(olts)s now: detach it when it has ended") % said)


@command
def enable_jobs(names: Sequence[str], now: datetime) -> ReplanResult:
    """Also what brings their suspended nodes back before a probe does."""
    jobs = jobs_named(names)
    start_anew(SnmpJobHost.objects.filter(job__in=jobs).exclude(suspended_reason=""))
    SnmpJob.objects.filter(id__in=[job.id for job in jobs]).update(enabled=True)
    return replan(_olts_of(jobs), now)


@command
def disable_jobs(names: Sequence[str], now: datetime) -> ReplanResult:
    """What runs finishes, and counts."""
    jobs = jobs_named(names)
    SnmpJob.objects.filter(id__in=[job.id for job in jobs]).update(enabled=False)
    return replan(_olts_of(jobs), now)


@command
def change_interval(job: str, interval: str | timedelta, now: datetime) -> ReplanResult:
    """Nodes with an interval of their own keep it, and their times."""
    found, seconds = job_named(job), seconds_of(interval)
    if seconds == found.interval_s:
        return ReplanResult({})
    nodes = found.nodes.filter(interval_s=None)
    refuse_too_short(Olt.objects.filter(nodes__in=nodes), seconds)
    SnmpJob.objects.filter(id=found.id).update(interval_s=seconds)
    nodes.update(next_run_at=None)
    return replan(_olts_of([found]), now)


@command
def change_master(job: str, master: str | None, now: datetime) -> ReplanResult:
    """None: it runs on its own again."""
    found = job_named(job)
    chosen = check_new_master(found.id, master) if master else None
    SnmpJob.objects.filter(id=found.id).update(master=chosen)
    return replan(_olts_of([found]), now)


def job_named(name: str, field: str = "job") -> SnmpJob:
    return jobs_named([name], field)[0]


def jobs_named(names: Sequence[str], field: str = "jobs") -> list[SnmpJob]:
    wanted = list(dict.fromkeys(names))
    found = {
        job.name: job for job in SnmpJob.objects.filter(name__in=wanted).select_related("brand", "master")
    }
    for name in wanted:
        if name not in found:
            raise CommandError(field, no_such("job", name, SnmpJob.objects.values_list("name", flat=True)))
    return [found[name] for name in wanted]


def default_task_type(kind: str, facts: Sequence[str], name: str) -> str:
    """What the runs count as: `discovery`, `get_description`, `walk_serial`."""
    if kind == JobKind.DISCOVERY:
        return "discovery"
    return f"{kind}_{re.sub(r'[^a-z0-9_.]+', '_', (facts[0] if facts else name).lower())}"[:60]


def _olts_of(jobs: Sequence[SnmpJob]) -> list[int]:
    nodes = SnmpJobHost.objects.filter(job__in=jobs)
    return list(nodes.order_by("olt_id").values_list("olt_id", flat=True).distinct())


def _kind_of(kind: str) -> str:
    if kind not in JobKind.values:
        said = {"kind": kind, "kinds": ", ".join(JobKind.values)}
        raise CommandError("kind", _("'%(kind)s' is none of %(kinds)s") % said)
    return kind


def _priority_of(priority: int | None, kind: str, config: Config) -> int:
    if priority is not None:
        return whole_between(priority, 1, 100, "priority")
    by_kind = {JobKind.DISCOVERY.value: config.priority_discovery, JobKind.GET.value: config.priority_get}
    return by_kind.get(kind, config.priority_walk)


def _task_type_of(text: str) -> str:
    if not _TASK_TYPE.fullmatch(text):
        raise CommandError("task_type", _("a task type is one word of up to 60 letters, digits and _.:-"))
    return text


def check_new_master(job_id: int | None, name: str) -> SnmpJob:
    master = job_named(name, "master")
    jobs = list(SnmpJob.objects.values_list("id", "master_id", "name"))
    try:
        check_master(
            job_id,
            master.id,
            {each: above for each, above, _ in jobs},
            {each: name for each, _, name in jobs},
        )
    except ChainError as error:
        raise CommandError("master", translated(str(error))) from None
    return master


def _refuse_families_without(job: SnmpJob, olts: Sequence[Olt], *, has_oids: bool) -> None:
    """Those that have nothing of what it asks for would fail at every slot. Chained, it is left out there."""
    if job.master_id is not None or has_oids:
        return
    one_of_each = {(olt.brand_id, olt.model_id): olt for olt in olts}
    for olt in one_of_each.values():
        if not columns_now(olt, spelled_out(job.facts, profile_of(olt)), job.kind):
            said = {"job": job.name, "olt": olt.name, "family": olt.brand.name}
            raise CommandError(
                "olts", _("%(job)s: %(olt)s is of the family %(family)s, which has nothing of it") % said
            )


def _refuse_other_brands(job: SnmpJob, olts: Sequence[Olt]) -> None:
    if job.brand.is_generic:
        return
    if others := [f"{olt.name} ({olt.brand.name})" for olt in olts if olt.brand_id != job.brand_id]:
        shown = ", ".join(others[:_MOST_NAMED]) + (", ..." if len(others) > _MOST_NAMED else "")
        said = {"brand": job.brand.name, "olts": shown}
        raise CommandError("olts", _("the job is for OLTs of %(brand)s, and not for %(olts)s") % said)


def _set_oids(job: SnmpJob, rows: Sequence[Oid]) -> None:
    for row in rows:
        if row._state.adding:
            row.save()
    job.job_oids.exclude(oid__in=rows).delete()
    there = set(job.job_oids.values_list("oid_id", flat=True))
    SnmpJobOid.objects.bulk_create(SnmpJobOid(job=job, oid=row) for row in rows if row.id not in there)


def _free_name(text: str, job_id: int | None = None) -> str:
    """Return the name of a job if no other job has it."""
    name = name_of(text)
    if any(each != job_id for each in SnmpJob.objects.filter(name=name).values_list("id", flat=True)):
        raise CommandError("name", _("there is a job named '%(name)s' already") % {"name": name})
    return name
