"""The subject of an execution: the OLT that it asks, and the jobs of its composite node, or one ONU.

All of it is read by one statement. `take_executions` is that statement: it takes claimed executions, counts
their attempts and returns their subjects, so that nothing has to be read between the claim and the first
request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.db.database import is_embedded
from facho.apps.hosts.models import Brand, Olt
from facho.apps.hosts.selectors import oid_state_statement
from facho.apps.snmp_jobs.selectors import NODE_COLUMNS, NodeJob, members_to_ask

# The columns that are needed to ask it; any other is read on first use.
_OLT_COLUMNS: Final = (
    "id", "name", "brand_id", "model_id", "address", "port", "snmp_version", "max_in_flight", "max_varbinds",
    "max_requests_per_second", "cpu_pct", "version", "uptime_s", "credentials", "learned", "lacks",
    "cpu_read_at", "uptime_read_at",
)  # fmt: skip
_JSON: Final = ("learned", "lacks")
_TIMES: Final = ("cpu_read_at", "uptime_read_at")


@dataclass(frozen=True, slots=True)
class ExecutionSubject:
    """The OLT that an execution asks, and the jobs of its composite node or one ONU."""

    olt: Olt
    # The master's first; none for a manual collection of everything, or the reading of one ONU.
    jobs: list[NodeJob]
    onu_id: int | None = None
    # Differs whenever the columns that may be asked have changed.
    oid_state: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """An execution that was taken, as its row is now."""

    run_id: int
    olt_id: int
    node_id: int | None
    slot: datetime
    queued_at: datetime
    attempt: int
    started_at: datetime
    subject: ExecutionSubject


def execution_subject(execution_id: int) -> ExecutionSubject:
    statement = f"SELECT e.node_id, {_subject('e')} FROM snmp_executions e WHERE e.id = %s"  # noqa: S608
    ((node_id, *found),) = sql.fetch_prepared(statement, [execution_id])
    return _subject_of(node_id, *found)


def take_executions(
    tokens: Mapping[int, str], worker: str, now: datetime | None, lease: timedelta
) -> dict[int, sql.Row]:
    """PENDING -> RUNNING with these tokens, with the attempts and delays counted.

    Return the rows of those that were taken, by their ids, for `read_started`. For no time, the server's is
    taken, by the statement itself.
    """
    rows = sql.db_rows([{"id": each, "token": tokens[each]} for each in sorted(tokens)])
    if is_embedded():
        assert now is not None
        return _take_embedded(rows, worker, now, lease)
    return {row[0]: row for row in sql.fetch_prepared(_server_statement(), [now, lease, worker, rows])}


def _take_embedded(rows: str, worker: str, now: datetime, lease: timedelta) -> dict[int, sql.Row]:
    moment = sql.db_time(now)
    values = [moment, sql.db_time(now + lease), moment, worker, rows]
    with sql.write_transaction():
        found = sql.fetch_prepared(_embedded_statement(), values)
        return {row[0]: (row[0], _add_attempt(row[0], row[5], moment, worker), *row[1:]) for row in found}


def _add_attempt(execution_id: int, number: int, moment: Any, worker: str) -> int:
    ((run_id,),) = sql.fetch_prepared(_NEW_ATTEMPT, [execution_id, number, moment, worker])
    return int(run_id)


def write_why_late(execution_id: int, why: str, blocked_by: int | None) -> None:
    with sql.write_transaction() if is_embedded() else nullcontext():
        sql.execute_prepared(_WHY_LATE, [why, blocked_by, execution_id])


def read_started(row: sql.Row) -> Started:
    """Return what `take_executions` has found of one execution."""
    _, run_id, olt_id, node_id, slot, queued_at, attempt, started_at, *subject = row
    times = (sql.parse_time(slot), sql.parse_time(queued_at))
    found = _subject_of(node_id, *subject)
    return Started(run_id, olt_id, node_id, *times, attempt, sql.parse_time(started_at), found)


def _subject_of(
    node_id: int | None, onu_id: int | None, brand: str, olt: str, nodes: str, oid_state: str
) -> ExecutionSubject:
    values = dict(zip(_OLT_COLUMNS, json.loads(olt), strict=True))
    for name in _JSON:
        # SQLite's is a text, PostgreSQL's part of the whole.
        if isinstance(values[name], str):
            values[name] = json.loads(values[name])
    for name in _TIMES:
        if values[name] is not None:
            values[name] = sql.parse_time(values[name])
    values["credentials"] = Olt._meta.get_field("credentials").from_db_value(values["credentials"])
    built = _build_olt(values)
    built.brand = Brand(id=built.brand_id, name=brand)
    jobs = [] if node_id is None else members_to_ask(node_id, json.loads(nodes))
    return ExecutionSubject(built, jobs, onu_id, oid_state)


def _build_olt(values: dict[str, Any]) -> Olt:
    names = _loaded_columns()
    return Olt.from_db(connection.alias, names, [values[name] for name in names])


@cache
def _loaded_columns() -> Sequence[str]:
    """Return the names in the order of the model's fields, as Django wants them."""
    return [field.attname for field in Olt._meta.concrete_fields if field.attname in _OLT_COLUMNS]


