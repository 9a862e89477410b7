"""Asks what was suspended, rarely and cheaply, whether it answers again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.retry import probe_after
from facho.engine.clock import database_now
from facho.engine.identify import probe
from facho.engine.planning import first_column
from facho.engine.suspension import come_back
from facho.engine.targets import target_of
from facho.snmp import Client, Oid, SnmpError, Target

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Probe:
    """One question for a suspended OLT, or for the first column of a suspended node."""

    target: Target
    olt_id: int
    node_id: int | None = None
    column: str | None = None


def due_probes(now: datetime, config: Config) -> list[Probe]:
    """Claims them: whoever else looks finds them planned for later."""
    found = [
        Probe(target_of(olt, config), olt.id)
        for olt in Olt.objects.filter(next_probe_at__lte=now, enabled=True)
        if _claim(olt, now, config)
    ]
    nodes = SnmpJobHost.objects.filter(
        next_probe_at__lte=now, olt__suspended_reason="", olt__enabled=True
    ).select_related("job", "olt__brand", "olt__model")
    return found + [
        Probe(target_of(node.olt, config), node.olt_id, node.id, first_column(node))
        for node in nodes
        if _claim(node, now, config)
    ]


def _claim(suspended: Olt | SnmpJobHost, now: datetime, config: Config) -> bool:
    """Takes it for granted that the probe fails: then the next one is planned already."""
    failed = suspended.failed_probes + 1
    claimed = (
        type(suspended)
        .objects.filter(id=suspended.id, next_probe_at=suspended.next_probe_at)
        .update(failed_probes=failed, next_probe_at=now + probe_after(failed, waits=config.probe_after))
    )
    return claimed == 1


def run_probe(
    each: Probe, run: Callable[[Coroutine[Any, Any, bool]], bool], client: Client, config: Config
) -> bool:
    """Whether it answered; it is back then, if it may come back by itself."""
    connection.close()
    answered = run(_ask(client, each))
    now = database_now()
    if answered and each.node_id is None:
        Olt.objects.filter(id=each.olt_id).update(reachable=True, unreachable_since=None)
    if answered and config.come_back:
        come_back(now, olt_id=each.olt_id, node_id=each.node_id)
    log.info(
        "probed",
        extra={
            "action": "probed",
            "olt_id": each.olt_id,
            "node_id": each.node_id,
            "answered": answered,
        },
    )
    return answered


async def _ask(client: Client, each: Probe) -> bool:
    try:
        if each.column is None:
            await probe(client, each.target)
        else:
            agent = await client.agent(each.target)
            await agent.first_row(Oid.parse(each.column))
    except SnmpError:
        return False
    return True
