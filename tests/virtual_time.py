"""An event loop whose time passes only when there is nothing to do.

A time-out of a tenth of a second is then exactly that, however busy the machine is: while a datagram is on
its way, or somebody is slow to look at it, the clock stands still. For tests in which both ends of every
socket are in the same loop; nobody else can be waited for.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

# Real time in which the system may bring what was sent: it does so at once, but for what disturbs it.
_DELIVERY_S: Final = 0.005
# What a turn of the loop takes: nothing takes no time at all.
_TURN_S: Final = 1e-6


class _Selector(selectors.DefaultSelector):
    """Moves the time on instead of waiting until a timer is due."""

    # As on a machine that has been up for a while.
    now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += _TURN_S
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            # No timer is set: a thread will wake the loop.
            return super().select()
        ready = super().select(min(timeout, _DELIVERY_S))
        if not ready:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def advance(self, seconds: float) -> None:
        """Let time pass in which nobody had a turn."""
        self._virtual.now += seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
