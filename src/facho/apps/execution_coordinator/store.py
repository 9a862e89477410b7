"""Writes trackers (what hours owe, and the outcomes of their slots) and remembered configurations.

A transaction locks trackers last and in the order of their keys, so that no two wait for each other. A closed
tracker is never written again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple

from facho.apps.db import sql
from facho.apps.db.database import row_lock
from facho.apps.db.sql import insert_rows, update_rows
from facho.apps.execution_coordinator.models import OltConfiguration, QuotaStatus, QuotaTracker
from facho.core.changes import fingerprint
from facho.core.lost_slots import LostSlots, merge_lost_slots
from facho.core.quota import Hour, Outcome

_AT_ONCE: Final = 500


class TrackerKey(NamedTuple):
    """The key of a tracker."""

    olt_id: int
    task_type: str
    hour: Hour


@dataclass(frozen=True, slots=True)
class CountedSlots:
    """Slots with one outcome. Those that were not completed have a reason."""

    key: TrackerKey
    outcome: Outcome
    count: int = 1
    duration_ms: int = 0
    reason: LostSlots | None = None


def count_outcomes(outcomes: Iterable[CountedSlots], now: datetime) -> None:
    """Move slots from pending to their outcomes, in the transaction that decides these."""
    by_key: dict[TrackerKey, list[CountedSlots]] = defaultdict(list)
    for each in outcomes:
        by_key[each.key].append(each)
    keys = sorted(by_key)
    for first in range(0, len(keys), _AT_ONCE):
        chunk = keys[first : first + _AT_ONCE]
        sql.execute_prepared(_add_statement(), [sql.db_rows([_row(key, by_key[key], now) for key in chunk])])
    _add_reasons({key: reasons for key in keys if (reasons := _reasons(by_key[key]))})


def _row(key: TrackerKey, counted: Sequence[CountedSlots], now: datetime) -> dict[str, Any]:
    """Return what is added to a tracker, by the names of _ADDED."""
    counts = {outcome: sum(each.count for each in counted if each.outcome is outcome) for outcome in Outcome}
    total = sum(each.duration_ms for each in counted)
    completed = counts[Outcome.COMPLETED]
    return {
        "olt_id": key.olt_id,
        "task_type": key.task_type,
        "period_start": key.hour.start,
        "period_end": key.hour.end,
        "quota_required": sum(counts.values()),
        "quota_completed": completed,
        "quota_failed": counts[Outcome.FAILED],
        "quota_skipped": counts[Outcome.SKIPPED],
        "total_duration_ms": total,
        "avg_duration_ms": total // max(completed, 1),
        "updated_at": now,
    }


_ADDED: Final = {
    "olt_id": "bigint",
    "task_type": "text",
    "period_start": "timestamptz",
    "period_end": "timestamptz",
    "quota_required": "bigint",
    "quota_completed": "bigint",
    "quota_failed": "bigint",
    "quota_skipped": "bigint",
    "total_duration_ms": "bigint",
    "avg_duration_ms": "bigint",
    "updated_at": "timestamptz",
}
# The first outcome creates a missing tracker; a slot that was not expected raises what is required.
_ADD: Final = (
    f"INSERT INTO quota_tracker AS q ({', '.join(_ADDED)}, created_at, quota_pending, reasons, status)"  # noqa: S608
    f" SELECT {', '.join(f'given.{name}' for name in _ADDED)}, given.updated_at, 0, '[]', 'IN_PROGRESS'"
    " FROM {rows} AS given WHERE true ON CONFLICT (olt_id, task_type, period_start) DO UPDATE SET"
    " quota_required = {greatest}(q.quota_required,"
    " q.quota_required - q.quota_pending + excluded.quota_required),"
    " quota_completed = q.quota_completed + excluded.quota_completed,"
    " quota_failed = q.quota_failed + excluded.quota_failed,"
    " quota_skipped = q.quota_skipped + excluded.quota_skipped,"
    " quota_pending = {greatest}(q.quota_pending - excluded.quota_required, 0),"
    " total_duration_ms = q.total_duration_ms + excluded.total_duration_ms,"
    " avg_duration_ms = (q.total_duration_ms + excluded.total_duration_ms)"
    " / {greatest}(q.quota_completed + excluded.quota_completed, 1),"
    " updated_at = excluded.updated_at WHERE q.closed_at IS NULL"
)


@cache
def _add_statement() -> str:
    """Return the statement. Rows are inserted, and so locked, in the order in which they are given."""
    return _ADD.format(rows=sql.given_rows(**_ADDED), greatest=sql.greatest())


def _reasons(counted: Iterable[CountedSlots]) -> list[LostSlots]:
    return merge_lost_slots(each.reason for each in counted if each.reason is not None)


def _add_reasons(new: Mapping[TrackerKey, Sequence[LostSlots]]) -> None:
    """Add reasons to rows that this transaction has just written, and so has locked."""
    if not new:
        return
    rows = []
    for row_id, key, before in _known_reasons(new):
        if key in new:
            every = merge_lost_slots([*map(LostSlots.from_json, before), *new[key]])
            rows.append((row_id, json.dumps([reason.as_json() for reason in every])))
    rows.sort()
    statement = "UPDATE quota_tracker SET reasons = %s WHERE id = %s"
    for row_id, written in rows:
        sql.execute(statement, [written, row_id])


def _known_reasons(new: Iterable[TrackerKey]) -> Iterable[tuple[int, TrackerKey, list[dict[str, Any]]]]:
    trackers = QuotaTracker.objects.filter(
        olt__in={key.olt_id for key in new},
        period_start__in={key.hour.start for key in new},
        closed_at=None,
    )
    columns = ("id", "olt_id", "task_type", "period_start", "period_end", "reasons")
    for row_id, olt_id, task_type, start, end, reasons in trackers.values_list(*columns):
        yield row_id, TrackerKey(olt_id, task_type, Hour(start, end)), reasons


def create_missing_trackers(pending: Mapping[TrackerKey, int], now: datetime) -> None:
    """Create trackers with these numbers of pending slots, where none exist."""
    moment = sql.db_time(now)
    times = {hour: (sql.db_time(hour.start), sql.db_time(hour.end)) for hour in {key.hour for key in pending}}
    rows = [
        (key.olt_id, key.task_type, *times[key.hour], count, count, moment, moment)
        for key, count in sorted(pending.items())
    ]
    insert_rows(QuotaTracker, _MISSING, rows, unless_there=True, is_adapted=True)


_MISSING: Final = (
    "olt", "task_type", "period_start", "period_end", "quota_required", "quota_pending", "created_at",
    "updated_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tracker:
    """An open tracker, whose row this transaction has locked."""

    id: int
    key: TrackerKey
    completed: int
    failed: int
    skipped: int
    pending: int
    status: str
    reasons: tuple[LostSlots, ...]

    @property
    def ended(self) -> int:
        return self.completed + self.failed + self.skipped


def lock_open_trackers(hours: Iterable[datetime], olt_ids: Sequence[int] | None = None) -> list[Tracker]:
    """Lock the open trackers of the hours that begin then; None stands for all OLTs."""
    begins = list(map(sql.db_time, hours))
    where = "" if olt_ids is None else f" AND {sql.is_one_of('olt_id')}"
    statement = _OPEN_TRACKERS.format(
        ", ".join(["%s"] * len(begins)), where, sql.byte_order("task_type"), row_lock(whole=True)
    )
    rows = sql.fetch_rows(statement, [*begins, *([] if olt_ids is None else [sql.db_list(olt_ids)])])
    known: dict[Any, Hour] = {}
    return [
        Tracker(
            row_id,
            TrackerKey(olt, task, _hour(known, start, end)),
            done,
            failed,
            skipped,
            pending,
            status,
            _read(why),
        )
        for row_id, olt, task, start, end, done, failed, skipped, pending, status, why in rows
    ]


_OPEN_TRACKERS: Final = (
    "SELECT id, olt_id, task_type, period_start, period_end, quota_completed, quota_failed, quota_skipped,"
    " quota_pending, status, reasons FROM quota_tracker WHERE closed_at IS NULL AND period_start IN ({}){}"
    " ORDER BY olt_id, {}, period_start{}"
)


def _hour(known: dict[Any, Hour], start: Any, end: Any) -> Hour:
    """Return the hour of a row. There are few hours in many rows, and SQLite's times are texts."""
    if start not in known:
        known[start] = Hour(sql.parse_time(start), sql.parse_time(end))
    return known[start]


