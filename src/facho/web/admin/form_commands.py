"""Translate forms and actions of the admin into commands."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

from django.forms import BaseInlineFormSet
from django.utils.translation import gettext, ngettext

from facho.apps.db.database import database_now
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost, SnmpJobOid
from facho.engine.commands import jobs, nodes, olts, runs
from facho.engine.commands.errors import CommandError
from facho.engine.commands.schedule_draft import Schedule

FormData = dict[str, Any]
FormSet: TypeAlias = "BaseInlineFormSet[Any, Any, Any]"


def add_olt(olt: Olt) -> None:
    """Add the OLT of a form, and set its key."""
    added = olts.add_olt(
        olts.NewOlt(
            name=olt.name,
            address=olt.address,
            port=olt.port,
            version=olt.snmp_version,
            credentials=olt.credentials,
            brand=olt.brand.name,
            site=olt.site,
            limits=_limits_of(olt),
            enabled=olt.enabled,
            model=olt.model.name if olt.model else "",
        )
    )
    olt.pk = added.pk


def save_olt(name: str, olt: Olt, changed: Collection[str]) -> None:
    """Change an OLT. `name` is its name before; only the columns in `changed` are written."""
    olts.update_olt(name, _olt_changes(olt, changed), database_now())


def _olt_changes(olt: Olt, changed: Collection[str]) -> olts.OltChanges:
    found: FormData = {
        name: getattr(olt, name) for name in ("name", "address", "port", "site", "enabled") if name in changed
    }
    if "snmp_version" in changed:
        found["version"] = olt.snmp_version
    if "credentials" in changed or "snmp_version" in changed:
        found["credentials"] = olt.credentials
    if "brand" in changed:
        found["brand"] = olt.brand.name
    if "model" in changed:
        found["model"] = olt.model.name if olt.model else ""
    if any(limit in changed for limit in olts.LIMITS):
        found["limits"] = _limits_of(olt)
    return olts.OltChanges(**found)


def _limits_of(olt: Olt) -> olts.OltLimits:
    return olts.OltLimits(**{limit: getattr(olt, limit) for limit in olts.LIMITS})


def create_job(
    schedule: Schedule, given: FormData, oids: Iterable[str], new_nodes: Sequence[SnmpJobHost]
) -> SnmpJob:
    job = schedule.create_job(
        jobs.NewJob(
            name=given["name"],
            brand=given["brand"].name,
            target=given["target"],
            site=given["site"],
            kind=given["kind"],
            interval=given["interval"],
            facts=given["facts"],
            oids=list(oids),
            priority=given["priority"],
            max_attempts=given["max_attempts"],
            retry_delay=given["retry_delay"],
            task_type=given["task_type"],
            master=given["master"].name if given["master"] else "",
            olts=[node.olt.name for node in new_nodes],
            enabled=given["enabled"],
        )
    )
    _set_node_values(schedule, job, new_nodes)
    return job


def update_job(
    schedule: Schedule, name: str, given: FormData, changed: Collection[str], oids: Iterable[str] | None
) -> None:
    """Change a job. `name` is its name before; `oids` are all that it will have, or None to keep them."""
    columns = ("name", "facts", "priority", "max_attempts", "retry_delay", "task_type", "interval", "enabled")
    target = ("target", "site")
    found = {column: given[column] for column in columns if column in changed and given[column] != ""}
    if not set(target).isdisjoint(changed):
        found |= {column: given[column] for column in target}
    if oids is not None:
        found["oids"] = list(oids)
    if "master" in changed:
        found["master"] = given["master"].name if given.get("master") else ""
    schedule.update_job(name, jobs.JobChanges(**found))


def duplicate_job(name: str) -> str:
    """Copy a job under a free name."""
    copy = gettext("%(name)s (copy)") % {"name": name}
    taken = set(SnmpJob.objects.filter(name__startswith=copy[:-1]).values_list("name", flat=True))
    tried = itertools.chain([copy], (f"{copy[:-1]} {number})" for number in itertools.count(2)))
    made = jobs.duplicate_job(name, next(each for each in tried if each not in taken))
    return gettext("%(name)s was created. It is not attached to any OLT yet.") % {"name": made.name}


def run_on_all_olts(job: SnmpJob) -> str:
    """Run a job on all its OLTs, and report the first reason where it cannot run."""
    done, refused = 0, list[str]()
    for node_id in job.nodes.filter(enabled=True).order_by("olt__name").values_list("id", flat=True):
        try:
            runs.run_now(node_id, database_now())
            done += 1
        except CommandError as error:
            refused.append(error.message)
    if not done:
        raise CommandError("job", refused[0] if refused else gettext("It is not attached to any OLT."))
    said = ngettext("%(job)s runs next on %(count)d OLT.", "%(job)s runs next on %(count)d OLTs.", done)
    told = said % {"job": job.name, "count": done}
    if not refused:
        return told
    return f"{told} " + gettext("Not on %(count)d: %(why)s") % {"count": len(refused), "why": refused[0]}


def save_nodes(schedule: Schedule, job: SnmpJob, formset: FormSet) -> None:
    """Save the nodes of a job, after `formset.save(commit=False)` has sorted them."""
    if formset.deleted_objects:
        schedule.detach(job.name, [node.olt.name for node in formset.deleted_objects])
    attach(schedule, job, formset.new_objects)
    for node, changed in formset.changed_objects:
        change_node(schedule, node, changed)


def attach(schedule: Schedule, job: SnmpJob, new: Sequence[SnmpJobHost]) -> None:
    """Attach all OLTs at once, so that their first runs are spread."""
    if new:
        schedule.attach(job.name, [node.olt.name for node in new])
        _set_node_values(schedule, job, new)


def _set_node_values(schedule: Schedule, job: SnmpJob, new: Iterable[SnmpJobHost]) -> None:
    ids = schedule.nodes_of(job)
    for node in new:
        own = {"interval": node.interval_s, "priority": node.priority, "enabled": not node.enabled}
        _update_node(schedule, ids[node.olt_id], node, [name for name, differs in own.items() if differs])


def change_node(schedule: Schedule, node: SnmpJobHost, changed: Collection[str]) -> None:
    _update_node(schedule, node.pk, node, changed)


def _update_node(schedule: Schedule, node_id: int, wanted: SnmpJobHost, changed: Collection[str]) -> None:
    own = wanted.interval_s
    interval = None if own is None else timedelta(seconds=own)
    changes = nodes.NodeChanges(
        interval=interval if "interval" in changed else nodes.KEEP,
        priority=wanted.priority if "priority" in changed else nodes.KEEP,
        enabled=wanted.enabled if "enabled" in changed else None,
    )
    if changes != nodes.NodeChanges():
        schedule.update_node(node_id, changes)


def wanted_oids(job: SnmpJob, formset: FormSet) -> list[str] | None:
    """Return all OIDs that the job will have. The form shows a page of them; the others stay."""
    if not (formset.new_objects or formset.deleted_objects):
        return None
    gone = [row.oid_id for row in formset.deleted_objects]
    kept = SnmpJobOid.objects.filter(job=job.pk).exclude(oid__in=gone)
    return [*kept.values_list("oid__oid", flat=True), *(row.oid.oid for row in formset.new_objects)]
