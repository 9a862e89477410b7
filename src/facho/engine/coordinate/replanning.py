"""What has an OLT planned anew at once: it went away, it is back, or too much fails on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import F

from facho.apps.db import sql
from facho.apps.execution_coordinator.configuration import look_again
from facho.apps.executions.models import State
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.notifications import NotificationKind
from facho.core.severity import Severity
from facho.engine.collect.work import Collection
from facho.engine.events.journal import journal
from facho.engine.events.notices import tell

UNREACHABLE: Final = "unreachable"
BACK: Final = "back"
FAILURES: Final = "failures"


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
    why = _why(before, collection)
    if why is None and state is State.FAILED and counts and failures == config.emergency_failures:
        why = FAILURES
    if why is not None:
        plan_anew(before.olt_id, why, now, failures=failures)
    if why == UNREACHABLE:
        assert collection is not None
        _tell_down(before.olt_id, now, collection)
    elif why == BACK:
        tell_up(before.olt_id, now, before.away_since)


def _tell_down(olt_id: int, now: datetime, collection: Collection) -> None:
    """Once: that it is suspended later, because it stays silent, is no news."""
    reason = next((part.error for part in collection.parts if part.silent), "")
    tell(
        now, NotificationKind.OLT_DOWN, severity=Severity.CRITICAL, olt_id=olt_id, details={"reason": reason}
    )


def tell_up(olt_id: int, now: datetime, since: datetime | None) -> None:
    tell(now, NotificationKind.OLT_UP, severity=Severity.CRITICAL, olt_id=olt_id, details={"since": since})


def _why(before: OltBefore, collection: Collection | None) -> str | None:
    if collection is None or not collection.was_asked:
        return None
    if collection.silent:
        return None if before.away else UNREACHABLE
    return BACK if before.away else None


def note_lost(olt_id: int, now: datetime, config: Config) -> None:
    """An execution failed for good whose process is gone."""
    Olt.objects.filter(id=olt_id).update(failed_in_a_row=F("failed_in_a_row") + 1)
    failures = Olt.objects.values_list("failed_in_a_row", flat=True).get(id=olt_id)
    if failures == config.emergency_failures:
        plan_anew(olt_id, FAILURES, now, failures=failures)


def plan_anew(olt_id: int, why: str, now: datetime, *, failures: int = 0) -> None:
    """The coordinator does so at its next step; in the caller's transaction."""
    look_again([olt_id])
    journal.emergency_replan(now, olt_id, why=why, failures=failures)
