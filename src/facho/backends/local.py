"""Pollers as threads of this process. Ids travel as the messages they would be between machines."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from django.db import DatabaseError, connection

from facho.apps.db import sql
from facho.apps.db.clock import database_now
from facho.apps.executions.models import Execution, State
from facho.backends import message
from facho.engine.process.loops import run_step
from facho.engine.schedule.pollers import PollerActivity
from facho.engine.schedule.runner import Runtime, run_execution

log = logging.getLogger(__name__)

# Of the time to stop in, so much is given to executions to finish by themselves.
_FINISH_SHARE: Final = 0.8


class LocalBackend:
    """`ended` is called whenever a poller is free again."""

    def __init__(self, runtime: Runtime, activity: PollerActivity, ended: Callable[[], None]) -> None:
        self._runtime = runtime
        self._activity = activity
        self._ended = ended
        self._messages: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._taken = 0
        self._threads = [
            threading.Thread(target=self._poll, args=(number,), name=f"poller-{number + 1}", daemon=True)
            for number in range(runtime.config.pollers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, execution_id: int) -> None:
        with self._lock:
            self._taken += 1
        self._messages.put(message.write(execution_id))

    def room(self) -> int:
        with self._lock:
            return len(self._threads) - self._taken

    def stop(self) -> None:
        """Gives executions a while to end, then hands them back."""
        self._give_back_unstarted()
        for _ in self._threads:
            self._messages.put(None)
        until = time.monotonic() + self._runtime.config.stop_within.total_seconds() * _FINISH_SHARE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._runtime.stopping.set()
        self._runtime.keeper.lose_all()
        for thread in self._threads:
            thread.join(self._runtime.config.stop_within.total_seconds() * (1 - _FINISH_SHARE))

    def _give_back_unstarted(self) -> None:
        while True:
            try:
                text = self._messages.get_nowait()
            except queue.Empty:
                return
            if text is not None:
                run_step("stop", partial(unclaim, message.read(text)))

    def _poll(self, number: int) -> None:
        while (text := self._messages.get()) is not None:
            self._run(number, message.read(text))
        connection.close()

    def _run(self, number: int, execution_id: int) -> None:
        try:
            run_execution(
                execution_id, self._runtime, begun=lambda started: self._activity.begin(number, started)
            )
        except DatabaseError as error:
            # Its lease runs out, and it is tried again.
            log.error(
                "database unavailable, execution lost",
                extra={"action": "database_failed", "execution_id": execution_id, "error": str(error)},
            )
            connection.close()
        except Exception:
            log.exception("poller failed", extra={"action": "bug", "execution_id": execution_id})
            connection.close()
        finally:
            run_step("poller", lambda: self._activity.end(number, database_now()))
            sql.release_connection()
            with self._lock:
                self._taken -= 1
            self._ended()


def unclaim(execution_id: int) -> None:
    """It waits again: nobody is going to start it."""
    Execution.objects.filter(id=execution_id, state=State.PENDING).update(
        state=State.WAITING, lease_expires_at=None
    )
