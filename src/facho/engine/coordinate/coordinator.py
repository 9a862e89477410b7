"""The coordinator's step: finds what was changed, has trackers made for each hour, and closes hours.

It keeps nothing in memory: whoever steps next, anywhere, goes on from the database. Two steps at once do no
harm.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from facho.apps.db import sql
from facho.apps.db.clock import database_now
from facho.apps.db.connections import pause_for_other_writers
from facho.apps.execution_coordinator.models import (
    CoordinatorState,
    QuotaStatus,
    QuotaTracker,
    QuotaViolation,
)
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
from facho.core.lost_slots import OTHER, LostSlots, top
from facho.core.quota import Hour, Outcome, hours_between, must_close, running_hour, status_of
from facho.core.severity import Severity, severity_of, worst_severity
from facho.core.steps import COORDINATOR
from facho.engine.coordinate.changes import handle_changes
from facho.engine.coordinate.forecast_learning import learn_from_ended
from facho.engine.coordinate.maintenance import report_windows
from facho.engine.coordinate.plan_progress import step_plans
from facho.engine.coordinate.quotas import reconcile_trackers
from facho.engine.events.stream import olt_names, publish
from facho.engine.events.types import EngineWasStopped, QuotaViolated
from facho.engine.process.loops import StepFailures, run_loop

# Of so many OLTs in one transaction: what ends meanwhile waits for it.
_AT_ONCE: Final = 100
_MOST_REASONS: Final = 5
# Steps further apart than this many of them: nobody stepped.
_STOPPED_AFTER: Final = 12


@dataclass(frozen=True, slots=True)
class CoordinatorResult:
    changed: Sequence[int]
    violations: int


def coordinator_step(now: datetime, config: Config) -> CoordinatorResult:
    """A part that fails keeps no other from its turn."""
    began = time.perf_counter()
    last = CoordinatorState.objects.filter(name=COORDINATOR).first()
    _tell_of_a_stop(last, now, config)
    parts = StepFailures()
    found: Sequence[int] = parts.run(lambda: handle_changes(now), [])
    opened = parts.run(lambda: _open_hours(last, now, config), False)
    parts.run(lambda: report_windows(now, config), None)
    violations = parts.run(lambda: close_hours(now, config), 0)
    parts.run(lambda: learn_from_ended(now, config), None)
    parts.run(lambda: step_plans(now, config), None)
    _note(last, opened, now, config, time.perf_counter() - began)
    parts.raise_first()
    return CoordinatorResult(found, violations)


def _tell_of_a_stop(last: CoordinatorState | None, now: datetime, config: Config) -> None:
    if last is not None and now - last.updated_at > _STOPPED_AFTER * config.coordinator_step:
        publish(EngineWasStopped(since=last.updated_at, until=now), now)


def _open_hours(last: CoordinatorState | None, now: datetime, config: Config) -> bool:
    """When an hour has begun; and when nobody stepped, those that went by. True when all are open."""
    running = running_hour(now, config.time_zone)
    before = last.value.get("hour") if last else None
    if before == running.start.isoformat():
        return True
    since = running.start
    if before is not None:
        since = min(since, max(datetime.fromisoformat(before), now - config.quota_catch_up))
    hours = list(hours_between(since, running.end, config.time_zone))
    for olt_ids in _some(Olt.objects.order_by("id").values_list("id", flat=True)):
        with sql.write_transaction():
            reconcile_trackers(olt_ids, now, config, hours)
    return True


def _note(last: CoordinatorState | None, opened: bool, now: datetime, config: Config, seconds: float) -> None:
    """Which hours are open, so that the next step opens those that follow, and how long this one took."""
    before = last.value.get("hour") if last else None
    hour = running_hour(now, config.time_zone).start.isoformat() if opened else before
    value = {"hour": hour, "duration_ms": round(seconds * 1000, 1)}
    with sql.write_transaction():
        CoordinatorState.objects.update_or_create(
            name=COORDINATOR, defaults={"value": value, "updated_at": now}
        )


def close_hours(now: datetime, config: Config) -> int:
    """Those that are over and have nothing pending, or must be closed. How many violations there were."""
    open_ones = QuotaTracker.objects.filter(closed_at=None, period_end__lt=now)
    pending: dict[Hour, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    columns = ("period_start", "period_end", "olt_id", "quota_pending")
    for start, end, olt_id, count in open_ones.order_by("period_start").values_list(*columns):
        pending[Hour(start, end)][olt_id] += count
    found = 0
    for hour, olts in pending.items():
        overdue = must_close(hour.end, now, within=config.quota_close_within)
        ready = sorted(olt_id for olt_id, count in olts.items() if overdue or not count)
        for olt_ids in _some(ready):
            found += _close(hour, olt_ids, overdue, now, config)
    return found


def _some(olt_ids: Iterable[int]) -> Iterator[list[int]]:
    """A few at a time; between two transactions others have their turn."""
    every = iter(olt_ids)
    some = list(islice(every, _AT_ONCE))
    while some:
        yield some
        some = list(islice(every, _AT_ONCE))
        if some:
            pause_for_other_writers()


def _close(hour: Hour, olt_ids: Sequence[int], overdue: bool, now: datetime, config: Config) -> int:
    """All of an OLT's tasks at once. Who has closed them meanwhile has done it for us."""
    with sql.write_transaction():
        trackers = lock_open_trackers([hour.start], olt_ids)
        if overdue:
            _settle_rest(trackers, hour, now, config)
            trackers = lock_open_trackers([hour.start], olt_ids)
        by_olt: dict[int, list[Tracker]] = defaultdict(list)
        for each in trackers:
            by_olt[each.key.olt_id].append(each)
        done = {
            olt_id: several for olt_id, several in by_olt.items() if not any(each.pending for each in several)
        }
        close_trackers([(each, _status(each, config)) for several in done.values() for each in several], now)
        return _violations(hour, done, now, config)


