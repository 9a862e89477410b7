"""A system in small for each way to run: the same engine, another way for an id to reach a poller."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from facho.backends.local import LocalBackend
from facho.config import Config
from facho.engine.clock import database_now
from facho.engine.leases import Keeper
from facho.engine.loop import SchedulerLoop, keep_alive
from facho.engine.pollers import Board, register
from facho.engine.runner import Runtime
from facho.engine.snmp_loop import SnmpLoop


class System(Protocol):
    """What the contract is about, whichever backend it is."""

    def submit(self, execution_id: int) -> None: ...

    def room(self) -> int | None: ...

    def stop(self) -> None: ...

    def assign(self) -> None:
        """Claim what waits and submit it, as the scheduler's loop does."""

    @property
    def ended(self) -> threading.Event:
        """Set whenever a poller is free again."""


class LocalSystem:
    def __init__(self, runtime: Runtime, board: Board) -> None:
        self.ended = threading.Event()
        self._backend = LocalBackend(runtime, board, self.ended.set)
        self._loop = SchedulerLoop(runtime.config, self._backend, board, self.ended)
        self._backend.start()
        self.submit = self._backend.submit
        self.room = self._backend.room
        self.stop = self._backend.stop
        self.assign = self._loop.assign
        self.run = self._loop.run


@contextmanager
def local_system(config: Config) -> Iterator[LocalSystem]:
    name = "contract"
    register(name, config.pollers, database_now())
    ending = threading.Event()
    with SnmpLoop() as snmp:
        runtime = Runtime(config, name, snmp, Keeper(config))
        board = Board(name, config.pollers, database_now())
        system = LocalSystem(runtime, board)
        keeper = threading.Thread(target=keep_alive, args=(runtime, config.pollers, board, ending))
        keeper.start()
        try:
            yield system
        finally:
            system.stop()
            ending.set()
            keeper.join()