def _subject(execution: str) -> str:
    """Return the columns of a subject: subqueries, which may also stand after RETURNING on both databases."""
    names = sql.json_functions()
    columns = ", ".join(f"o.{column}" for column in _OLT_COLUMNS)
    of_olt = f"FROM olts o WHERE o.id = {execution}.olt_id"
    return (
        f"{execution}.onu_id,"  # noqa: S608  our own names
        f" (SELECT b.name FROM olts o JOIN brands b ON b.id = o.brand_id WHERE o.id = {execution}.olt_id)"
        f" AS brand, (SELECT {names['row']}({columns}) {of_olt}) AS olt,"
        f" (SELECT {names['array']}({names['row']}({', '.join(NODE_COLUMNS)}))"
        f" FROM snmp_job_hosts n JOIN snmp_jobs j ON j.id = n.job_id WHERE n.olt_id = {execution}.olt_id)"
        f" AS nodes, ({oid_state_statement(f'(SELECT o.brand_id {of_olt})')}) AS oid_state"
    )


_TAKEN_COLUMNS: Final = "olt_id, node_id, slot, queued_at, attempt, started_at"


@cache
def _embedded_statement() -> str:
    return (
        "UPDATE snmp_executions SET state = 'RUNNING', why_late = '', blocked_by_id = NULL,"  # noqa: S608
        " delay_ms = MAX(0, CAST(ROUND((julianday(%s) - julianday(slot)) * 86400000.0) AS INTEGER)),"
        " lease_token = wanted.token, lease_expires_at = %s, started_at = %s, worker = %s,"
        f" attempt = attempt + 1 FROM {_wanted()} AS wanted"
        " WHERE snmp_executions.id = wanted.id AND state = 'PENDING'"
        f" RETURNING id, {_TAKEN_COLUMNS}, {_subject('snmp_executions')}"
    )


@cache
def _server_statement() -> str:
    """Return the statement with the attempts in it: one message, which is a transaction of its own."""
    return (
        "WITH given AS (SELECT COALESCE(%s::timestamptz, clock_timestamp()) AS now, %s::interval AS lease,"  # noqa: S608
        f" %s::text AS worker), wanted AS {_wanted()},"
        " taken AS (UPDATE snmp_executions e SET state = 'RUNNING', why_late = '', blocked_by_id = NULL,"
        " delay_ms = GREATEST(0, ROUND(EXTRACT(EPOCH FROM given.now - slot) * 1000)),"
        " lease_token = wanted.token, lease_expires_at = given.now + given.lease, started_at = given.now,"
        " worker = given.worker, attempt = attempt + 1"
        " FROM given CROSS JOIN wanted WHERE e.id = wanted.id AND state = 'PENDING'"
        f" RETURNING e.id, e.worker, {_TAKEN_COLUMNS}, {_subject('e')}),"
        " counted AS (INSERT INTO execution_attempts (execution_id, number, started_at, worker, error)"
        " SELECT id, attempt, started_at, worker, '' FROM taken RETURNING id AS run_id, execution_id)"
        f" SELECT taken.id, run_id, {_TAKEN_COLUMNS}, onu_id, brand, olt, nodes, oid_state"
        " FROM taken JOIN counted ON counted.execution_id = taken.id"
    )


def _wanted() -> str:
    return sql.given_rows(id="bigint", token="text")  # noqa: S106  a type


_NEW_ATTEMPT: Final = (
    "INSERT INTO execution_attempts (execution_id, number, started_at, worker, error)"
    " VALUES (%s, %s, %s, %s, '') RETURNING id"
)
_WHY_LATE: Final = "UPDATE snmp_executions SET why_late = %s, blocked_by_id = %s WHERE id = %s"
