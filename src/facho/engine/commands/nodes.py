"""Enable and disable nodes, and give them an interval or a priority of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, Literal

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from facho.apps.access.actors import because
from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import note, note_rows
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.interval import interval_words
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_range, check_reason, parse_seconds
from facho.engine.coordinate.changes import ReplanResult, replan
from facho.engine.events.stream import publish
from facho.engine.events.types import ConfigChanged
from facho.engine.process.command_transaction import command

# The columns that the engine writes when it suspends something, as they are when it is not suspended.
NOT_SUSPENDED: Final[Mapping[str, object]] = {
    "suspended_reason": "",
    "suspended_at": None,
    "next_probe_at": None,
    "failed_probes": 0,
}


class _Keep(Enum):
    KEEP = "as it is"


# Of an interval or a priority of a node: no change. None means that of the job.
KEEP: Final = _Keep.KEEP


@dataclass(frozen=True, slots=True)
class NodeChanges:
    """Changes of a node. An interval or a priority that is None becomes that of the job."""

    interval: str | timedelta | Literal[_Keep.KEEP] | None = KEEP
    priority: int | Literal[_Keep.KEEP] | None = KEEP
    enabled: bool | None = None


@command
def update_node(node_id: int, changes: NodeChanges, now: datetime) -> None:
    if changes.interval is not KEEP:
        change_node_interval(node_id, changes.interval, now)
    if changes.priority is not KEEP:
        change_node_priority(node_id, changes.priority, now)
    if changes.enabled is not None:
        (enable_nodes if changes.enabled else disable_nodes)([node_id], now)


def reset_nodes(nodes: QuerySet[SnmpJobHost]) -> None:
    """Clear the next slot and the suspension of nodes; `replan` gives them new slots."""
    note_rows(Action.RESUME, nodes.exclude(suspended_reason=""))
    nodes.update(next_run_at=None, failures_in_a_row=0, **NOT_SUSPENDED)


@command
def enable_nodes(node_ids: Sequence[int], now: datetime) -> ReplanResult:
    """Enable nodes and resume those that are suspended."""
    olt_ids = _olts_of(node_ids)
    nodes = SnmpJobHost.objects.filter(id__in=list(node_ids))
    reset_nodes(nodes.filter(Q(enabled=False) | ~Q(suspended_reason="")))
    nodes.update(enabled=True)
    return replan(olt_ids, now)


@command
def disable_nodes(node_ids: Sequence[int], now: datetime, reason: str = "") -> ReplanResult:
    olt_ids, reason = _olts_of(node_ids), check_reason(reason)
    with because(reason):
        SnmpJobHost.objects.filter(id__in=list(node_ids)).update(enabled=False)
    return replan(olt_ids, now, reason=reason)


@command
def change_node_interval(node_id: int, interval: str | timedelta | None, now: datetime) -> ReplanResult:
    """Set a node's own interval; None is that of its job."""
    olt_ids = _olts_of([node_id])
    node = SnmpJobHost.objects.select_related("job", "olt").get(id=node_id)
    seconds = check_node_interval(node, interval)
    if (seconds or node.job.interval_s) != (node.interval_s or node.job.interval_s):
        SnmpJobHost.objects.filter(id=node_id).update(next_run_at=None)
    SnmpJobHost.objects.filter(id=node_id).update(interval_s=seconds)
    return replan(olt_ids, now)


def check_node_interval(node: SnmpJobHost, interval: str | timedelta | None) -> int | None:
    """Return the node's own interval in seconds. Reads only; raises CommandError."""
    seconds = None if interval is None else parse_seconds(interval)
    refuse_too_short([node.olt], seconds or node.job.interval_s)
    return seconds


@command
def change_node_priority(node_id: int, priority: int | None, now: datetime) -> None:
    """Set a node's own priority; None is that of its job."""
    olt_ids = _olts_of([node_id])
    SnmpJobHost.objects.filter(id=node_id).update(priority=check_node_priority(priority))
    replan(olt_ids, now)


def check_node_priority(priority: int | None) -> int | None:
    return None if priority is None else check_range(priority, 1, 100, "priority")


@command
def shift_grid(node_id: int, by: str | timedelta, now: datetime) -> datetime:
    """Move all slots of a node later by a time, and return the next one."""
    olt_ids = _olts_of([node_id])
    node = SnmpJobHost.objects.select_related("job", "job__master", "olt").get(id=node_id)
    seconds = parse_seconds(by, "by")
    if node.next_run_at is None:
        raise CommandError("node", _explain_missing_grid(node))
    if seconds >= (node.interval_s or node.job.interval_s):
        raise CommandError("by", _("a grid is moved by a time that is shorter than its interval"))
    moved = node.next_run_at + timedelta(seconds=seconds)
    SnmpJobHost.objects.filter(id=node_id).update(next_run_at=moved)
    replan(olt_ids, now)
    note(Action.CHANGE, SnmpJobHost, node_id, str(node), next_run_at=moved)
    changed = {"next_run_at": (node.next_run_at, moved)}
    publish(ConfigChanged(olt_id=node.olt_id, job=node.job.name, changed=changed), now)
    return moved


def _explain_missing_grid(node: SnmpJobHost) -> str:
    if node.job.master is not None and node.enabled:
        values = {"job": node.job.name, "master": node.job.master.name}
        return _("%(job)s runs after %(master)s, and has no slots of its own") % values
    return _("%(job)s is disabled there, and has no slots") % {"job": node.job.name}


def refuse_too_short(olts: Iterable[Olt], interval_s: int, field: str = "interval") -> None:
    for olt in olts:
        if olt.shortest_interval_s is not None and interval_s < olt.shortest_interval_s:
            shortest = interval_words(timedelta(seconds=olt.shortest_interval_s))
            values = {
                "olt": olt.name,
                "shortest": shortest,
                "interval": interval_words(timedelta(seconds=interval_s)),
            }
            raise CommandError(
                field, _("%(interval)s is too short for %(olt)s: it allows %(shortest)s or longer") % values
            )


def _olts_of(node_ids: Sequence[int]) -> list[int]:
    """Return the OLTs of the nodes, in the order of the nodes."""
    olt_of = dict(SnmpJobHost.objects.filter(id__in=list(node_ids)).values_list("id", "olt_id"))
    for node_id in node_ids:
        if node_id not in olt_of:
            raise no_such_node(node_id)
    return list(dict.fromkeys(olt_of[node_id] for node_id in node_ids))


def no_such_node(node_id: int) -> CommandError:
    return CommandError("node", _("there is no node %(id)d") % {"id": node_id})
