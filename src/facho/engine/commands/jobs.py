"""Add, change and remove jobs, and attach them to OLTs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils.translation import gettext as _

from facho.apps.access.actors import given_reason
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Oid, Olt
from facho.apps.reason_words import reason_words
from facho.apps.snmp_jobs.models import JobKind, JobTarget, SnmpJob, SnmpJobHost, SnmpJobOid
from facho.config import Config, current
from facho.core.chain import ChainError, check_master
from facho.core.reasons import Reason
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import (
    LARGEST,
    check_choice,
    check_free_name,
    check_range,
    find_all_named,
    parse_seconds,
)
from facho.engine.commands.job_columns import check_column_count, check_facts, find_oids
from facho.engine.commands.job_targets import check_target, covered_names, has_columns, targeted_olts
from facho.engine.commands.nodes import refuse_too_short, reset_nodes
from facho.engine.commands.olts import brand_for, check_site, olts_named
from facho.engine.coordinate.aborts import abort_queued
from facho.engine.coordinate.changes import ReplanResult, replan
from facho.engine.process.command_transaction import command
from facho.vendors import GENERIC

_TASK_TYPE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,60}")
_NAMED_AT_MOST: Final = 5


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to add. What is None or empty is the setting, or follows from the rest."""

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
    # Those of a selection, and of any other target more than it covers.
    olts: Sequence[str] = ()
    enabled: bool = True
    target: str = JobTarget.SELECTION.value
    site: str = ""


@dataclass(frozen=True, slots=True)
class JobChanges:
    """Changes of a job. What is None stays; `master` "" lets the job run on its own."""

    name: str | None = None
    facts: Sequence[str] | None = None
    oids: Sequence[str] | None = None
    priority: int | None = None
    max_attempts: int | None = None
    retry_delay: str | timedelta | None = None
    task_type: str | None = None
    interval: str | timedelta | None = None
    master: str | None = None
    enabled: bool | None = None
    # Another target than a selection attaches what it covers, and detaches what it does not.
    target: str | None = None
    site: str | None = None


@command
def create_job(new: NewJob, now: datetime) -> SnmpJob:
    job, nodes = make_job(new)
    start_nodes(nodes, now)
    return job


def make_job(new: NewJob) -> tuple[SnmpJob, list[SnmpJobHost]]:
    """Save a job and its nodes. The calling command starts the nodes, those of several jobs at once."""
    job, oids = check_job(new)
    job.save()
    _set_oids(job, oids)
    return job, make_nodes(job, [*new.olts, *covered_names(job, has_oids=bool(oids))])


