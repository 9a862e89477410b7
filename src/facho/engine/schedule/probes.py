"""Probes suspended OLTs and nodes: one cheap request, rarely."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.db.database import Clock
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_closed_at
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.execution_end import probe_after
from facho.engine.collect.identify import probe as probe_olt
from facho.engine.collect.work_builder import first_column, target_of
from facho.engine.events.types import OltReachable
from facho.engine.process.loops import run_loop_when_due
from facho.engine.record.olt_state import request_replan
from facho.engine.record.suspension import resume_node, resume_olt
from facho.engine.schedule.runner import Runtime, SnmpTask
from facho.keys import KeyProblem
from facho.snmp import Client, Oid, SnmpError, Target

log = logging.getLogger(__name__)

# A broken line suspends hundreds of OLTs, and each silent one takes a timeout: never one by one.
AT_ONCE: Final = 50
# Between two turns while probes are due: not all of them can be made at once, or now.
_PAUSE: Final = timedelta(seconds=1)
# Others may suspend something meanwhile, and a person who wants a probe now waits for it.
_LONGEST_WAIT: Final = timedelta(seconds=1)
_NONE: Final = timedelta()
_EARLIEST: Final = (
    "SELECT MIN(next_probe_at) FROM olts WHERE next_probe_at IS NOT NULL"
    " UNION ALL SELECT MIN(next_probe_at) FROM snmp_job_hosts WHERE next_probe_at IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One request to a suspended OLT, or for the first column of a suspended node."""

    target: Target
    olt_id: int
    node_id: int | None = None
    column: str | None = None


def claim_due_probes(now: datetime, config: Config) -> list[Probe]:
    """Claim due probes, as many as are made at once: other processes find them planned for later."""
    # OLTs under maintenance are probed afterwards.
    closed = olts_closed_at(now, config.time_zone)
    olts = Olt.objects.filter(next_probe_at__lte=now, enabled=True).exclude(id__in=closed)
    found = list(_claim_each(olts.order_by("next_probe_at")[:AT_ONCE], now, config))
    nodes = SnmpJobHost.objects.filter(
        next_probe_at__lte=now, enabled=True, job__enabled=True, olt__suspended_reason="", olt__enabled=True
    )
    nodes = nodes.exclude(olt__in=closed).select_related("job", "olt__brand", "olt__model")
    left = AT_ONCE - len(found)
    return found + list(_claim_each(nodes.order_by("next_probe_at")[:left], now, config))


def _claim_each(
    suspended_rows: Iterable[Olt | SnmpJobHost], now: datetime, config: Config
) -> Iterator[Probe]:
    for each in suspended_rows:
        if not _claim(each, now, config):
            continue
        try:
            yield _probe_of(each, config)
        except KeyProblem as problem:
            olt_id = each.id if isinstance(each, Olt) else each.olt_id
            log.error(
                "probe not possible",
                extra={"action": "not_probed", "olt_id": olt_id, "error": str(problem)},
            )


def _probe_of(suspended: Olt | SnmpJobHost, config: Config) -> Probe:
    if isinstance(suspended, Olt):
        return Probe(target_of(suspended, config), suspended.id)
    target = target_of(suspended.olt, config)
    return Probe(target, suspended.olt_id, suspended.id, first_column(suspended))


def _claim(suspended: Olt | SnmpJobHost, now: datetime, config: Config) -> bool:
    """Plan the next probe, as if this one failed. Return False when another process claimed it."""
    failed = suspended.failed_probes + 1
    claimed = (
        type(suspended)
        .objects.filter(id=suspended.id, next_probe_at=suspended.next_probe_at)
        .update(failed_probes=failed, next_probe_at=now + probe_after(failed, waits=config.probe_after))
    )
    return claimed == 1


def run_probe_loop(runtime: Runtime, stopping: threading.Event) -> None:
    config = runtime.config

    def step() -> timedelta:
        now = runtime.clock()
        wait = wait_for_probe(now, config)
        if wait > _NONE:
            return wait
        due = claim_due_probes(now, config)
        run_probes(due, SnmpTask(runtime.snmp).run, runtime.snmp.probe_client, runtime.clock, config)
        return _PAUSE

    run_loop_when_due("probes", step, _PAUSE, stopping)


def wait_for_probe(now: datetime, config: Config) -> timedelta:
    """Return how long no probe is due: one statement, which every process makes all the time."""
    longest = min(_LONGEST_WAIT, *config.probe_after)
    planned = [sql.parse_time(earliest) for (earliest,) in sql.fetch_rows(_EARLIEST, []) if earliest]
    return min([longest, *(at - now for at in planned)])


def run_probes(
    probes: Sequence[Probe],
    run: Callable[[Coroutine[Any, Any, list[bool]]], list[bool]],
    client: Client,
    clock: Clock,
    config: Config,
) -> list[bool]:
    """Return which of them answered; those are resumed, if they may resume by themselves."""
    if not probes:
        return []
    connection.close()
    answers = run(_ask_all(client, probes))
    now = clock()
    for each, answered in zip(probes, answers, strict=True):
        if answered:
            record_answer(each, now, config)
        log.info(
            "probed",
            extra={
                "action": "probed",
                "olt_id": each.olt_id,
                "node_id": each.node_id,
                "answered": answered,
            },
        )
    return answers


def record_answer(probe: Probe, now: datetime, config: Config) -> None:
    """Store that the OLT is reachable, and resume what was suspended."""
    with sql.write_transaction():
        away = Olt.objects.filter(id=probe.olt_id, unreachable_since__isnull=False)
        since = away.values_list("unreachable_since", flat=True).first()
        back = probe.node_id is None and away.update(reachable=True, unreachable_since=None)
        if config.come_back:
            resume_olt(probe.olt_id, now)
            if probe.node_id is not None:
                resume_node(probe.node_id, now)
        if back:
            request_replan(OltReachable(olt_id=probe.olt_id, since=since), now)


async def _ask_all(client: Client, probes: Sequence[Probe]) -> list[bool]:
    return await asyncio.gather(*(_ask(client, each) for each in probes))


async def _ask(client: Client, each: Probe) -> bool:
    try:
        if each.column is None:
            await probe_olt(client, each.target)
        else:
            agent = await client.agent(each.target)
            await agent.first_row(Oid.parse(each.column))
    except SnmpError:
        return False
    return True
