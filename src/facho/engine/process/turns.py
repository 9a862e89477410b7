"""Turns of the pollers of one process: few of them compute at a time, and the others wait.

Threads share one interpreter. When ten of them compute at once, each of them gets it for half a millisecond
in turn, and has to wait for it again after every statement: all ten end late, and together. With turns they
end one after the other in the same time, and an execution that has ended is followed by the next one of its
OLT at once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from facho.apps.db.database import is_embedded

# One for the thread that writes, and one for another: SQLite has one writer at a time.
_OF_EMBEDDED: Final = 2


def turns_of(pollers: int) -> int:
    """Return how many of the pollers of a process compute at a time.

    Half of them with a server: a thread keeps its turn while it waits for a statement, and the others must be
    able to use that time, however far away the server is.
    """
    return _OF_EMBEDDED if is_embedded() else max(_OF_EMBEDDED, pollers // 2)


class Turns:
    """Used as a context by a thread that computes; `released` lends its turn to others while it waits."""

    def __init__(self, at_once: int) -> None:
        self._guard = threading.Lock()
        self._free = at_once
        # Locks of threads that wait, which get a turn by their release. Those of the first queue go first.
        self._waiting: tuple[deque[threading.Lock], deque[threading.Lock]] = (deque(), deque())
        self._mine = threading.local()

    def __enter__(self) -> None:
        self._take(goes_first=False)

    def __exit__(self, *_: object) -> None:
        self._mine.held = False
        with self._guard:
            queue = next(filter(None, self._waiting), None)
            if queue is None:
                self._free += 1
            else:
                queue.popleft().release()

    @contextmanager
    def released(self, *, returns_first: bool = False) -> Iterator[None]:
        """Let others compute meanwhile. A thread that has no turn, as that of a command, needs none.

        `returns_first` gives a turn back before those that have not begun yet: what is left to do is short,
        and others wait for it.
        """
        if not getattr(self._mine, "held", False):
            yield
            return
        self.__exit__()
        try:
            yield
        finally:
            self._take(goes_first=returns_first)

    def _take(self, *, goes_first: bool) -> None:
        handed_over = threading.Lock()
        with self._guard:
            if self._free:
                self._free -= 1
            else:
                handed_over.acquire()
                self._waiting[0 if goes_first else 1].append(handed_over)
        with handed_over:
            self._mine.held = True
