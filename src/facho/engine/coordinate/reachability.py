"""Replans an OLT at once when it stops answering, answers again, or fails too often."""

from __future__ import annotations

from datetime import datetime

from facho.apps.db import sql
from facho.apps.execution_coordinator.store import mark_changed
from facho.apps.hosts.models import Olt
from facho.core.execution_end import OltAfter, OltBefore, ReplanReason
from facho.core.reasons import NO_REASON, Reason
from facho.engine.events.stream import publish
from facho.engine.events.types import EmergencyReplan, OltFailing, OltReachable, OltUnreachable


def update_reachability(
    olt_id: int, before: OltBefore, after: OltAfter, now: datetime, *, error: Reason = NO_REASON
) -> None:
    """Count failures in a row, and replan and report an OLT that went away, is back or fails too often.

    In the transaction that ends an attempt, after everything else. `error` is why the OLT is silent.
    """
    failures = after.failed_in_a_row
    if failures != before.failed_in_a_row:
        sql.update_row(Olt, olt_id, {"failed_in_a_row": failures})
    match after.replan:
        case ReplanReason.UNREACHABLE:
            request_replan(OltUnreachable(olt_id=olt_id, failures=failures, reason=error), now)
        case ReplanReason.BACK:
            request_replan(OltReachable(olt_id=olt_id, failures=failures, since=before.away_since), now)
        case ReplanReason.FAILURES:
            request_replan(OltFailing(olt_id=olt_id, failures=failures), now)


def request_replan(event: EmergencyReplan, now: datetime) -> None:
    """Have the coordinator plan the OLT of this event at its next step; in the caller's transaction."""
    mark_changed([event.olt_id])
    publish(event, now)
