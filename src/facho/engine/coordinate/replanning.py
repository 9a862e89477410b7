"""What has an OLT planned anew at once: it went away, it is back, or too much fails on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F

from facho.apps.db import sql
from facho.apps.execution_coordinator.configuration import look_again
from facho.apps.executions.models import State
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.engine.collect.work import Collection
from facho.engine.events.stream import publish
from facho.engine.events.types import EmergencyReplan, OltFailing, OltReachable, OltUnreachable


@dataclass(frozen=True, slots=True)
class OltBefore:
    """What an OLT was like before an execution ended."""

    olt_id: int
    away_since: datetime | None
    failed_in_a_row: int

    @property
    def away(self) -> bool:
        return self.away_since is not None


def update_reachability(
    before: OltBefore,
    state: State,
    collection: Collection | None,
    now: datetime,
    config: Config,
    *,
    counts: bool = True,
) -> None:
    """In the transaction that ends an attempt, after everything else. `collection` is what was answered.

    If it does not count, it is no collection of the OLT, and says only whether that answers.
    """
    failures = before.failed_in_a_row
    if counts and state in (State.SUCCESS, State.FAILED):
        failures = failures + 1 if state is State.FAILED else 0
    if failures != before.failed_in_a_row:
        sql.update_row(Olt, before.olt_id, {"failed_in_a_row": failures})
    event: EmergencyReplan | None = _reachability_event(before, collection, failures)
    if event is None and state is State.FAILED and counts and failures == config.emergency_failures:
        event = OltFailing(olt_id=before.olt_id, failures=failures)
    if event is not None:
        request_replan(event, now)


def _reachability_event(
    before: OltBefore, collection: Collection | None, failures: int
) -> EmergencyReplan | None:
    if collection is None or not collection.was_asked or collection.silent == before.away:
        return None
    if not collection.silent:
        return OltReachable(olt_id=before.olt_id, failures=failures, since=before.away_since)
    reason = next((part.error for part in collection.parts if part.silent), "")
    return OltUnreachable(olt_id=before.olt_id, failures=failures, reason=reason)


def note_lost(olt_id: int, now: datetime, config: Config) -> None:
    """Count an execution that failed for good because its process is gone."""
    Olt.objects.filter(id=olt_id).update(failed_in_a_row=F("failed_in_a_row") + 1)
    failures = Olt.objects.values_list("failed_in_a_row", flat=True).get(id=olt_id)
    if failures == config.emergency_failures:
        request_replan(OltFailing(olt_id=olt_id, failures=failures), now)


def request_replan(event: EmergencyReplan, now: datetime) -> None:
    """Have the coordinator plan the OLT of this event at its next step; in the caller's transaction."""
    look_again([event.olt_id])
    publish(event, now)