def _read(reasons: str) -> tuple[LostSlots, ...]:
    return () if reasons == "[]" else tuple(map(LostSlots.from_json, json.loads(reasons)))


def set_pending(rows: Sequence[tuple[Tracker, int, str]], now: datetime) -> None:
    """Store the number of pending slots and the status of each tracker."""
    update_rows(
        QuotaTracker,
        ["quota_pending", "quota_required", "status", "updated_at"],
        [
            (each.id, pending, each.ended + pending, str(status), sql.db_time(now))
            for each, pending, status in rows
        ],
        is_adapted=True,
    )


def delete_trackers(trackers: Sequence[Tracker]) -> None:
    """Delete the trackers of hours without slots."""
    if trackers:
        QuotaTracker.objects.filter(id__in=[each.id for each in trackers]).delete()


def close_trackers(trackers: Sequence[tuple[Tracker, QuotaStatus]], now: datetime) -> None:
    """Close trackers that have nothing pending."""
    by_status: dict[str, list[int]] = defaultdict(list)
    for each, status in trackers:
        by_status[status.value].append(each.id)
    moment = sql.db_time(now)
    for status_value, ids in by_status.items():
        sql.execute(_CLOSE + sql.is_one_of("id"), [status_value, moment, moment, sql.db_list(ids)])


_CLOSE: Final = "UPDATE quota_tracker SET status = %s, closed_at = %s, updated_at = %s WHERE "


def mark_changed(olt_ids: Sequence[int]) -> None:
    """Have the coordinator's next step plan these OLTs again, as if their configuration had changed."""
    OltConfiguration.objects.filter(olt__in=olt_ids).update(fingerprint="")


def remember_states(states: Mapping[int, str], now: datetime) -> None:
    """Store configurations. One that is the same keeps the time of its last change."""
    known = dict(OltConfiguration.objects.filter(olt__in=states).values_list("olt_id", "state"))
    rows = [
        OltConfiguration(olt_id=olt_id, fingerprint=fingerprint(text), state=text, changed_at=now)
        for olt_id, text in sorted(states.items())
    ]
    _store_configurations(
        [row for row in rows if known.get(row.olt_id) != row.state], "fingerprint", "state", "changed_at"
    )
    _store_configurations([row for row in rows if known.get(row.olt_id) == row.state], "fingerprint")


def _store_configurations(rows: list[OltConfiguration], *columns: str) -> None:
    OltConfiguration.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["olt"], update_fields=columns, batch_size=1000
    )
