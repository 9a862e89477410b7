"""The first results of a new OLT, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Q

from facho.apps.discovery.models import Onu
from facho.apps.executions.models import Execution, State
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.reasons import NO_REASON, Reason

_OPEN: Final = (State.WAITING, State.PENDING, State.RUNNING)
# A waiting execution with an error is retried.
_WITH_ERROR: Final = (State.FAILED, State.WAITING)


@dataclass(frozen=True, slots=True)
class JobProgress:
    job: str
    # The state of its last execution; empty before the first.
    state: str
    error: Reason
    # While it waits for its slot.
    next_run_at: datetime | None


@dataclass(frozen=True, slots=True)
class FirstResults:
    now: datetime
    onus: int
    online: int
    with_power: int
    runs: tuple[JobProgress, ...]


def read_first_onus(olt_id: int, now: datetime) -> FirstResults:
    counted = Onu.objects.filter(olt=olt_id).aggregate(
        onus=Count("id"),
        online=Count("id", filter=Q(state="online")),
        with_power=Count("id", filter=Q(onu_rx_dbm__isnull=False)),
    )
    return FirstResults(now=now, runs=tuple(_job_progress(olt_id)), **counted)


def _job_progress(olt_id: int) -> Iterator[JobProgress]:
    nodes = SnmpJobHost.objects.filter(olt=olt_id).select_related("job").order_by("-job__priority", "id")
    last = _last_executions(olt_id)
    for node in nodes:
        execution = last.get(node.id)
        yield JobProgress(
            node.job.name,
            execution.state if execution else "",
            execution.error if execution and execution.state in _WITH_ERROR else NO_REASON,
            None if execution and execution.state in _OPEN else node.next_run_at,
        )


def _last_executions(olt_id: int) -> dict[int, Execution]:
    """Return the last execution of each node. A new OLT has few executions."""
    rows = Execution.objects.filter(olt=olt_id, node__isnull=False).order_by("-id")
    found: dict[int, Execution] = {}
    for row in rows.only("node_id", "state", "error")[:200]:
        if row.node_id is not None:
            found.setdefault(row.node_id, row)
    return found
