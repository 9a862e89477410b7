"""Turns of the pollers of an engine: few of them compute at a time, and the others wait.

Threads share one interpreter. When ten of them compute at once, each of them gets it for half a millisecond
in turn, and has to wait for it again after every statement: all ten end late, and together. With turns they
end one after the other in the same time, and an execution that has ended is followed by the next one of its
OLT at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from facho.apps.db.database import is_embedded
from facho.config import Config

# One for the thread that writes, and one for another: SQLite has one writer at a time.
_OF_EMBEDDED: Final = 2


def turns_of(config: Config) -> int:
    """Return how many of the pollers of a process compute at a time.

    Half of them with a server: a thread keeps its turn while it waits for a statement, and the others must be
    able to use that time, however far away the server is. All of them in a worker: the more of them end at
    about the same time, the more results share a transaction.
    """
    if config.broker_url:
        return config.pollers
    return _OF_EMBEDDED if is_embedded() else max(_OF_EMBEDDED, config.pollers // 2)


class Turns:
    """Used as a context by a thread that computes; `released` lends its turn to others while it waits."""

    def __init__(self, at_once: int) -> None:
        self._free = threading.Semaphore(at_once)
        self._mine = threading.local()

    def __enter__(self) -> None:
        self._free.acquire()
        self._mine.held = True

    def __exit__(self, *_: object) -> None:
        self._mine.held = False
        self._free.release()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Let others compute meanwhile. A thread that has no turn, as that of a command, needs none."""
        if not getattr(self._mine, "held", False):
            yield
            return
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()
