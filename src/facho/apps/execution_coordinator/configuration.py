"""What people have configured for each OLT now, and what it was when the coordinator last looked."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from facho.apps.db import sql
from facho.apps.execution_coordinator.models import OltConfiguration
from facho.core.changes import (
    Device,
    OltState,
    decode_state,
    encode_job,
    encode_state_of_tasks,
    encode_task,
    fingerprint,
)

Written = Mapping[int, str]


def configured_states(olt_ids: Sequence[int] | None = None) -> dict[int, str]:
    """The canonical form of each OLT's state; of all, if none are named. Four queries, however many OLTs."""
    jobs = _jobs()
    tasks: dict[int, list[str]] = defaultdict(list)
    for olt_id, node_id, job_id, enabled, interval_s, priority in _of(_NODES, "n.olt_id", olt_ids):
        job_on, job_interval_s, job_priority, job = jobs[job_id]
        own = interval_s if interval_s is not None else job_interval_s
        rank = priority if priority is not None else job_priority
        tasks[olt_id].append(encode_task(node_id, bool(enabled) and job_on, own, rank, job))
    return {
        olt_id: encode_state_of_tasks(Device(bool(enabled), *device), tasks.get(olt_id, ()))
        for olt_id, enabled, *device in _of(_OLTS, "o.id", olt_ids)
    }


def _of(statement: str, column: str, olt_ids: Sequence[int] | None) -> list[sql.Row]:
    if olt_ids is None:
        return sql.fetch_rows(statement.format(""), [])
    if not olt_ids:
        return []
    places = ", ".join(["%s"] * len(olt_ids))
    return sql.fetch_rows(statement.format(f" WHERE {column} IN ({places})"), olt_ids)


def _jobs() -> dict[int, tuple[bool, int, int, str]]:
    """Whether it is on, its interval and priority, and what a task has of it as it is written."""
    oids: dict[int, list[str]] = defaultdict(list)
    for job_id, oid in sql.fetch_rows(_OIDS, []):
        oids[job_id].append(oid)
    found = {}
    for enabled, interval_s, priority, facts, job_id, *job in sql.fetch_rows(_JOBS, []):
        asked = tuple(map(str, json.loads(facts))), tuple(oids.get(job_id, ()))
        found[job_id] = bool(enabled), interval_s, priority, encode_job((job_id, *job, *asked))
    return found


_NODES: Final = (
    "SELECT n.olt_id, n.id, n.job_id, n.enabled, n.interval_s, n.priority FROM snmp_job_hosts n{}"
    " ORDER BY n.id"
)
_OLTS: Final = (
    "SELECT o.id, o.enabled, o.name, b.name, COALESCE(m.name, ''), o.address, o.port, o.snmp_version, o.site,"
    " o.max_in_flight, o.max_varbinds, o.max_requests_per_second, o.shortest_interval_s"
    " FROM olts o JOIN brands b ON b.id = o.brand_id LEFT JOIN olt_models m ON m.id = o.model_id{}"
)
_JOBS: Final = (
    "SELECT enabled, interval_s, priority, facts, id, name, kind, task_type, master_id, max_attempts,"
    " retry_delay_s FROM snmp_jobs"
)
_OIDS: Final = (
    "SELECT x.job_id, i.oid FROM snmp_job_oids x JOIN oids i ON i.id = x.oid_id ORDER BY x.job_id, i.oid"
)


def changed_olts(now: Written) -> list[int]:
    """The OLTs whose fingerprint is another one than at the last look, or which were never looked at."""
    known = dict(OltConfiguration.objects.values_list("olt_id", "fingerprint"))
    return sorted(olt_id for olt_id, text in now.items() if known.get(olt_id) != fingerprint(text))


def remembered_states(olt_ids: Sequence[int]) -> dict[int, OltState | None]:
    """None for what cannot be read any more; nothing for an OLT that was never looked at."""
    rows = OltConfiguration.objects.filter(olt__in=olt_ids).values_list("olt_id", "state")
    return {olt_id: decode_state(text) for olt_id, text in rows}


def mark_changed(olt_ids: Sequence[int]) -> None:
    """The next step finds that something is different, and plans these OLTs anew."""
    OltConfiguration.objects.filter(olt__in=olt_ids).update(fingerprint="")


def remember_states(states: Written, now: datetime) -> None:
    """A state that is the same keeps the time at which it was changed."""
    known = dict(OltConfiguration.objects.filter(olt__in=states).values_list("olt_id", "state"))
    rows = [
        OltConfiguration(olt_id=olt_id, fingerprint=fingerprint(text), state=text, changed_at=now)
        for olt_id, text in sorted(states.items())
    ]
    _write([row for row in rows if known.get(row.olt_id) != row.state], "fingerprint", "state", "changed_at")
    _write([row for row in rows if known.get(row.olt_id) == row.state], "fingerprint")


def _write(rows: list[OltConfiguration], *columns: str) -> None:
    OltConfiguration.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["olt"], update_fields=columns, batch_size=1000
    )
