"""The loops of an engine process: each is `while not stopping: step`, and survives what a step raises."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from django.db import DatabaseError, connection

log = logging.getLogger(__name__)

T = TypeVar("T")


def run_loop(name: str, step: Callable[[], None], every: timedelta, stopping: threading.Event) -> None:
    """Run the step on a fixed grid. A step that fails is logged, and the next one comes at its time."""
    next_time = time.monotonic()
    while not stopping.is_set():
        run_step(name, step)
        next_time = max(next_time + every.total_seconds(), time.monotonic())
        stopping.wait(next_time - time.monotonic())
    connection.close()


def run_loop_when_due(
    name: str, step: Callable[[], timedelta], otherwise: timedelta, stopping: threading.Event
) -> None:
    """Run the step again after the time that it returns, or after `otherwise` when it failed."""
    while not stopping.is_set():
        wait = otherwise

        def run() -> None:
            nonlocal wait
            wait = step()

        run_step(name, run)
        stopping.wait(wait.total_seconds())
    connection.close()


def run_step(name: str, step: Callable[[], object], **ids: int) -> bool:
    """Return False when the step raised; neither an unavailable database nor a bug ends the process."""
    try:
        step()
    except DatabaseError as error:
        log.error(
            "database unavailable, retrying",
            extra={"action": "database_failed", "loop": name, "error": str(error), **ids},
        )
        connection.close()
        return False
    except Exception:
        log.exception("step failed", extra={"action": "bug", "loop": name, **ids})
        connection.close()
        return False
    return True


class CoalescedCalls:
    """Runs calls of several threads that do the same one at a time, and leaves out those that are not needed.

    A call that has not begun does the work of every thread that asks for one meanwhile: those return at once.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._is_next_waiting = False

    def run(self, call: Callable[[], object]) -> None:
        with self._guard:
            if self._is_next_waiting:
                return
            self._is_next_waiting = True
        with self._turn:
            # From here on a new request needs a call of its own: this one may have read already.
            with self._guard:
                self._is_next_waiting = False
            call()


class StepFailures:
    """Runs every part of a step, and raises the first failure after all of them."""

    def __init__(self) -> None:
        self._failed: list[Exception] = []

    def run(self, part: Callable[[], T], otherwise: T) -> T:
        try:
            return part()
        except Exception as error:  # noqa: BLE001 - raised by `raise_first`
            self._failed.append(error)
            return otherwise

    def raise_first(self) -> None:
        if self._failed:
            raise self._failed[0]
