"""Opens the trackers of each hour, and closes those of past hours, with violations where quotas were missed.

An OLT's hour is closed when nothing of it is pending, at the latest `quota_close_within` after its end. What
is pending then counts as skipped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.db.database import pause_for_other_writers
from facho.apps.execution_coordinator.models import QuotaStatus, QuotaViolation
from facho.apps.execution_coordinator.selectors import PendingSlots, load_pending_slots
from facho.apps.execution_coordinator.store import (
    CountedSlots,
    Tracker,
    TrackerKey,
    close_trackers,
    count_outcomes,
    lock_open_trackers,
)
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.core.delay import Why, why_pending
from facho.core.lost_slots import LostSlots, lose_slots, merge_tasks, top
from facho.core.quota import (
    OTHER,
    Hour,
    Outcome,
    hours_between,
    must_close,
    running_hour,
    status_of,
)
from facho.core.reasons import NO_REASON
from facho.core.severity import Severity, severity_of, worst_severity
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.events.stream import olt_names, publish
from facho.engine.events.types import QuotaViolated

# OLTs in one transaction; executions that end meanwhile wait for it.
_AT_ONCE: Final = 100
_MAX_REASONS: Final = 5


def open_quota_hours(last_hour: str | None, now: datetime, config: Config) -> bool:
    """Open the hours since the last one that is open, up to the running one; return True when all are.

    There is more than one after a time in which no coordinator ran.
    """
    running = running_hour(now, config.time_zone)
    if last_hour == running.start.isoformat():
        return True
    since = running.start
    if last_hour is not None:
        since = min(since, max(datetime.fromisoformat(last_hour), now - config.quota_catch_up))
    hours = list(hours_between(since, running.end, config.time_zone))
    for olt_ids in _in_chunks(Olt.objects.order_by("id").values_list("id", flat=True)):
        with sql.write_transaction():
            reconcile_trackers(olt_ids, now, config, hours)
    return True


def close_quota_hours(now: datetime, config: Config) -> int:
    """Close past hours that have nothing pending or must be closed; return the number of violations."""
    pending: dict[Hour, dict[int, int]] = defaultdict(dict)
    for start, end, olt_id, count in sql.fetch_rows(_OPEN_OF_PAST_HOURS, [sql.db_time(now)]):
        pending[Hour(sql.parse_time(start), sql.parse_time(end))][olt_id] = count
    violations = 0
    for hour, olts in pending.items():
        overdue = must_close(hour.end, now, within=config.quota_close_within)
        ready = sorted(olt_id for olt_id, count in olts.items() if overdue or not count)
        for olt_ids in _in_chunks(ready):
            violations += _close_hour(hour, olt_ids, overdue, now, config)
    return violations


_OPEN_OF_PAST_HOURS: Final = (
    "SELECT period_start, period_end, olt_id, SUM(quota_pending) FROM quota_tracker"
    " WHERE closed_at IS NULL AND period_end < %s GROUP BY period_start, period_end, olt_id"
    " ORDER BY period_start"
)


def _in_chunks(olt_ids: Iterable[int]) -> Iterator[list[int]]:
    """Yield a few OLTs at a time, with a pause in which others can write."""
    every = list(olt_ids)
    for first in range(0, len(every), _AT_ONCE):
        if first:
            pause_for_other_writers()
        yield every[first : first + _AT_ONCE]


def _close_hour(hour: Hour, olt_ids: Sequence[int], overdue: bool, now: datetime, config: Config) -> int:
    """Close all trackers of each OLT together. Those that another step has closed meanwhile are not open."""
    with sql.write_transaction():
        trackers = lock_open_trackers([hour.start], olt_ids)
        if overdue:
            _skip_pending(trackers, hour, now, config)
            trackers = lock_open_trackers([hour.start], olt_ids)
        by_olt: dict[int, list[Tracker]] = defaultdict(list)
        for each in trackers:
            by_olt[each.key.olt_id].append(each)
        done = {
            olt_id: several for olt_id, several in by_olt.items() if not any(each.pending for each in several)
        }
        close_trackers(
            [(each, _final_status(each, config)) for several in done.values() for each in several], now
        )
        return _store_violations(hour, done, now, config)


def _skip_pending(trackers: Sequence[Tracker], hour: Hour, now: datetime, config: Config) -> None:
    """Count what is pending of an overdue hour as skipped, with its reasons."""
    left = {each.key: each.pending for each in trackers if each.pending}
    if not left:
        return
    pending = load_pending_slots(sorted({key.olt_id for key in left}), [hour], config.time_zone)
    skipped = []
    for key, reason in _reasons_of_pending(pending, hour, config):
        count = min(reason.count, left.get(key, 0))
        if count:
            left[key] -= count
            skipped.append(CountedSlots(key, Outcome.SKIPPED, count, reason=reason))
    skipped += [
        CountedSlots(key, Outcome.SKIPPED, count, reason=LostSlots(OTHER, count=count))
        for key, count in left.items()
        if count
    ]
    count_outcomes(skipped, now)


def _reasons_of_pending(
    pending: PendingSlots, hour: Hour, config: Config
) -> Iterator[tuple[TrackerKey, LostSlots]]:
    """Yield why slots are pending: no scheduler ran if they are on the grid, else their execution tells."""
    grids = {(grid.olt_id, grid.task_type): grid for grid in pending.grids}
    for key, count in pending.on_grids([hour]):
        grid = grids[key.olt_id, key.task_type]
        first, interval_s = grid.first_in(hour), round(grid.interval.total_seconds())
        yield key, lose_slots(Why.ENGINE_STOPPED, NO_REASON, first, interval_s, count)
    busy = {each.olt_id for each in pending.open if each.state != "WAITING"}
    for each in pending.open:
        if each.slot in hour:
            why = why_pending(
                each.slot,
                each.queued_at,
                waiting=each.state == "WAITING",
                retried=each.attempt > 0,
                olt_busy=each.olt_id in busy,
                after=config.delayed_after,
            )
            for owed in each.owes:
                reason = lose_slots(why, NO_REASON, each.slot, owed.interval_s)
                yield TrackerKey(each.olt_id, owed.task_type, hour), reason


def _final_status(tracker: Tracker, config: Config) -> QuotaStatus:
    if tracker.status == QuotaStatus.INTERRUPTED:
        return QuotaStatus.INTERRUPTED
    return QuotaStatus(status_of(tracker.ended, tracker.completed, kept=config.quota_kept).value)


def _store_violations(
    hour: Hour, closed: Mapping[int, Sequence[Tracker]], now: datetime, config: Config
) -> int:
    """Store and publish one violation for each OLT, whatever number of its tasks missed their quota.

    It counts as notified when the first message about it was sent.
    """
    violations = [
        QuotaViolation(
            olt_id=olt_id,
            period_start=hour.start,
            period_end=hour.end,
            severity=severity.value,
            report=_report(trackers, config),
            created_at=now,
        )
        for olt_id, trackers in closed.items()
        if (severity := worst_severity(_severity(each, config) for each in trackers)) is not None
    ]
    QuotaViolation.objects.bulk_create(violations, ignore_conflicts=True)
    names = Olt.objects.filter(id__in=[each.olt_id for each in violations]).values_list("id", "name")
    with olt_names(dict(names)):
        for each in violations:
            event = QuotaViolated(
                olt_id=each.olt_id,
                period_start=each.period_start,
                period_end=each.period_end,
                severity=each.severity,
                report=each.report,
            )
            publish(event, now)
    return len(violations)


def _severity(tracker: Tracker, config: Config) -> Severity | None:
    if tracker.status == QuotaStatus.INTERRUPTED:
        return None
    return severity_of(tracker.ended, tracker.completed, kept=config.quota_kept)


def _report(trackers: Sequence[Tracker], config: Config) -> dict[str, Any]:
    reasons = merge_tasks(each.reasons for each in trackers)
    return {"tasks": [_task_report(each, config) for each in trackers], "reasons": _top_reasons(reasons)}


def _task_report(tracker: Tracker, config: Config) -> dict[str, Any]:
    severity = _severity(tracker, config)
    return {
        "task_type": tracker.key.task_type,
        "required": tracker.ended,
        "completed": tracker.completed,
        "failed": tracker.failed,
        "skipped": tracker.skipped,
        "percent": round(100 * tracker.completed / tracker.ended, 1) if tracker.ended else 100.0,
        "severity": severity.value if severity else None,
        "reasons": _top_reasons(tracker.reasons),
    }


def _top_reasons(reasons: Iterable[LostSlots]) -> list[dict[str, Any]]:
    return [reason.as_json() for reason in top(reasons, _MAX_REASONS)]
