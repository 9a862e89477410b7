"""One step of the scheduler, for whoever has the clock: the embedded loop, or a beat."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from facho.apps.db import sql
from facho.apps.db.clock import ClockJumpDetector, database_now
from facho.apps.execution_coordinator.models import CoordinatorState
from facho.config import Config
from facho.core.lease import SEND_SHARE
from facho.core.steps import SCHEDULER
from facho.engine.coordinate.maintenance import abort_in_maintenance
from facho.engine.process.loops import StepFailures
from facho.engine.schedule.pollers import write_poller_stats
from facho.engine.schedule.recovery import Recovered, extend_leases_after_clock_jump, recover
from facho.engine.schedule.scheduler import Queued, queue_due_slots, reset_slots_too_far_ahead

T = TypeVar("T")

_CHECK_EVERY: Final = timedelta(seconds=60)
_NOTE: Final = (
    "INSERT INTO coordinator_state (name, value, updated_at) VALUES (%s, '{}', %s)"
    " ON CONFLICT (name) DO UPDATE SET updated_at = excluded.updated_at"
)


@dataclass(frozen=True, slots=True)
class Stepped:
    queued: Queued
    recovered: Recovered


_forward: Final = ClockJumpDetector()


def step_now(config: Config) -> datetime:
    """A step, for who has no other clock than the real ones. Returns when it was."""
    now = database_now()
    ahead = _forward.since_last(now)
    # Half of what a holder stops earlier than its lease: less than that harms nobody.
    if ahead > config.lease * (1 - SEND_SHARE) / 2:
        extend_leases_after_clock_jump(now, ahead, config)
    scheduler_step(now, config)
    return now


def scheduler_step(now: datetime, config: Config) -> Stepped:
    """Everything but claiming: recovers, queues what is due, ends what may not run, and notes it was here.

    A part that fails keeps no other from its turn.
    """
    parts = StepFailures()
    recovered = parts.run(lambda: recover(now, config), Recovered())
    parts.run(lambda: _check(now, config), None)
    queued = parts.run(lambda: _queue(now, config), Queued())
    parts.run(lambda: abort_in_maintenance(now, config), None)
    parts.run(lambda: write_poller_stats(now, config), None)
    parts.end()
    return Stepped(queued, recovered)


def _check(now: datetime, config: Config) -> None:
    if _is_time_to_check(now):
        reset_slots_too_far_ahead(now, config)


def _queue(now: datetime, config: Config) -> Queued:
    queued = queue_due_slots(now, config)
    with sql.write_transaction():
        sql.execute(_NOTE, [SCHEDULER, sql.db_time(now)])
    return queued


def _is_time_to_check(now: datetime) -> bool:
    """When a step was long ago or is yet to come, and else once in a while."""
    last = CoordinatorState.objects.filter(name=SCHEDULER).values_list("updated_at", flat=True).first()
    if last is None or abs(now - last) > _CHECK_EVERY:
        return True
    return now.timestamp() // _CHECK_EVERY.total_seconds() != last.timestamp() // _CHECK_EVERY.total_seconds()
