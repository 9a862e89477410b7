"""Reads of remote write: how far it is behind, and what became of all samples."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Max, Min, Q

from facho.apps.remote_write.models import RemoteWriteCursor, RemoteWriteTotals

# An OLT without new collections counts as sent until so long ago: what is being stored may be as old.
QUIET: Final = timedelta(minutes=5)
# OLTs that are further behind wait for the receiver.
BEHIND: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class RemoteWriteState:
    """What became of all samples, and how far the last OLT is behind."""

    sent: int = 0
    too_old: int = 0
    refused: int = 0
    unreadable: int = 0
    last_success_at: datetime | None = None
    failing_since: datetime | None = None
    problem: str = ""
    refusal: str = ""
    refused_at: datetime | None = None
    backlog: timedelta = timedelta()
    olts_behind: int = 0
    # When the OLT is due that a sender had last: long ago while no sender runs, whatever waits for a turn.
    last_due_at: datetime | None = None

    @property
    def dropped(self) -> dict[str, int]:
        return {"too_old": self.too_old, "refused": self.refused, "unreadable": self.unreadable}


def read_remote_write(now: datetime) -> RemoteWriteState:
    """Read it in two queries."""
    totals = RemoteWriteTotals.objects.first() or RemoteWriteTotals()
    found = RemoteWriteCursor.objects.aggregate(
        oldest=Min("sent_to"), due=Max("due_at"), behind=Count("id", filter=Q(sent_to__lt=now - BEHIND))
    )
    oldest = found["oldest"]
    return RemoteWriteState(
        totals.sent,
        totals.too_old,
        totals.refused,
        totals.unreadable,
        totals.last_success_at,
        totals.failing_since,
        totals.problem,
        totals.refusal,
        totals.refused_at,
        timedelta() if oldest is None else max(timedelta(), now - oldest),
        found["behind"],
        found["due"],
    )