def check_job(new: NewJob) -> tuple[SnmpJob, list[Oid]]:
    """Return the job as it would be saved, and its OIDs. Reads only; raises CommandError."""
    config = current()
    name, brand = check_free_name(SnmpJob.objects.all(), new.name), brand_for(new.brand or GENERIC)
    kind = check_choice(new.kind, JobKind.values, "kind")
    check_column_count(kind, new.facts, new.oids)
    facts = check_facts(new.facts, brand, kind)
    target, site = check_target(new.target, new.site, brand)
    if site:
        check_site(site)
    retry_delay = config.retry_delay if new.retry_delay is None else new.retry_delay
    attempts = config.max_attempts if new.max_attempts is None else new.max_attempts
    job = SnmpJob(
        name=name,
        brand=brand,
        kind=kind,
        facts=facts,
        interval_s=parse_seconds(new.interval),
        priority=_check_priority(new.priority, kind, config),
        max_attempts=check_range(attempts, 1, LARGEST, "max_attempts"),
        retry_delay_s=parse_seconds(retry_delay, "retry_delay"),
        task_type=_check_task_type(new.task_type or default_task_type(kind, facts, name)),
        master=check_new_master(None, new.master) if new.master else None,
        target=target,
        target_site=site,
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
    if "target" in columns:
        _follow_target(job, now)
    if changes.interval is not None:
        change_interval(job.name, changes.interval, now)
    if changes.master is not None:
        change_master(job.name, changes.master or None, now)
    if changes.enabled is not None:
        (enable_jobs if changes.enabled else disable_jobs)([job.name], now)
    return job


def _follow_target(job: SnmpJob, now: datetime) -> None:
    attached, detached = target_changes(job, has_oids=job.oids.exists())
    if detached:
        detach(job.name, detached, now)
    start_nodes(make_nodes(job, attached), now)


def target_changes(job: SnmpJob, *, has_oids: bool) -> tuple[list[str], list[str]]:
    """Return the OLTs to attach and to detach for the target of a job. A selection stays as it is."""
    if job.target == JobTarget.SELECTION:
        return [], []
    covered = covered_names(job, has_oids=has_oids)
    there = set(job.nodes.values_list("olt__name", flat=True))
    return [name for name in covered if name not in there], sorted(there.difference(covered))


def affected_olts(job: SnmpJob, changes: JobChanges) -> dict[int, str]:
    """Return the OLTs that a job has, and those of its new target."""
    olts = dict(job.nodes.values_list("olt_id", "olt__name"))
    if changes.target is None and changes.site is None:
        return olts
    target, site = _changed_target(job, changes)
    return olts | dict(targeted_olts(target, site, job.brand).values_list("id", "name"))


def olts_left_by(job: SnmpJob, changes: JobChanges) -> list[str]:
    """Return the names of the OLTs from which another target would detach a job."""
    target, site = _changed_target(job, changes)
    changed = SnmpJob.objects.select_related("brand").get(pk=job.pk)
    changed.target, changed.target_site = target, site
    return target_changes(changed, has_oids=changed.oids.exists())[1]


def _changed_target(job: SnmpJob, changes: JobChanges) -> tuple[str, str]:
    target = job.target if changes.target is None else changes.target
    given = job.target_site if changes.site is None else changes.site
    target, site = check_target(target, given, job.brand)
    # A mistyped site would detach all OLTs. That of the job may have lost its last OLT meanwhile.
    if site and site != job.target_site:
        check_site(site)
    return target, site


def check_changes(job: SnmpJob, changes: JobChanges) -> tuple[dict[str, Any], list[Oid] | None]:
    """Return the columns that would change, and all OIDs if they would. Reads only; raises CommandError."""
    columns = _changed_columns(job, changes)
    oids = list(job.oids.values_list("oid", flat=True)) if changes.oids is None else list(changes.oids)
    check_column_count(job.kind, columns.get("facts", job.facts), oids)
    return columns, None if changes.oids is None else find_oids(changes.oids, job.brand)


def _changed_columns(job: SnmpJob, changes: JobChanges) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if changes.name is not None:
        found["name"] = check_free_name(SnmpJob.objects.all(), changes.name, job.pk)
    if changes.facts is not None:
        found["facts"] = check_facts(changes.facts, job.brand, job.kind)
    if changes.priority is not None:
        found["priority"] = check_range(changes.priority, 1, 100, "priority")
    if changes.max_attempts is not None:
        found["max_attempts"] = check_range(changes.max_attempts, 1, LARGEST, "max_attempts")
    if changes.retry_delay is not None:
        found["retry_delay_s"] = parse_seconds(changes.retry_delay, "retry_delay")
    if changes.task_type is not None:
        found["task_type"] = _check_task_type(changes.task_type)
    if changes.target is not None or changes.site is not None:
        found["target"], found["target_site"] = _changed_target(job, changes)
    return found


@command
def duplicate_job(name: str, copy: str) -> SnmpJob:
    """Copy a job under another name. The copy is attached to no OLT, where it would repeat the work."""
    job = job_named(name)
    oids = list(job.job_oids.values_list("oid_id", flat=True))
    job.pk, job.name = None, check_free_name(SnmpJob.objects.all(), copy)
    job.target, job.target_site = JobTarget.SELECTION, ""
    job._state.adding = True
    job.save()
    SnmpJobOid.objects.bulk_create(SnmpJobOid(job=job, oid_id=oid) for oid in oids)
    return job


@command
def attach(job: str, olts: Sequence[str], now: datetime) -> ReplanResult:
    """Attach a job to OLTs. Nodes that exist already keep their slots."""
    return start_nodes(make_nodes(job_named(job), olts), now)


def make_nodes(job: SnmpJob, names: Sequence[str]) -> list[SnmpJobHost]:
    olts = check_olts(job, list(dict.fromkeys(names)), has_oids=job.oids.exists())
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


def start_nodes(nodes: Sequence[SnmpJobHost], now: datetime) -> ReplanResult:
    """Give new nodes their first slots."""
    olt_ids = list(dict.fromkeys(node.olt_id for node in nodes))
    return replan(olt_ids, now, new=[node.id for node in nodes])


@command
def detach(job: str, olts: Sequence[str], now: datetime) -> ReplanResult:
    """Delete the nodes of a job on OLTs with their executions. Refused while one of them runs."""
    chosen = [olt.id for olt in olts_named(olts)]
    aborted = _delete_nodes(job_named(job), chosen, now)
    done = replan(chosen, now)
    return ReplanResult(done.first_runs, done.aborted + aborted)


@command
def remove_job(name: str, now: datetime) -> ReplanResult:
    """Delete a job with its nodes and executions. Jobs chained to it run on their own from then on."""
    job = job_named(name)
    # Jobs that are chained to it are planned again, too.
    olt_ids = _olts_of([job])
    aborted = _delete_nodes(job, olt_ids, now)
    job.delete()
    done = replan(olt_ids, now)
    return ReplanResult(done.first_runs, done.aborted + aborted)


def _delete_nodes(job: SnmpJob, olt_ids: Sequence[int], now: datetime) -> int:
    """Delete nodes and return how many queued executions were aborted."""
    nodes = job.nodes.filter(olt__in=olt_ids)
    # The lock keeps executions of these nodes from being queued or started.
    list(nodes.select_for_update().values_list("id"))
    executions = Execution.objects.filter(node__in=nodes)
    aborted = abort_queued(executions, Reason.of("olt_detached"), now)
    refuse_running(job, olt_ids)
    nodes.delete()
    return len(aborted)


def refuse_running(job: SnmpJob, olt_ids: Sequence[int]) -> None:
    executions = Execution.objects.filter(node__in=job.nodes.filter(olt__in=olt_ids))
    held = executions.filter(state=State.RUNNING) | executions.exclude(lease_token="")
    if busy := list(held.values_list("olt__name", flat=True).distinct()[:_NAMED_AT_MOST]):
        values = {"job": job.name, "olts": ", ".join(busy)}
        raise CommandError("olts", _("%(job)s runs on %(olts)s now: detach it when it has ended") % values)


@command
def enable_jobs(names: Sequence[str], now: datetime) -> ReplanResult:
    """Enable jobs and resume their suspended nodes."""
    jobs = jobs_named(names)
    reset_nodes(SnmpJobHost.objects.filter(job__in=jobs).exclude(suspended_reason=""))
    SnmpJob.objects.filter(id__in=[job.id for job in jobs]).update(enabled=True)
    return replan(_olts_of(jobs), now)


@command
def disable_jobs(names: Sequence[str], now: datetime) -> ReplanResult:
    """Disable jobs. Running executions finish, and count."""
    jobs = jobs_named(names)
    SnmpJob.objects.filter(id__in=[job.id for job in jobs]).update(enabled=False)
    return replan(_olts_of(jobs), now, reason=given_reason())


@command
def change_interval(job: str, interval: str | timedelta, now: datetime) -> ReplanResult:
    """Change the interval of a job. Nodes with their own interval keep it, and their slots."""
    found, seconds = job_named(job), parse_seconds(interval)
    if seconds == found.interval_s:
        return ReplanResult({})
    nodes = found.nodes.filter(interval_s=None)
    refuse_too_short(Olt.objects.filter(nodes__in=nodes), seconds)
    SnmpJob.objects.filter(id=found.id).update(interval_s=seconds)
    nodes.update(next_run_at=None)
    return replan(_olts_of([found]), now)


@command
def change_master(job: str, master: str | None, now: datetime) -> ReplanResult:
    """Chain a job to a master, or unchain it if `master` is None."""
    found = job_named(job)
    chosen = check_new_master(found.id, master) if master else None
    SnmpJob.objects.filter(id=found.id).update(master=chosen)
    return replan(_olts_of([found]), now)


def job_named(name: str, field: str = "job") -> SnmpJob:
    return jobs_named([name], field)[0]


def jobs_named(names: Sequence[str], field: str = "jobs") -> list[SnmpJob]:
    return find_all_named(SnmpJob.objects.select_related("brand", "master"), names, "job", field)


def default_task_type(kind: str, facts: Sequence[str], name: str) -> str:
    """Return what the runs of a job count as: `discovery`, `get_description`, `walk_serial`."""
    if kind == JobKind.DISCOVERY:
        return "discovery"
    return f"{kind}_{re.sub(r'[^a-z0-9_.]+', '_', (facts[0] if facts else name).lower())}"[:60]


def _olts_of(jobs: Sequence[SnmpJob]) -> list[int]:
    nodes = SnmpJobHost.objects.filter(job__in=jobs)
    return list(nodes.order_by("olt_id").values_list("olt_id", flat=True).distinct())


def _check_priority(priority: int | None, kind: str, config: Config) -> int:
    if priority is not None:
        return check_range(priority, 1, 100, "priority")
    by_kind = {JobKind.DISCOVERY.value: config.priority_discovery, JobKind.GET.value: config.priority_get}
    return by_kind.get(kind, config.priority_walk)


def _check_task_type(text: str) -> str:
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
        raise CommandError("master", reason_words(error.reason)) from None
    return master


def _refuse_families_without(job: SnmpJob, olts: Sequence[Olt], *, has_oids: bool) -> None:
    """Refuse OLTs whose family has none of the facts: every slot would fail. Chained, the job is skipped."""
    one_of_each = {(olt.brand_id, olt.model_id): olt for olt in olts}
    for olt in one_of_each.values():
        if not has_columns(job, olt, has_oids=has_oids):
            values = {"job": job.name, "olt": olt.name, "family": olt.brand.name}
            raise CommandError(
                "olts", _("%(job)s: the family %(family)s of %(olt)s has none of its facts") % values
            )


def _refuse_other_brands(job: SnmpJob, olts: Sequence[Olt]) -> None:
    if job.brand.is_generic:
        return
    if others := [f"{olt.name} ({olt.brand.name})" for olt in olts if olt.brand_id != job.brand_id]:
        shown = ", ".join(others[:_NAMED_AT_MOST]) + (", ..." if len(others) > _NAMED_AT_MOST else "")
        values = {"brand": job.brand.name, "olts": shown}
        raise CommandError("olts", _("the job is for OLTs of %(brand)s, and not for %(olts)s") % values)


def _set_oids(job: SnmpJob, rows: Sequence[Oid]) -> None:
    for row in rows:
        if row._state.adding:
            row.save()
    job.job_oids.exclude(oid__in=rows).delete()
    there = set(job.job_oids.values_list("oid_id", flat=True))
    SnmpJobOid.objects.bulk_create(SnmpJobOid(job=job, oid=row) for row in rows if row.id not in there)
