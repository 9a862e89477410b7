"""What an execution is about: its OLT, and the jobs of its composite."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.hosts.models import Brand, Olt
from facho.apps.snmp_jobs.models import SnmpJobHost

# What is needed to ask it; anything else is read when somebody looks.
_OLT: Final = (
    "id", "name", "brand_id", "model_id", "address", "port", "snmp_version", "max_in_flight", "max_varbinds",
    "max_requests_per_second", "cpu_pct", "version", "uptime_s",
)  # fmt: skip
_COLUMNS: Final = ", ".join(f"o.{column}" for column in _OLT)
_ABOUT: Final = (
    "SELECT e.node_id, e.onu_id, b.name, o.credentials, o.learned, o.lacks, o.cpu_read_at, o.uptime_read_at,"  # noqa: S608
    f" {_COLUMNS} FROM snmp_executions e JOIN olts o ON o.id = e.olt_id JOIN brands b ON b.id = o.brand_id"
    " WHERE e.id = %s"
)
_JOB: Final = (
    "SELECT n.id, j.id, j.name, j.kind, j.task_type, j.facts,"
    " EXISTS (SELECT 1 FROM snmp_job_oids x WHERE x.job_id = j.id)"
    " FROM snmp_job_hosts n JOIN snmp_jobs j ON j.id = n.job_id"
)
_OF_NODE: Final = f"{_JOB} WHERE n.id = %s"
_CHAINED: Final = (
    f"{_JOB} WHERE n.olt_id = %s AND j.master_id = %s AND n.enabled AND j.enabled AND n.suspended_reason = ''"
    " ORDER BY COALESCE(n.priority, j.priority) DESC, n.id"
)


@dataclass(frozen=True, slots=True)
class NodeJob:
    """The job of one node, as far as it matters for asking."""

    node_id: int
    job_id: int
    name: str
    kind: str
    task_type: str
    facts: tuple[str, ...]
    # It names columns one by one.
    has_oids: bool


@dataclass(frozen=True, slots=True)
class About:
    olt: Olt
    # The master's first; none when a person asked by hand for all that there is, or about one ONU.
    jobs: list[NodeJob]
    onu_id: int | None = None


def about(execution_id: int) -> About:
    (row,) = sql.rows(_ABOUT, [execution_id])
    node_id, onu_id, brand, credentials, learned, lacks, cpu_read_at, uptime_read_at, *rest = row
    values = dict(zip(_OLT, rest, strict=True))
    values["credentials"] = Olt._meta.get_field("credentials").from_db_value(credentials)
    values["learned"], values["lacks"] = json.loads(learned), json.loads(lacks)
    for name, when in (("cpu_read_at", cpu_read_at), ("uptime_read_at", uptime_read_at)):
        values[name] = None if when is None else sql.read(when)
    olt = _olt(values)
    olt.brand = Brand(id=olt.brand_id, name=brand)
    return About(olt, [] if node_id is None else composite(node_id, olt.id), onu_id)


def _olt(values: dict[str, Any]) -> Olt:
    names = [field.attname for field in Olt._meta.concrete_fields if field.attname in values]
    return Olt.from_db(connection.alias, names, [values[name] for name in names])


def composite(node_id: int, olt_id: int) -> list[NodeJob]:
    """The node's own job, then those that run after it on this OLT."""
    own = sql.rows(_OF_NODE, [node_id])
    chained = sql.rows(_CHAINED, [olt_id, own[0][1]])
    return [_job(row) for row in (*own, *chained)]


def job_of(node: SnmpJobHost) -> NodeJob:
    (row,) = sql.rows(_OF_NODE, [node.id])
    return _job(row)


def _job(row: sql.Row) -> NodeJob:
    node_id, job_id, name, kind, task_type, facts, has_oids = row
    return NodeJob(node_id, job_id, name, kind, task_type, tuple(map(str, json.loads(facts))), bool(has_oids))
