"""Writes of remote write: positions of OLTs, and totals. Each is one short transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.db.database import row_lock
from facho.apps.history.store import HOUR, hour_of
from facho.apps.remote_write.models import RemoteWriteTotals

_TOTALS: Final = 1
_LONGEST_PROBLEM: Final = 300
# A claim that ends later than this was made before the clock was set back.
_LONGEST_CLAIM: Final = timedelta(hours=1)
_EVER: Final = timedelta(days=36500)
# Positions are exact to this.
MOMENT: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A claimed OLT: what of it was sent, since when it has been due, and how far it may be sent now."""

    olt_id: int
    sent_to: datetime
    states_sent_to: datetime
    due_at: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of samples."""

    sent: int = 0
    too_old: int = 0
    refused: int = 0
    unreadable: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.sent + other.sent,
            self.too_old + other.too_old,
            self.refused + other.refused,
            self.unreadable + other.unreadable,
        )


def next_hour(sent_to: datetime) -> datetime:
    """Return the hour of the first moment that was not sent."""
    return hour_of(sent_to + MOMENT)


def add_new_olts(now: datetime) -> None:
    """Begin with OLTs that are not known yet: only what is collected from now on is sent."""
    if not sql.fetch_rows(_IS_NEW, []):
        return
    moment = sql.db_time(now)
    places = sql.typed_places(*["timestamptz"] * 3)
    with sql.write_transaction():
        sql.execute(_ADD.format(places), [moment] * 3)


_IS_NEW: Final = (
    "SELECT 1 FROM olts o WHERE NOT EXISTS"
    " (SELECT 1 FROM remote_write_cursors c WHERE c.olt_id = o.id) LIMIT 1"
)
_ADD: Final = (
    "INSERT INTO remote_write_cursors (olt_id, sent_to, states_sent_to, due_at, claim)"
    " SELECT id, {}, '' FROM olts o WHERE NOT EXISTS"
    " (SELECT 1 FROM remote_write_cursors c WHERE c.olt_id = o.id) ON CONFLICT DO NOTHING"
)


def claim_olts(now: datetime, token: str, until: datetime, most: int) -> list[Cursor]:
    """Claim the OLTs that have been due longest. Nobody else claims them before `until`.

    After an outage, no OLT begins an hour before all are done with the one before: many receivers refuse what
    is an hour older than the newest that they have.
    """
    values = [sql.db_time(now), sql.db_time(now + _LONGEST_CLAIM)]
    limit = _first_not_yet(now, values)
    due = sql.fetch_rows(_DUE, [*values, sql.db_time(limit), most])
    if not due:
        return []
    marks = ", ".join(["%s"] * len(due))
    moments = {olt_id: sql.parse_time(due_at) for olt_id, due_at in due}
    with sql.write_transaction():
        rows = sql.fetch_rows(
            _CLAIM.format(marks, row_lock(skip_locked=True)),
            [sql.db_time(until), token, *moments, *values],
        )
    return [
        Cursor(olt_id, sql.parse_time(sent_to), sql.parse_time(states), moments[olt_id], limit)
        for olt_id, sent_to, states in sorted(rows)
    ]


def _first_not_yet(now: datetime, values: Sequence[Any]) -> datetime:
    """Return the position from which on OLTs wait for others that are sent or due."""
    ((found,),) = sql.fetch_rows(_OLDEST, values)
    oldest = now if found is None else sql.parse_time(found)
    if now - oldest < HOUR:
        return now + _EVER
    return next_hour(oldest) + HOUR - MOMENT


_IS_DUE: Final = "(due_at <= %s OR due_at > %s)"
_OLDEST: Final = f"SELECT MIN(sent_to) FROM remote_write_cursors WHERE claim <> '' OR {_IS_DUE}"  # noqa: S608
_DUE: Final = (
    f"SELECT olt_id, due_at FROM remote_write_cursors WHERE {_IS_DUE} AND sent_to < %s"  # noqa: S608
    " ORDER BY due_at LIMIT %s"
)
_CLAIM: Final = (
    "UPDATE remote_write_cursors SET due_at = %s, claim = %s WHERE id IN"  # noqa: S608 - our own words
    f" (SELECT id FROM remote_write_cursors WHERE olt_id IN ({{}}) AND {_IS_DUE}{{}})"
    " RETURNING olt_id, sent_to, states_sent_to"
)


def extend_claims(token: str, until: datetime) -> None:
    with sql.write_transaction():
        sql.execute(
            "UPDATE remote_write_cursors SET due_at = %s WHERE claim = %s", [sql.db_time(until), token]
        )


def release_claims(token: str, due_at: datetime) -> None:
    """Give back the OLTs of which not all was sent."""
    with sql.write_transaction():
        sql.execute(
            "UPDATE remote_write_cursors SET due_at = %s, claim = '' WHERE claim = %s",
            [sql.db_time(due_at), token],
        )


def store_progress(token: str, cursors: Sequence[Cursor], counts: Counts, sent_at: datetime | None) -> None:
    """Store how far the claimed OLTs were sent, except those that others have claimed meanwhile."""
    with sql.write_transaction():
        for each in cursors:
            moments = map(sql.db_time, (each.sent_to, each.states_sent_to, each.due_at))
            sql.execute_prepared(_MOVE, [*moments, each.olt_id, token])
        _count(counts, sent_at)


_MOVE: Final = (
    "UPDATE remote_write_cursors SET sent_to = %s, states_sent_to = %s, due_at = %s, claim = ''"
    " WHERE olt_id = %s AND claim = %s"
)


def _count(counts: Counts, sent_at: datetime | None) -> None:
    numbers = [counts.sent, counts.too_old, counts.refused, counts.unreadable]
    if sent_at is not None:
        _update_totals(_COUNT + _SUCCEEDED, [*numbers, sql.db_time(sent_at)])
    elif any(numbers):
        _update_totals(_COUNT, numbers)


_COUNT: Final = (
    "sent = sent + %s, too_old = too_old + %s, refused = refused + %s, unreadable = unreadable + %s"
)
_SUCCEEDED: Final = ", last_success_at = %s, failing_since = NULL, problem = ''"


def store_failure(now: datetime, problem: str) -> None:
    """Store why the receiver takes nothing."""
    with sql.write_transaction():
        _update_totals(
            "failing_since = COALESCE(failing_since, %s), problem = %s",
            [sql.db_time(now), sql.db_text(problem, _LONGEST_PROBLEM)],
        )


def store_refusal(now: datetime, reason: str) -> None:
    """Store why the receiver did not want some samples."""
    with sql.write_transaction():
        _update_totals(
            "refused_at = %s, refusal = %s", [sql.db_time(now), sql.db_text(reason, _LONGEST_PROBLEM)]
        )


def _update_totals(change: str, values: Sequence[Any]) -> None:
    statement = f"UPDATE remote_write_totals SET {change} WHERE id = {_TOTALS}"  # noqa: S608 - our own words
    if not sql.execute(statement, values):
        RemoteWriteTotals.objects.bulk_create([RemoteWriteTotals(id=_TOTALS)], ignore_conflicts=True)
        sql.execute(statement, values)
