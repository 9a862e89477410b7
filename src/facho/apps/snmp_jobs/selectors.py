"""Reads of jobs and nodes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from facho.apps.db import sql
from facho.apps.hosts.selectors import DISCOVERY, DISCOVERY_FACTS, without_sets
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.chain import Link, masters, members


def enabled_nodes() -> QuerySet[SnmpJobHost]:
    """Return the nodes that are enabled, and whose job and OLT are enabled."""
    return SnmpJobHost.objects.filter(enabled=True, job__enabled=True, olt__enabled=True)


class Intervals(dict[str, timedelta]):
    """How often the facts of one OLT are collected."""

    def of(self, fact: str) -> timedelta | None:
        """Return the interval of a fact; of one that no job names, the longest of all. None without nodes."""
        return self.get(fact) or max(self.values(), default=None)


def collection_intervals(olt_ids: Sequence[int]) -> dict[int, Intervals]:
    """Return by OLT how often each fact is collected, in one query. The most frequent node counts."""
    # A chained node runs when its master does, if that has a node on the same OLT.
    masters_there = SnmpJobHost.objects.filter(job=OuterRef("job__master"), olt=OuterRef("olt"))
    of_master = masters_there.values(every=Coalesce("interval_s", "job__interval_s"))[:1]
    every = Coalesce(Subquery(of_master), "interval_s", "job__interval_s")
    rows = enabled_nodes().filter(olt__in=olt_ids)
    found: dict[int, Intervals] = {}
    for olt_id, named, kind, seconds, job in rows.values_list(
        "olt_id", "job__facts", "job__kind", every, "job__name"
    ):
        known, interval = found.setdefault(olt_id, Intervals()), timedelta(seconds=seconds)
        facts = {*without_sets(named), *(DISCOVERY_FACTS if kind == DISCOVERY else ())}
        for fact in facts or [f"job {job}"]:
            known[fact] = min(known.get(fact, interval), interval)
    return found


@dataclass(frozen=True, slots=True)
class NodeJob:
    """The job of one node, as far as it matters for asking and for quotas."""

    node_id: int
    job_id: int
    name: str
    kind: str
    task_type: str
    interval_s: int
    facts: tuple[str, ...]
    # It names columns one by one.
    has_oids: bool
    suspended: bool


def members_of(master_ids: Sequence[int]) -> dict[int, list[NodeJob]]:
    """Return the members of these composite nodes, suspended ones too, in the order in which they run."""
    if not master_ids:
        return {}
    given = sql.db_list(master_ids)
    statement = _MASTERS_AND_CHAINS.format(*(map(sql.is_one_of, ("n.id", "m.id"))))
    rows = {row[0]: row for row in sql.fetch_rows(statement, [given, given])}
    return _members_among(list(rows.values()), master_ids)


def _members_among(rows: Sequence[Sequence[Any]], master_ids: Sequence[int]) -> dict[int, list[NodeJob]]:
    """`rows` are all nodes of the OLTs of these masters that chains consist of, each with NODE_COLUMNS."""
    jobs = {row[0]: row for row in rows}
    found = members(map(_link_of_row, rows), master_ids)
    return {master: [_node_job(jobs[node_id]) for node_id in node_ids] for master, node_ids in found.items()}


def members_to_ask(master_id: int, nodes: Sequence[Sequence[Any]] | None = None) -> list[NodeJob]:
    """Return the master, and the chained nodes that are not suspended.

    `nodes` are all nodes of its OLT with NODE_COLUMNS, if somebody has read them already.
    """
    found = members_of([master_id]) if nodes is None else _members_among(nodes, [master_id])
    master, *chained = found[master_id]
    return [master, *(each for each in chained if not each.suspended)]


def job_of_node(node_id: int) -> NodeJob:
    (row,) = sql.fetch_rows(_OF_NODE, [node_id])
    return _node_job(row)


def masters_of_chained(nodes_of_olt: Iterable[SnmpJobHost]) -> dict[int, SnmpJobHost]:
    """Return the master of each chained node, by the id of the chained one."""
    by_id = {node.id: node for node in nodes_of_olt}
    links = (
        node_link(node.id, node.job_id, node.olt_id, node.job.master_id, node.next_run_at, 0, enabled=True)
        for node in by_id.values()
    )
    return {node_id: by_id[master_id] for node_id, master_id in masters(links).items()}


def master_of(node: SnmpJobHost) -> SnmpJobHost:
    """Return the master of the composite node that `node` is a member of; the node itself if not chained."""
    nodes = SnmpJobHost.objects.filter(olt=node.olt_id).select_related("job", "olt")
    return masters_of_chained(nodes).get(node.id, node)


# Of a node `n` and its job `j`.
NODE_COLUMNS: Final = (
    "n.id", "j.id", "j.name", "j.kind", "j.task_type", "COALESCE(n.interval_s, j.interval_s)", "j.facts",
    "EXISTS (SELECT 1 FROM snmp_job_oids x WHERE x.job_id = j.id)", "n.suspended_reason", "n.olt_id",
    "j.master_id", "n.next_run_at", "COALESCE(n.priority, j.priority)", "n.enabled", "j.enabled",
)  # fmt: skip
_NODES: Final = f"SELECT {', '.join(NODE_COLUMNS)} FROM snmp_job_hosts n JOIN snmp_jobs j ON j.id = n.job_id"  # noqa: S608
_OF_NODE: Final = f"{_NODES} WHERE n.id = %s"
# Those nodes, and of their OLTs the nodes of chained jobs and of their masters: mostly there are none.
_MASTERS_AND_CHAINS: Final = (
    f"{_NODES} WHERE {{}} UNION ALL {_NODES}"  # noqa: S608
    " WHERE n.job_id IN (SELECT id FROM snmp_jobs WHERE master_id IS NOT NULL"
    " UNION SELECT master_id FROM snmp_jobs WHERE master_id IS NOT NULL)"
    " AND n.olt_id IN (SELECT m.olt_id FROM snmp_job_hosts m WHERE {})"
)


def node_link(
    node_id: int,
    job_id: int,
    olt_id: int,
    master_job_id: int | None,
    next_run_at: object,
    priority: int,
    *,
    enabled: bool,
) -> Link:
    """Return what the rule of chains needs of a node, as it is stored."""
    # A node that still has slots of its own runs for them, until it is replanned as a chained one.
    master = master_job_id if next_run_at is None else None
    return Link(node_id, job_id, olt_id, master, priority, enabled)


def _link_of_row(row: Sequence[Any]) -> Link:
    node_id, job_id, *_, olt_id, master_job_id, next_run_at, priority, node_enabled, job_enabled = row
    enabled = bool(node_enabled and job_enabled)
    return node_link(node_id, job_id, olt_id, master_job_id, next_run_at, priority, enabled=enabled)


def _node_job(row: Sequence[Any]) -> NodeJob:
    node_id, job_id, name, kind, task_type, interval_s, facts, has_oids, suspended, *_ = row
    asked = tuple(map(str, json.loads(facts) if isinstance(facts, str) else facts))
    return NodeJob(node_id, job_id, name, kind, task_type, interval_s, asked, bool(has_oids), bool(suspended))
