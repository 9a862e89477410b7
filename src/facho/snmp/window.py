"""How hard one agent may be asked right now: a window of requests in flight, a rate, and what was learned so
far.

This holds and measures; facho.snmp.adapt decides.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from facho.snmp import adapt

_ENOUGH: Final = 2


class Window:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, decide: adapt.Decide, oldest: Callable[[], float]
    ) -> None:
        """`oldest` says for how long the oldest request has been under way."""
        self.limits = adapt.Limits()
        self.pace = adapt.Pace.start(adapt.Learned(), self.limits)
        # Settings change while requests are under way; what those show is about a setting that is gone.
        self.generation = 0
        self._loop = loop
        self._next_pace = decide
        self._oldest = oldest
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._next_send = 0.0
        self._idle_since = 0.0
        self._epoch_start: float | None = None
        self._largest_answer = 0
        self._suspicions = 0
        self._start_epoch()

    @property
    def varbinds(self) -> int:
        return self.pace.learned.varbinds

    def configure(self, limits: adapt.Limits, learned: adapt.Learned | None) -> None:
        """The limits last given are those in force."""
        self.limits = limits
        start = learned or self.pace.learned
        if learned is not None or adapt.within(start, limits) != start:
            self._follow(adapt.Pace.start(start, limits))

    async def enter(self) -> None:
        """Returns when one more request may be in flight; each call is paired with leave()."""
        if not self._in_flight and self._loop.time() - self._idle_since > adapt.NOISE:
            # Time in which nothing was asked says nothing about the agent.
            self._start_epoch()
        if self._in_flight < self.pace.learned.in_flight and not self._waiting:
            self._in_flight += 1
            return
        self._contended = True
        waiter = self._loop.create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self.leave()
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    @property
    def in_flight(self) -> int:
        return self._in_flight

    def leave(self) -> None:
        self._in_flight -= 1
        self._idle_since = self._loop.time()
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._in_flight < self.pace.learned.in_flight:
            waiter = self._waiting.popleft()
            # Who leaves may be cancelled together with those who wait, and before they could leave the queue.
            if not waiter.cancelled():
                self._in_flight += 1
                waiter.set_result(None)

    async def wait_for_turn(self) -> None:
        if self.limits.requests_per_second is None:
            return
        now = self._loop.time()
        at, self._next_send = adapt.send_time(now, self._next_send, self.limits)
        if at > now:
            await asyncio.sleep(at - now)

    def answered(
        self, asked: int, came: int, octets: int, latency: float, generation: int, timeout: float
    ) -> None:
        """An answer to a request for `asked` values. Only full-sized ones tell what the setting is worth."""
        self._largest_answer = max(self._largest_answer, octets)
        if generation != self.generation or asked < self.varbinds:
            return
        now = self._loop.time()
        if self._epoch_start is None:
            # Up to the first answer, requests of the setting before are still being worked on.
            self._epoch_start = now
            return
        self._answers += 1
        self._varbinds += came
        self._latency += latency
        # Whoever got this answer is out of the window already, and will be back.
        streams = self._in_flight + len(self._waiting) + 1
        if self._answers >= self.pace.epoch_size(streams):
            self._decide(0, now - self._epoch_start, timeout)

    def timed_out(self, generation: int, timeout: float) -> None:
        if generation == self.generation:
            self._decide(1, 0.0, timeout)

    def smaller_worked(self, asked: int, octets: int) -> None:
        """A request for `asked` values was lost or came broken, and one for fewer of the same was answered.

        That happens to any packet. But if an answer of so many octets has never arrived, and it happens
        again, then so large ones do not get through, and are not asked for any more.
        """
        if octets > self._largest_answer:
            self._suspicions += 1
            if self._suspicions >= _ENOUGH:
                self.too_big(asked)

    def too_big(self, asked: int) -> None:
        self._suspicions = 0
        self._follow(adapt.too_big(self.pace, asked))

    def _decide(self, timeouts: int, seconds: float, timeout: float) -> None:
        epoch = adapt.Epoch(
            self._answers,
            timeouts,
            self._varbinds,
            self._latency,
            seconds,
            self._contended,
            self._oldest(),
        )
        self._follow(self._next_pace(self.pace, epoch, self.limits, timeout))

    def _start_epoch(self) -> None:
        self._answers = self._varbinds = 0
        self._latency = 0.0
        self._contended = False
        self._epoch_start = None

    def _follow(self, pace: adapt.Pace) -> None:
        if pace.learned != self.pace.learned:
            self.generation += 1
        self.pace = pace
        self._start_epoch()
        self._admit()
