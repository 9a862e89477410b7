"""The coordinator's step: handles changes, opens and closes hours, learns durations and keeps plans.

It keeps nothing in memory: the next step, in any process, goes on from the database. Two steps at once do no
harm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from facho.apps.db import sql
from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import CoordinatorState
from facho.config import Config
from facho.core.quota import running_hour
from facho.core.steps import COORDINATOR
from facho.engine.coordinate.changes import handle_changes
from facho.engine.coordinate.forecast_learning import learn_from_ended
from facho.engine.coordinate.maintenance import report_windows
from facho.engine.coordinate.plan_progress import step_plans
from facho.engine.coordinate.quota_hours import close_quota_hours, open_quota_hours
from facho.engine.events.stream import publish
from facho.engine.events.types import EngineWasStopped
from facho.engine.process.loops import StepFailures, run_loop

# The engine was stopped if this many steps are missing.
_STOPPED_AFTER: Final = 12


@dataclass(frozen=True, slots=True)
class CoordinatorResult:
    changed: Sequence[int]
    violations: int


def coordinator_step(now: datetime, config: Config) -> CoordinatorResult:
    """Take one step. A part that fails does not prevent the others."""
    began = time.perf_counter()
    last = CoordinatorState.objects.filter(name=COORDINATOR).first()
    if last is not None and now - last.updated_at > _STOPPED_AFTER * config.coordinator_step:
        publish(EngineWasStopped(since=last.updated_at, until=now), now)
    last_hour = last.value.get("hour") if last else None
    parts = StepFailures()
    changed: Sequence[int] = parts.run(lambda: handle_changes(now), [])
    opened = parts.run(lambda: open_quota_hours(last_hour, now, config), False)
    parts.run(lambda: report_windows(now, config), None)
    violations = parts.run(lambda: close_quota_hours(now, config), 0)
    parts.run(lambda: learn_from_ended(now, config), None)
    parts.run(lambda: step_plans(now, config), None)
    hour = running_hour(now, config.time_zone).start.isoformat() if opened else last_hour
    _store_step(hour, time.perf_counter() - began, now)
    parts.raise_first()
    return CoordinatorResult(changed, violations)


def _store_step(hour: str | None, seconds: float, now: datetime) -> None:
    """Store the last hour that is open, so that the next step opens those that follow, and the duration."""
    value = {"hour": hour, "duration_ms": round(seconds * 1000, 1)}
    with sql.write_transaction():
        CoordinatorState.objects.update_or_create(
            name=COORDINATOR, defaults={"value": value, "updated_at": now}
        )


def run_coordinator_loop(stopping: threading.Event, config: Config) -> None:
    """Coordinate in a process without Celery beat, in a thread that the scheduler does not wait for."""

    def step() -> None:
        coordinator_step(database_now(), config)

    run_loop("coordinator", step, config.coordinator_step, stopping)
