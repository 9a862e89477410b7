"""The health of the system, as the doctor, `/health` and the dashboard show it.

It is public, so it has numbers only: no names and no addresses.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import DatabaseError

from facho.apps.db.database import Clock, check_reachable
from facho.apps.zabbix_pollers.selectors import read_workers
from facho.config import Config
from facho.core.disk import ALARM_DAYS, Forecast, Room
from facho.core.pool import alive_workers
from facho.core.quota import Hour, hour_of
from facho.core.steps import COORDINATOR, SCHEDULER, StepState, step_state
from facho.engine.upkeep import storage
from facho.engine.upkeep.retention_holds import read_hold
from facho.engine.upkeep.schema import missing_migrations
from facho.engine.upkeep.system_status import Step, olts_without_tracker, read_last_steps
from facho.log_files import write_problem

# Steps that the coordinator needs to make the trackers of a new hour.
_STEPS_TO_BEGIN: Final = 3


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why the system is not healthy."""

    what: str
    told: str


@dataclass(frozen=True, slots=True)
class Health:
    """The health of the system. None is unknown."""

    reasons: tuple[Reason, ...] = ()
    scheduler_age_s: float | None = None
    coordinator_age_s: float | None = None
    workers: int | None = None
    pollers: int | None = None
    logs_writable: bool | None = None
    olts_without_trackers: int | None = None
    disk_days_left: float | None = None

    def as_json(self) -> dict[str, Any]:
        facts = asdict(self)
        reasons = facts.pop("reasons")
        return {"status": "failing", "reasons": reasons, **facts} if reasons else {"status": "ok", **facts}


def state_of_step(step: Step, every: timedelta, config: Config) -> StepState:
    return step_state(step.age, every, ahead=config.worker_seen_within)


def are_trackers_due(now: datetime, hour: Hour, config: Config) -> bool:
    return now - hour.start > _STEPS_TO_BEGIN * config.coordinator_step


def is_disk_short(found: Forecast, room: Room | None) -> bool:
    days = None if found.rough else found.days_left
    return (room is not None and room.scarce) or (days is not None and days < ALARM_DAYS)


def check_health(clock: Clock, config: Config) -> Health:
    """Check the system. An unavailable database is a reason, not an exception."""
    writable = not write_problem(config.logs)
    logs = () if writable else (Reason("logs", "the log folder is not writable"),)
    try:
        check_reachable()
        if lacking := _count_missing_migrations():
            told = f"{lacking} changes are missing"
            return Health((*logs, Reason("schema", told)), logs_writable=writable)
        return _examine(clock(), config, logs)
    except DatabaseError:
        # The text of the error may name a host or a user.
        told = "the database cannot be reached or used"
        return Health((*logs, Reason("database", told)), logs_writable=writable)


_schema_is_complete: Final = threading.Event()


def _count_missing_migrations() -> int:
    """Count missing migrations; a complete schema is remembered, because the check is slow."""
    if not _schema_is_complete.is_set():
        if missing := len(missing_migrations()):
            return missing
        _schema_is_complete.set()
    return 0


def _examine(now: datetime, config: Config, logs: Sequence[Reason]) -> Health:
    steps = read_last_steps(now)
    living = alive_workers(read_workers(), now, within=config.worker_seen_within)
    pollers = sum(worker.pollers for worker in living)
    hour = hour_of(now, config.time_zone)
    due = are_trackers_due(now, hour, config)
    without = len(list(olts_without_tracker(hour, config))) if due else 0
    room = storage.database_room()
    found = storage.forecast_storage(now, room)
    short = is_disk_short(found, room)
    reasons = (
        *logs,
        *_step_reasons(SCHEDULER, steps[SCHEDULER], config.scheduler_step, config),
        *_step_reasons(COORDINATOR, steps[COORDINATOR], config.coordinator_step, config),
        *([] if pollers else [Reason("workers", "no worker is alive: nothing is collected")]),
        *([Reason("trackers", f"{without} OLTs have slots in this hour and no tracker")] if without else []),
        *([Reason("disk", "the disk of the database is nearly full")] if short else []),
        *(
            [Reason("retention", "a removal of old rows waits for confirmation")]
            if _has_open_hold(now)
            else []
        ),
    )
    return Health(
        reasons,
        _age(steps[SCHEDULER]),
        _age(steps[COORDINATOR]),
        len(living),
        pollers,
        not logs,
        without,
        None if found.rough or found.days_left is None else round(found.days_left, 1),
    )


def _has_open_hold(now: datetime) -> bool:
    shown = read_hold()
    return shown is not None and not shown.hold.is_confirmed(now)


def _step_reasons(name: str, step: Step, every: timedelta, config: Config) -> Iterator[Reason]:
    match state_of_step(step, every, config):
        case StepState.NEVER:
            yield Reason(name, "it has never made a step")
        case StepState.STALLED:
            yield Reason(name, f"its last step was {_age(step):.0f} s ago")
        case StepState.AHEAD:
            yield Reason(name, "its last step is in the future: the clock was set back")


def _age(step: Step) -> float | None:
    return None if step.age is None else round(step.age.total_seconds(), 1)
