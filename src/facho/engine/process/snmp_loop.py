"""The one asyncio loop of a process for SNMP, in a thread of its own; pollers submit coroutines and wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

from facho.snmp import Client

T = TypeVar("T")


class SnmpLoop:
    """Started when it is entered. Its clients may be used from its own coroutines only.

    `client` is for executions. `probe_client` is for probes, which keep to limits of their own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="snmp", daemon=True)
        self.client = Client()
        self.probe_client = Client()

    def __enter__(self) -> SnmpLoop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.submit(_close(self.client, self.probe_client)).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)


async def _close(*clients: Client) -> None:
    for client in clients:
        client.close()


class SnmpTask:
    """Runs the coroutines of one execution on the loop, one after the other, until it is cancelled."""

    def __init__(self, snmp: SnmpLoop) -> None:
        self._snmp = snmp
        self._lock = threading.Lock()
        self._cancelled = False
        self._current: Future[Any] | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Raises concurrent.futures.CancelledError when another thread cancelled it."""
        with self._lock:
            future = self._snmp.submit(coroutine)
            self._current = future
            if self._cancelled:
                future.cancel()
        return future.result()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._current is not None:
                self._current.cancel()
