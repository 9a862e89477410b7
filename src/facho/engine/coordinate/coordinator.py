"""The coordinator's step: handles changes, opens and closes hours, learns durations and keeps plans.

It keeps nothing in memory: the next step, in any process, goes on from the database. Two steps at once do no
harm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from facho.apps.db import sql
from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import CoordinatorState
from facho.apps.execution_coordinator.selectors import configuration_digest
from facho.config import Config
from facho.core.quota import running_hour
from facho.core.steps import COORDINATOR
from facho.engine.coordinate.changes import handle_changes
from facho.engine.coordinate.forecast_learning import learn_from_ended
from facho.engine.coordinate.maintenance import report_windows
from facho.engine.coordinate.olt_strain import is_judgement_due, judge_olts
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
    value = last.value if last else {}
    last_hour, seen, judged_at = (value.get(key) for key in ("hour", "configuration", "judged_at"))
    parts = StepFailures()
    # Read before the configurations are: what changes meanwhile is seen by the next step.
    digest = parts.run(configuration_digest, None)
    changed = parts.run(lambda: handle_changes(now, compare=digest is None or digest != seen), None)
    if changed is None:
        digest = None
    opened = parts.run(lambda: open_quota_hours(last_hour, now, config), False)
    parts.run(lambda: report_windows(now, config), None)
    violations = parts.run(lambda: close_quota_hours(now, config), 0)
    parts.run(lambda: learn_from_ended(now, config), None)
    parts.run(lambda: step_plans(now, config), None)
    if is_judgement_due(None if judged_at is None else datetime.fromisoformat(judged_at), now):
        parts.run(lambda: judge_olts(now, config), None)
        judged_at = now.isoformat()
    hour = running_hour(now, config.time_zone).start.isoformat() if opened else last_hour
    goes_on_from = {"hour": hour, "configuration": digest, "judged_at": judged_at}
    _store_step(goes_on_from, time.perf_counter() - began, now)
    parts.raise_first()
    return CoordinatorResult(changed or [], violations)


def _store_step(goes_on_from: Mapping[str, str | None], seconds: float, now: datetime) -> None:
    """Store the duration and what the next step goes on from.

    That is the last hour that is open, the digest of the configuration that was compared with the remembered
    one, and when OLTs were judged.
    """
    value = {**goes_on_from, "duration_ms": round(seconds * 1000, 1)}
    with sql.write_transaction():
        CoordinatorState.objects.update_or_create(
            name=COORDINATOR, defaults={"value": value, "updated_at": now}
        )


def run_coordinator_loop(stopping: threading.Event, config: Config) -> None:
    """Coordinate in a process without Celery beat, in a thread that the scheduler does not wait for."""

    def step() -> None:
        coordinator_step(database_now(), config)

    run_loop("coordinator", step, config.coordinator_step, stopping)
