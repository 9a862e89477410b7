"""The steps of `facho beat`, made by threads of its own process at the times of Celery's beat schedule.

To send each step to itself over the broker costs more than the step, and steps would stop with the broker.
The messages of a `celery beat` are worked off all the same (docs/decisions/0018-idle-processes-sleep.md).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from celery.schedules import crontab

from facho.backends.poller_process import in_background
from facho.engine.process.loops import run_loop


class BeatLoops:
    """A thread for each entry of the beat, so that no step waits for another."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._app.loader.import_default_modules()
        for name, entry in self._app.conf.beat_schedule.items():
            step = partial(self._app.tasks[entry["task"]].run, **entry.get("kwargs", {}))
            loop = partial(run_entry, name, step, entry["schedule"], self._stopping)
            self._threads.append(in_background(name, loop))

    def stop(self) -> None:
        self._stopping.set()

    def join(self, within: timedelta) -> None:
        """Wait for the steps that are under way."""
        self.stop()
        until = time.monotonic() + within.total_seconds()
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))


def run_entry(
    name: str, step: Callable[[], None], schedule: float | crontab, stopping: threading.Event
) -> None:
    if not isinstance(schedule, crontab):
        run_loop(name, step, timedelta(seconds=schedule), stopping)
        return
    while not stopping.wait(schedule.remaining_estimate(datetime.now(UTC)).total_seconds()):
        step()
