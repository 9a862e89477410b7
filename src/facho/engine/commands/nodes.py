"""Nodes: each switched on and off, and given an interval or a priority of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from facho.apps.access.audited import note, note_rows
from facho.apps.access.words import Action
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.interval import format_interval
from facho.engine.commands.checks import seconds_of, whole_between
from facho.engine.commands.errors import CommandError
from facho.engine.coordinate.changes import ReplanResult, replan
from facho.engine.events.stream import publish
from facho.engine.events.types import ConfigChanged
from facho.engine.process.command_transaction import command

# What the engine wrote when it suspended something, as it is when nothing is wrong.
NOT_SUSPENDED: Final[Mapping[str, object]] = {
    "suspended_reason": "",
    "suspended_at": None,
    "next_probe_at": None,
    "failed_probes": 0,
}


def start_anew(nodes: QuerySet[SnmpJobHost]) -> None:
    """Take their times away, and what they were suspended for: `replan` gives them new ones."""
    note_rows(Action.RESUME, nodes.exclude(suspended_reason=""))
    nodes.update(next_run_at=None, failures_in_a_row=0, **NOT_SUSPENDED)


@command
def enable_nodes(node_ids: Sequence[int], now: datetime) -> ReplanResult:
    """Also what brings a suspended node back before its probe does."""
    olt_ids = _olts_of(node_ids)
    nodes = SnmpJobHost.objects.filter(id__in=list(node_ids))
    start_anew(nodes.filter(Q(enabled=False) | ~Q(suspended_reason="")))
    nodes.update(enabled=True)
    return replan(olt_ids, now)


@command
def disable_nodes(node_ids: Sequence[int], now: datetime) -> ReplanResult:
    olt_ids = _olts_of(node_ids)
    SnmpJobHost.objects.filter(id__in=list(node_ids)).update(enabled=False)
    return replan(olt_ids, now)


@command
def change_node_interval(node_id: int, interval: str | timedelta | None, now: datetime) -> ReplanResult:
    """The node's own interval; None is that of its job."""
    olt_ids = _olts_of([node_id])
    node = SnmpJobHost.objects.select_related("job", "olt").get(id=node_id)
    seconds = check_node_interval(node, interval)
    if (seconds or node.job.interval_s) != (node.interval_s or node.job.interval_s):
        SnmpJobHost.objects.filter(id=node_id).update(next_run_at=None)
    SnmpJobHost.objects.filter(id=node_id).update(interval_s=seconds)
    return replan(olt_ids, now)


def check_node_interval(node: SnmpJobHost, interval: str | timedelta | None) -> int | None:
    """Return the node's own interval in seconds. Reads only; raises CommandError."""
    seconds = None if interval is None else seconds_of(interval)
    refuse_too_short([node.olt], seconds or node.job.interval_s)
    return seconds


@command
def change_node_priority(node_id: int, priority: int | None, now: datetime) -> None:
    """The node's own priority; None is that of its job."""
    olt_ids = _olts_of([node_id])
    SnmpJobHost.objects.filter(id=node_id).update(priority=check_node_priority(priority))
    replan(olt_ids, now)


def check_node_priority(priority: int | None) -> int | None:
    return None if priority is None else whole_between(priority, 1, 100, "priority")


@command
def shift_grid(node_id: int, by: str | timedelta, now: datetime) -> datetime:
    """All its slots come so much later, from the next one on, which is returned."""
    olt_ids = _olts_of([node_id])
    node = SnmpJobHost.objects.select_related("job", "job__master", "olt").get(id=node_id)
    seconds = seconds_of(by, "by")
    if node.next_run_at is None:
        raise CommandError("node", _no_grid(node))
    if seconds >= (node.interval_s or node.job.interval_s):
        raise CommandError("by", _("a grid is moved by a time that is shorter than its interval"))
    moved = node.next_run_at + timedelta(seconds=seconds)
    SnmpJobHost.objects.filter(id=node_id).update(next_run_at=moved)
    replan(olt_ids, now)
    note(Action.CHANGE, SnmpJobHost, node_id, str(node), next_run_at=moved)
    changed = {"next_run_at": (node.next_run_at, moved)}
    publish(ConfigChanged(olt_id=node.olt_id, job=node.job.name, changed=changed), now)
    return moved


def _no_grid(node: SnmpJobHost) -> str:
    """It is chained, or switched off."""
    if node.job.master is not None and node.enabled:
        said = {"job": node.job.name, "master": node.job.master.name}
        return _("%(job)s runs after %(master)s, and has no slots of its own") % said
    return _("%(job)s is disabled there, and has no slots") % {"job": node.job.name}


def refuse_too_short(olts: Iterable[Olt], interval_s: int, field: str = "interval") -> None:
    for olt in olts:
        if olt.shortest_interval_s is not None and interval_s < olt.shortest_interval_s:
            shortest = format_interval(timedelta(seconds=olt.shortest_interval_s))
            said = {
                "olt": olt.name,
                "shortest": shortest,
                "interval": format_interval(timedelta(seconds=interval_s)),
            }
            raise CommandError(
                field, _("%(interval)s is too short for %(olt)s: it allows %(shortest)s or longer") % said
            )


def _olts_of(node_ids: Sequence[int]) -> list[int]:
    """The OLTs of the nodes, in the order of the nodes."""
    olt_of = dict(SnmpJobHost.objects.filter(id__in=list(node_ids)).values_list("id", "olt_id"))
    for node_id in node_ids:
        if node_id not in olt_of:
            raise no_such_node(node_id)
    return list(dict.fromkeys(olt_of[node_id] for node_id in node_ids))


def no_such_node(node_id: int) -> CommandError:
    return CommandError("node", _("there is no node %(id)d") % {"id": node_id})