def _settle_rest(trackers: Sequence[Tracker], hour: Hour, now: datetime, config: Config) -> None:
    """What is pending of an hour that must be closed was skipped: say why."""
    left = {each.key: each.pending for each in trackers if each.pending}
    if not left:
        return
    seen = load_pending_slots(sorted({key.olt_id for key in left}), [hour], config.time_zone)
    rest = []
    for key, reason in _reasons_of_rest(seen, hour, config):
        count = min(reason.count, left.get(key, 0))
        if count:
            left[key] -= count
            rest.append(CountedSlots(key, Outcome.SKIPPED, count, reason=reason))
    rest += [
        CountedSlots(key, Outcome.SKIPPED, count, reason=LostSlots(OTHER, "", count))
        for key, count in left.items()
        if count
    ]
    count_outcomes(rest, now)


def _reasons_of_rest(
    seen: PendingSlots, hour: Hour, config: Config
) -> Iterable[tuple[TrackerKey, LostSlots]]:
    """Slots that are still on the grid: nobody stepped. The others are under way, or wait."""
    every = {(grid.olt_id, grid.task_type): grid.interval for grid in seen.grids}
    for key, count in seen.to_come([hour]):
        lost = round(count * every[key.olt_id, key.task_type].total_seconds())
        yield key, LostSlots(Why.ENGINE_STOPPED, "", count, lost)
    busy = {each.olt_id for each in seen.open if each.state != "WAITING"}
    for each in seen.open:
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
                yield TrackerKey(each.olt_id, owed.task_type, hour), LostSlots(why, "", 1, owed.interval_s)


def _status(tracker: Tracker, config: Config) -> QuotaStatus:
    if tracker.status == QuotaStatus.INTERRUPTED:
        return QuotaStatus.INTERRUPTED
    return QuotaStatus(status_of(tracker.ended, tracker.completed, kept=config.quota_kept).value)


def _violations(hour: Hour, closed: Mapping[int, Sequence[Tracker]], now: datetime, config: Config) -> int:
    """One for an OLT and an hour, whatever number of its tasks it is about."""
    found = [
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
    QuotaViolation.objects.bulk_create(found, ignore_conflicts=True)
    names = dict(Olt.objects.filter(id__in=[each.olt_id for each in found]).values_list("id", "name"))
    with olt_names(names):
        for each in found:
            # The violation counts as notified when the first message about it was sent.
            publish(
                QuotaViolated(
                    olt_id=each.olt_id,
                    period_start=each.period_start,
                    period_end=each.period_end,
                    severity=each.severity,
                    report=each.report,
                ),
                now,
            )
    return len(found)


def _severity(tracker: Tracker, config: Config) -> Severity | None:
    if tracker.status == QuotaStatus.INTERRUPTED:
        return None
    return severity_of(tracker.ended, tracker.completed, kept=config.quota_kept)


def _report(trackers: Sequence[Tracker], config: Config) -> dict[str, Any]:
    reasons = [reason for each in trackers for reason in each.reasons]
    return {"tasks": [_task(each, config) for each in trackers], "reasons": _top(reasons)}


def _task(tracker: Tracker, config: Config) -> dict[str, Any]:
    severity = _severity(tracker, config)
    return {
        "task_type": tracker.key.task_type,
        "required": tracker.ended,
        "completed": tracker.completed,
        "failed": tracker.failed,
        "skipped": tracker.skipped,
        "percent": round(100 * tracker.completed / tracker.ended, 1) if tracker.ended else 100.0,
        "severity": severity.value if severity else None,
        "reasons": _top(tracker.reasons),
    }


def _top(reasons: Iterable[LostSlots]) -> list[dict[str, Any]]:
    return [reason.as_json() for reason in top(reasons, _MOST_REASONS)]


def run_coordinator_loop(stopping: threading.Event, config: Config) -> None:
    """For a process that has no beat: in a thread of its own, so that the scheduler never waits for it."""

    def step() -> None:
        coordinator_step(database_now(), config)

    run_loop("coordinator", step, config.coordinator_step, stopping)
