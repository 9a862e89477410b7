"""What keeps the database in order: tasks that can wait, each doing a little at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from facho.apps.db.clock import database_now
from facho.config import Config
from facho.engine.process.loops import run_loop, run_step
from facho.engine.record.optics import update_baselines
from facho.engine.upkeep.history import tend_history
from facho.engine.upkeep.olt_removal import go_on_removing
from facho.engine.upkeep.retention import remove_old
from facho.engine.upkeep.storage import take_sample

Task = Callable[[datetime, Config], object]

# Each does a part of its work and leaves the rest for its next turn. Two processes may do the same at once.
TASKS: Final[tuple[Task, ...]] = (take_sample, tend_history, update_baselines, remove_old, go_on_removing)

_under_way: Final = threading.Lock()


def keep_house(config: Config, tasks: tuple[Task, ...] = TASKS) -> None:
    """Each task once. One that fails is logged, and keeps no other from its turn."""
    # A turn that takes longer than the time to the next one must not hold a second thread of its process.
    if not _under_way.acquire(blocking=False):
        return
    try:
        for task in tasks:
            run_step(task.__name__, partial(_do, task, config))
    finally:
        _under_way.release()


def _do(task: Task, config: Config) -> None:
    task(database_now(), config)


def keep_house_until(stopping: threading.Event, config: Config) -> None:
    """For a process that has no beat: in a thread of its own, so that the scheduler never waits for it."""
    run_loop("housekeeping", partial(keep_house, config), config.housekeeping_step, stopping)
