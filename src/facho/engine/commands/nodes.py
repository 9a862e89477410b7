"""When nodes run: after every change, `replan` sets their times by one set of rules.

A node has a time when nothing keeps it off and it is not chained to another one. So what has to be done can
be read off the rows: a node without a time that should have one starts, a node with a time that should have
none stops. An interval that changed is the same: the time is taken away, and the node starts anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from facho.apps.executions.models import QUEUED, Attempt, Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.rows import update_rows
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import current
from facho.core.chain import Link, composites
from facho.core.interval import format_interval
from facho.core.schedule import first_run_of_enabled, first_run_of_new, spread
from facho.engine.commands.checks import seconds_of, whole_between
from facho.engine.commands.errors import CommandError
from facho.engine.commands.turns import command
from facho.engine.scheduler import runnable

OLT_OFF: Final = "the OLT was disabled"
# What the engine wrote when it suspended something, as it is when nothing is wrong.
NOT_SUSPENDED: Final[Mapping[str, object]] = {
    "suspended_reason": "",
    "suspended_at": None,
    "next_probe_at": None,
    "failed_probes": 0,
}


@dataclass(frozen=True, slots=True)
class Replanned:
    """What a change did to the schedule: when nodes run that started anew, and how many executions ended."""

    first_runs: Mapping[int, datetime]
    aborted: int = 0


class _Node(NamedTuple):
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


def replan(olt_ids: Sequence[int], now: datetime, *, new: Collection[int] = ()) -> Replanned:
    """Give every node of these OLTs the time that it should have, and end what should not be in the queue.

    `new` are ids of nodes that this very change made. The order of the OLTs is that in which they are spread.
    """
    nodes = _nodes(olt_ids)
    plain = {composite.master for composite in composites(node.link for node in nodes)}
    stopped = [node for node in nodes if node.node_id not in plain]
    gone = [(node.node_id, None) for node in stopped if node.next_run_at is not None]
    # Before the queue is looked at: a scheduler that is filling it now has to finish first.
    update_rows(SnmpJobHost, ["next_run_at"], gone)
    starting = [node for node in nodes if node.node_id in plain and node.next_run_at is None]
    first_runs = _first_runs(starting, olt_ids, frozenset(new), now)
    update_rows(SnmpJobHost, ["next_run_at"], list(first_runs.items()))
    return Replanned(first_runs, _end_executions(olt_ids, stopped, now))


@command
def replan_changed(now: datetime) -> Replanned:
    """What was switched on or off behind our back, by SQL, gets its time or loses it."""
    forgotten = runnable().filter(next_run_at__isnull=True, job__master__isnull=True)
    lingering = SnmpJobHost.objects.filter(next_run_at__isnull=False).exclude(id__in=runnable())
    olts = {olt for found in (forgotten, lingering) for olt in found.values_list("olt", flat=True)}
    return replan(sorted(olts), now)


def _nodes(olt_ids: Collection[int]) -> list[_Node]:
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
    )
    return [_Node(*row) for row in rows.order_by("id")]


def _first_runs(
    starting: Sequence[_Node], olt_ids: Iterable[int], new: Collection[int], now: datetime
) -> dict[int, datetime]:
    config = current()
    planned = {node.olt_id for node in starting}
    places = {
        olt_id: place for place, olt_id in enumerate(filter(planned.__contains__, dict.fromkeys(olt_ids)))
    }
    found = {}
    for node in starting:
        interval = timedelta(seconds=node.interval_s)
        first = (
            first_run_of_new(now, delay=config.first_run_delay)
            if node.node_id in new
            else first_run_of_enabled(now, interval)
        )
        moved = spread(places[node.olt_id], len(places), interval, limit=config.spread_limit)
        found[node.node_id] = first + moved
    return found


def _end_executions(olt_ids: Collection[int], stopped: Iterable[_Node], now: datetime) -> int:
    """Of OLTs that are off everything; of nodes that stopped what has not begun."""
    off = list(Olt.objects.filter(id__in=list(olt_ids), enabled=False).values_list("id", flat=True))
    count = end_open(Execution.objects.filter(olt__in=off), OLT_OFF, now)
    why = {node.node_id: node.why_not for node in stopped}
    queued: dict[str, list[int]] = defaultdict(list)
    rows = Execution.objects.filter(olt__in=list(olt_ids), state__in=QUEUED).exclude(node=None)
    for execution, node_id in rows.values_list("id", "node_id"):
        if node_id in why:
            queued[why[node_id]].append(execution)
    return count + sum(
        end_queued(Execution.objects.filter(id__in=ids), reason, now) for reason, ids in queued.items()
    )


def end_queued(executions: QuerySet[Execution], why: str, now: datetime) -> int:
    """Abort those that have not begun. Returns how many there were."""
    return executions.filter(state__in=QUEUED).update(
        state=State.ABORTED, error=why, ended_at=now, lease_token="", lease_expires_at=None
    )


def end_open(executions: QuerySet[Execution], why: str, now: datetime) -> int:
    """Abort those that have not ended. Returns how many there were.

    The lease of one that runs stays: its holder stops at the next renewal, and until then has the OLT.
    """
    count = end_queued(executions, why, now)
    running = list(executions.filter(state=State.RUNNING).values_list("id", flat=True))
    stopped = Execution.objects.filter(id__in=running, state=State.RUNNING)
    Attempt.objects.filter(execution__in=running, ended_at=None).update(error=why, ended_at=now)
    return count + stopped.update(state=State.ABORTED, error=why, ended_at=now)


def start_anew(nodes: QuerySet[SnmpJobHost]) -> None:
    """Take their times away, and what they were suspended for: `replan` gives them new ones."""
    nodes.update(next_run_at=None, failures_in_a_row=0, **NOT_SUSPENDED)


@command
def enable_nodes(node_ids: Sequence[int], now: datetime) -> Replanned:
    """Also what brings a suspended node back before its probe does."""
    olt_ids = _olts_of(node_ids)
    nodes = SnmpJobHost.objects.filter(id__in=list(node_ids))
    start_anew(nodes.filter(Q(enabled=False) | ~Q(suspended_reason="")))
    nodes.update(enabled=True)
    return replan(olt_ids, now)


@command
def disable_nodes(node_ids: Sequence[int], now: datetime) -> Replanned:
    olt_ids = _olts_of(node_ids)
    SnmpJobHost.objects.filter(id__in=list(node_ids)).update(enabled=False)
    return replan(olt_ids, now)


@command
def change_node_interval(node_id: int, interval: str | timedelta | None, now: datetime) -> Replanned:
    """The node's own interval; None is that of its job."""
    olt_ids = _olts_of([node_id])
    node = SnmpJobHost.objects.select_related("job", "olt").get(id=node_id)
    seconds = None if interval is None else seconds_of(interval)
    effective = seconds or node.job.interval_s
    refuse_too_short([node.olt], effective)
    if effective != (node.interval_s or node.job.interval_s):
        SnmpJobHost.objects.filter(id=node_id).update(next_run_at=None)
    SnmpJobHost.objects.filter(id=node_id).update(interval_s=seconds)
    return replan(olt_ids, now)


@command
def change_node_priority(node_id: int, priority: int | None) -> None:
    """The node's own priority; None is that of its job."""
    _olts_of([node_id])
    checked = None if priority is None else whole_between(priority, 1, 100, "priority")
    SnmpJobHost.objects.filter(id=node_id).update(priority=checked)


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
            raise CommandError("node", _("there is no node %(id)d") % {"id": node_id})
    return list(dict.fromkeys(olt_of[node_id] for node_id in node_ids))
