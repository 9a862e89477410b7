"""Suspends OLTs and nodes that failed too often, and resumes them.

A silent agent suspends its OLT, any other failure its node. Slots are skipped meanwhile, with that reason.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from facho.apps.db.sql import update_rows
from facho.apps.execution_coordinator.store import mark_changed
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import enabled_nodes
from facho.config import Config
from facho.core.delay import Why
from facho.core.reasons import Reason
from facho.core.schedule import first_run_of_enabled
from facho.engine.coordinate.quotas import count_aborted_slots, slot_from_row
from facho.engine.events.coordinator_log import log_ended_executions
from facho.engine.events.stream import publish
from facho.engine.events.types import NodeResumed, NodeSuspended, OltResumed, OltSuspended


def suspend_olt(olt: Olt, reason: Reason, now: datetime, probe_in: timedelta, config: Config) -> None:
    """Suspend the OLT, and abort its executions that wait, except those that a person asked for."""
    Olt.objects.filter(id=olt.id).update(
        suspended_reason=reason, suspended_at=now, next_probe_at=now + probe_in
    )
    waiting = Execution.objects.filter(olt=olt.id, state=State.WAITING, run_now=False)
    rows = list(waiting.select_for_update(no_key=True).values_list("id", "slot", "owes"))
    waiting.filter(id__in=[row[0] for row in rows]).update(
        state=State.ABORTED, ended_at=now, error=Reason.of("olt_suspended", why=reason)
    )
    slots = [slot_from_row(olt.id, slot, owes) for _, slot, owes in rows]
    count_aborted_slots(slots, reason, now, config, why=Why.OLT_UNREACHABLE)
    log_ended_executions([row[0] for row in rows])
    publish(OltSuspended(olt_id=olt.id, reason=reason), now)


def suspend_node(node: SnmpJobHost, reason: Reason, now: datetime, probe_in: timedelta) -> None:
    SnmpJobHost.objects.filter(id=node.id).update(
        suspended_reason=reason, suspended_at=now, next_probe_at=now + probe_in
    )
    event = NodeSuspended(olt_id=node.olt_id, node_id=node.id, job=node.job.name, reason=reason)
    publish(event, now)


def resume_olt(olt_id: int, now: datetime, *, proven: bool = False) -> None:
    """Resume the OLT if it is suspended: its nodes run after one full interval, as if enabled now.

    Only a run that succeeded proves that it works (`proven`). After an answer to a probe alone, the next
    suspension is probed as rarely as this one was.
    """
    if Olt.objects.filter(id=olt_id).exclude(suspended_reason="").update(**_resumed(proven)):
        _replan_nodes(now, SnmpJobHost.objects.filter(olt=olt_id))
        publish(OltResumed(olt_id=olt_id), now)


def resume_node(node_id: int, now: datetime, *, proven: bool = False) -> bool:
    """Resume the node if it is suspended, by the rules of `resume_olt`, after which it comes."""
    node = SnmpJobHost.objects.filter(id=node_id)
    if not node.exclude(suspended_reason="").update(**_resumed(proven)):
        return False
    _replan_nodes(now, node)
    for back in node.select_related("job"):
        publish(NodeResumed(olt_id=back.olt_id, node_id=back.id, job=back.job.name), now)
    return True


def resume_after_success(olt_id: int, node_id: int | None, now: datetime) -> None:
    """Resume what a run has proven to work, and forget failed probes.

    Those of an OLT that was not suspended itself stay while it was its node that had to be resumed.
    """
    resume_olt(olt_id, now, proven=True)
    if node_id is not None:
        if resume_node(node_id, now, proven=True):
            return
        SnmpJobHost.objects.filter(id=node_id).exclude(failed_probes=0).update(failed_probes=0)
    Olt.objects.filter(id=olt_id).exclude(failed_probes=0).update(failed_probes=0)


def _resumed(proven: bool) -> dict[str, Any]:
    cleared = {"suspended_reason": "", "suspended_at": None, "next_probe_at": None}
    return {**cleared, "failed_probes": 0} if proven else cleared


def _replan_nodes(now: datetime, nodes: QuerySet[SnmpJobHost]) -> None:
    """Plan the next run of the nodes that have a grid of their own; chained nodes have none."""
    rows = (
        enabled_nodes()
        .filter(id__in=nodes, next_run_at__isnull=False)
        .select_for_update(of=("self",), no_key=True)
        .values_list("id", "olt_id", Coalesce("interval_s", "job__interval_s"))
    )
    planned = [(node, first_run_of_enabled(now, timedelta(seconds=seconds))) for node, _, seconds in rows]
    update_rows(SnmpJobHost, ["next_run_at"], planned)
    # Left to the coordinator's next step: the run that resumes them must be counted before pending slots are.
    mark_changed(sorted({olt for _, olt, _ in rows}))
