"""Housekeeping of the database: tasks that can wait, each doing a part of its work at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from facho.apps.db.database import Clock, database_now
from facho.apps.history.store import close_hours
from facho.config import Config
from facho.engine.process.loops import run_loop, run_step
from facho.engine.record.onus import update_baselines
from facho.engine.upkeep.olt_removal import continue_removals
from facho.engine.upkeep.retention import remove_old
from facho.engine.upkeep.storage import take_sample

Task = Callable[[datetime, Config], object]

# Hours of OLTs in one turn. An hour of a large OLT is about a tenth of a second of work.
_HOURS_PER_TURN: Final = 60


def close_history_hours(now: datetime, config: Config) -> int:
    """Close hours of history that are over, and return how many; the rest waits for the next turn."""
    return close_hours(now, grace=config.history_close_after, most=_HOURS_PER_TURN)


# Each leaves the rest of its work for its next turn. Two processes may do the same at once.
TASKS: Final[tuple[Task, ...]] = (
    take_sample,
    close_history_hours,
    update_baselines,
    remove_old,
    continue_removals,
)

_running: Final = threading.Lock()


def run_housekeeping(clock: Clock, config: Config, tasks: tuple[Task, ...] = TASKS) -> None:
    """Run each task once. A task that fails is logged and does not stop the others."""
    # A turn that takes longer than the interval must not occupy a second thread of its process.
    if not _running.acquire(blocking=False):
        return
    try:
        for task in tasks:
            run_step(task.__name__, partial(_run_task, task, clock, config))
    finally:
        _running.release()


def _run_task(task: Task, clock: Clock, config: Config) -> None:
    task(clock(), config)


def run_housekeeping_loop(stopping: threading.Event, config: Config) -> None:
    """Run housekeeping in a thread of its own, for a process without Celery beat."""
    run_loop(
        "housekeeping", partial(run_housekeeping, database_now, config), config.housekeeping_step, stopping
    )
