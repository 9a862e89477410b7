"""Loops of an engine process: each is `while not stopping: step`, and survives what a step raises."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar

from django.db import DatabaseError, connection

log = logging.getLogger(__name__)

T = TypeVar("T")

# Writers that wait for SQLite look again after a tenth of a second at the latest.
_GIVES_WAY_S: Final = 0.1


def run_loop(name: str, step: Callable[[], None], every: timedelta, stopping: threading.Event) -> None:
    """On a fixed grid of its own. A step that fails is logged, and the next one comes in its time."""
    next_time = time.monotonic()
    while not stopping.is_set():
        run_step(name, step)
        next_time = max(next_time + every.total_seconds(), time.monotonic())
        stopping.wait(next_time - time.monotonic())
    connection.close()


def run_step(name: str, step: Callable[[], object]) -> bool:
    """False when it raised: a database that is away, locked or full, or a bug. Neither ends the process."""
    try:
        step()
    except DatabaseError as error:
        log.error(
            "database unavailable, retrying",
            extra={"action": "database_failed", "loop": name, "error": str(error)},
        )
        connection.close()
        return False
    except Exception:
        log.exception("step failed", extra={"action": "bug", "loop": name})
        connection.close()
        return False
    return True


class StepFailures:
    """What failed is raised at the end, when all had their turn."""

    def __init__(self) -> None:
        self._failed: list[Exception] = []

    def run(self, part: Callable[[], T], otherwise: T) -> T:
        try:
            return part()
        except Exception as error:  # noqa: BLE001 - raised by `end`
            self._failed.append(error)
            return otherwise

    def end(self) -> None:
        if self._failed:
            raise self._failed[0]


def pause_for_other_writers() -> None:
    """SQLite has one writer at a time, and the next one must not be us again."""
    if connection.vendor == "sqlite":
        time.sleep(_GIVES_WAY_S)
