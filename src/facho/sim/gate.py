"""A gate holds the requests of a simulated OLT until it is released.

A test of an interruption holds a request, waits until one is held, interrupts, and releases: the walk is then
in the middle, however fast or slow the machine is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Self

from facho.sim.pdu import Pdu
from facho.snmp.values import Oid

# Generous, because it costs nothing when the request comes, and a busy machine may be slow to send it.
PATIENCE_S: Final = 120.0


class Gate:
    """Lets the first `skip` matching requests pass and holds all that follow, repetitions included.

    A request matches when one of its names is `under` the OID; every request does when none is given. The
    gate may be used from any thread; in the OLT's own loop, wait with `asyncio.to_thread`.
    """

    def __init__(self, call_in_loop: Callable[..., object], *, skip: int = 0, under: str = "") -> None:
        self._call_in_loop = call_in_loop
        self._skip = skip
        self._under = Oid.parse(under).content if under else b""
        self._serve: list[Callable[[], None]] = []
        self._held = 0
        self._released = False
        self._changed = threading.Condition()

    @property
    def held(self) -> int:
        """Return how many requests it has held so far, repetitions included."""
        with self._changed:
            return self._held

    @property
    def is_released(self) -> bool:
        with self._changed:
            return self._released

    def wait_until_held(self, count: int = 1, seconds: float = PATIENCE_S) -> None:
        """Block until so many requests were held. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._held >= count, seconds):
                raise TimeoutError(too_few_held(self._held, count, seconds))

    def release(self) -> None:
        """Serve the held requests as if they came now, and hold no more. Does nothing the second time."""
        with self._changed:
            self._released = True
            waiting, self._serve = self._serve, []
        for serve in waiting:
            self._call_in_loop(serve)

    def hold(self, pdu: Pdu, serve: Callable[[], None]) -> bool:
        """Keep `serve` for later if the request matches; False when it may pass."""
        with self._changed:
            if self._released or not self._matches(pdu):
                return False
            if self._skip:
                self._skip -= 1
                return False
            self._serve.append(serve)
            self._held += 1
            self._changed.notify_all()
            return True

    def _matches(self, pdu: Pdu) -> bool:
        return not self._under or any(name.startswith(self._under) for name in pdu.oids)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def too_few_held(held: int, count: int, seconds: float) -> str:
    return f"{held} of {count} requests were held within {seconds:g} s"
