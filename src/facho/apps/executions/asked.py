"""What an execution is about: its OLT, and the jobs of its composite."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.hosts.models import Brand, Olt
from facho.apps.snmp_jobs.selectors import NodeJob, members_to_ask

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


@dataclass(frozen=True, slots=True)
class About:
    olt: Olt
    # The master's first; none when a person asked by hand for all that there is, or about one ONU.
    jobs: list[NodeJob]
    onu_id: int | None = None


def about(execution_id: int) -> About:
    (row,) = sql.fetch_rows(_ABOUT, [execution_id])
    node_id, onu_id, brand, credentials, learned, lacks, cpu_read_at, uptime_read_at, *rest = row
    values = dict(zip(_OLT, rest, strict=True))
    values["credentials"] = Olt._meta.get_field("credentials").from_db_value(credentials)
    values["learned"], values["lacks"] = json.loads(learned), json.loads(lacks)
    for name, when in (("cpu_read_at", cpu_read_at), ("uptime_read_at", uptime_read_at)):
        values[name] = None if when is None else sql.parse_time(when)
    olt = _olt(values)
    olt.brand = Brand(id=olt.brand_id, name=brand)
    return About(olt, [] if node_id is None else members_to_ask(node_id), onu_id)


def _olt(values: dict[str, Any]) -> Olt:
    names = [field.attname for field in Olt._meta.concrete_fields if field.attname in values]
    return Olt.from_db(connection.alias, names, [values[name] for name in names])
