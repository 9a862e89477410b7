"""Pollers as threads of this process. Ids reach them as the messages they would be between machines."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable
from functools import partial

from django.db import connection

from facho.apps.db.database import release_connection, time_for_statement
from facho.apps.executions.store import return_to_queue
from facho.backends.poller_process import FINISH_SHARE, PollerProcess
from facho.engine.process.loops import run_step
from facho.engine.schedule.assign import claim_executions


class LocalBackend:
    """Pollers as threads of this process. `ended` is called whenever one of them is free again.

    A poller whose execution has ended claims the next one itself: mostly it is that of the same OLT, which
    would wait for two other threads to get their turn.
    """

    def __init__(self, process: PollerProcess, ended: Callable[[], None]) -> None:
        self._process = process
        self._ended = ended
        self._stopping = False
        self._messages: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._taken = 0
        self._threads = [
            threading.Thread(target=self._poll, args=(number,), name=f"poller-{number + 1}", daemon=True)
            for number in range(process.runtime.config.pollers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, execution_id: int) -> None:
        with self._lock:
            self._taken += 1
        self._messages.put(write_message(execution_id))

    def free_pollers(self) -> int:
        with self._lock:
            return len(self._threads) - self._taken

    def begin_stop(self) -> None:
        self._stopping = True
        self._return_unstarted()
        for _ in self._threads:
            self._messages.put(None)

    def stop(self) -> None:
        """Give executions a while to end, then hand them back."""
        self.begin_stop()
        runtime = self._process.runtime
        stop_within = runtime.config.stop_within.total_seconds()
        until = time.monotonic() + stop_within * FINISH_SHARE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        runtime.stopping.set()
        runtime.leases.lose_all()
        for thread in self._threads:
            thread.join(stop_within * (1 - FINISH_SHARE))

    def _return_unstarted(self) -> None:
        while True:
            try:
                message = self._messages.get_nowait()
            except queue.Empty:
                return
            if message is not None:
                run_step("stop", partial(return_to_queue, id=read_message(message)))

    def _poll(self, number: int) -> None:
        while (message := self._messages.get()) is not None:
            execution_id: int | None = read_message(message)
            with self._process.runtime.turns:
                while execution_id is not None:
                    self._process.run(execution_id, number)
                    execution_id = self._claim_next()
            release_connection()
            with self._lock:
                self._taken -= 1
            self._ended()
        connection.close()

    def _claim_next(self) -> int | None:
        """Return an execution that is claimed for this poller; None if none waits, or another failed."""
        claimed: list[int] = []
        runtime = self._process.runtime

        def claim() -> None:
            claimed.extend(claim_executions(time_for_statement(runtime.clock), runtime.config, at_most=1))

        if not self._stopping:
            run_step("assign", claim)
        return claimed[0] if claimed else None


def write_message(execution_id: int) -> str:
    """Return what travels to a poller: an id, and nothing that somebody could read on the way."""
    return json.dumps({"execution_id": execution_id})


def read_message(message: str) -> int:
    execution_id = json.loads(message)["execution_id"]
    assert isinstance(execution_id, int)
    return execution_id
