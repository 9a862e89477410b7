"""Several changes of one thing at once: all of them are made, or none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, Literal

from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob
from facho.engine.collect.identify import Identified
from facho.engine.commands import jobs, nodes, olts
from facho.engine.process.command_transaction import command


class _Keep(Enum):
    KEEP = "as it is"


# Where None says something: that of the job.
KEEP: Final = _Keep.KEEP
_NOTHING: Final = jobs.JobChanges()


@dataclass(frozen=True, slots=True)
class JobEdit:
    """What is not None changes. `master` "" lets it run on its own."""

    changes: jobs.JobChanges = _NOTHING
    interval: str | timedelta | None = None
    master: str | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class NodeEdit:
    """An interval or a priority that is None is that of the job."""

    interval: str | timedelta | Literal[_Keep.KEEP] | None = KEEP
    priority: int | Literal[_Keep.KEEP] | None = KEEP
    enabled: bool | None = None


@command
def edit_olt(
    name: str,
    changes: olts.OltChanges,
    now: datetime,
    *,
    enabled: bool | None = None,
    detected: Identified | None = None,
) -> Olt:
    olt = olts.update_olt(name, changes, now, detected=detected)
    if enabled is not None:
        (olts.enable_olts if enabled else olts.disable_olts)([olt.name], now)
    return olt


@command
def edit_job(name: str, edit: JobEdit, now: datetime) -> SnmpJob:
    job = jobs.update_job(name, edit.changes, now)
    if edit.interval is not None:
        jobs.change_interval(job.name, edit.interval, now)
    if edit.master is not None:
        jobs.change_master(job.name, edit.master or None, now)
    if edit.enabled is not None:
        (jobs.enable_jobs if edit.enabled else jobs.disable_jobs)([job.name], now)
    return job


@command
def edit_node(node_id: int, edit: NodeEdit, now: datetime) -> None:
    if edit.interval is not KEEP:
        nodes.change_node_interval(node_id, edit.interval, now)
    if edit.priority is not KEEP:
        nodes.change_node_priority(node_id, edit.priority, now)
    if edit.enabled is not None:
        (nodes.enable_nodes if edit.enabled else nodes.disable_nodes)([node_id], now)
