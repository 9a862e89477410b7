"""The requests to one agent that may be in flight: number, rate, and the measuring of answers.

`facho.snmp.pacing` decides how the settings change.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from facho.snmp import pacing

_SUSPICIONS_NEEDED: Final = 2


class RequestWindow:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, decide: pacing.Decide, oldest: Callable[[], float]
    ) -> None:
        """`oldest` returns for how many seconds the oldest request has been under way."""
        self.limits = pacing.Limits()
        self.pace = pacing.Pace.start(pacing.Learned(), self.limits)
        # Counts changes of the settings: answers to requests of earlier settings are not measured.
        self.generation = 0
        self._loop = loop
        self._decide_pace = decide
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

    def configure(self, limits: pacing.Limits, learned: pacing.Learned | None) -> None:
        """Take new limits, and the settings learned in an earlier conversation."""
        self.limits = limits
        start = learned or self.pace.learned
        if learned is not None or pacing.within(start, limits) != start:
            self._apply(pacing.Pace.start(start, limits))

    async def enter(self) -> None:
        """Wait until one more request may be in flight; each call is paired with leave()."""
        if not self._in_flight and self._loop.time() - self._idle_since > pacing.NOISE:
            # Idle time says nothing about the agent.
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
            # A waiter that was cancelled may still be in the queue.
            if not waiter.cancelled():
                self._in_flight += 1
                waiter.set_result(None)

    async def wait_for_turn(self) -> None:
        if self.limits.requests_per_second is None:
            return
        now = self._loop.time()
        at, self._next_send = pacing.send_time(now, self._next_send, self.limits)
        if at > now:
            await asyncio.sleep(at - now)

    def answered(
        self, asked: int, received: int, octets: int, latency: float, generation: int, timeout: float
    ) -> None:
        """Measure an answer to a request for `asked` values. Only full-sized requests count."""
        self._largest_answer = max(self._largest_answer, octets)
        if generation != self.generation or asked < self.varbinds:
            return
        now = self._loop.time()
        if self._epoch_start is None:
            # Until the first answer the agent still works on requests of the settings before.
            self._epoch_start = now
            return
        self._answers += 1
        self._varbinds += received
        self._latency += latency
        # The one that got this answer has left the window and will be back.
        streams = self._in_flight + len(self._waiting) + 1
        if self._answers >= self.pace.epoch_size(streams):
            self._decide(0, now - self._epoch_start, timeout)

    def timed_out(self, generation: int, timeout: float) -> None:
        if generation == self.generation:
            self._decide(1, 0.0, timeout)

    def smaller_worked(self, asked: int, octets: int) -> None:
        """Note that a request for `asked` values was lost, and one for fewer of the same was answered.

        Any packet can be lost. But if no answer of so many octets has ever arrived, and this happens again,
        answers of that size do not get through, and are not asked for any more.
        """
        if octets > self._largest_answer:
            self._suspicions += 1
            if self._suspicions >= _SUSPICIONS_NEEDED:
                self.too_big(asked)

    def too_big(self, asked: int) -> None:
        self._suspicions = 0
        self._apply(pacing.too_big(self.pace, asked))

    def _decide(self, timeouts: int, seconds: float, timeout: float) -> None:
        epoch = pacing.Epoch(
            self._answers,
            timeouts,
            self._varbinds,
            self._latency,
            seconds,
            self._contended,
            self._oldest(),
        )
        self._apply(self._decide_pace(self.pace, epoch, self.limits, timeout))

    def _start_epoch(self) -> None:
        self._answers = self._varbinds = 0
        self._latency = 0.0
        self._contended = False
        self._epoch_start = None

    def _apply(self, pace: pacing.Pace) -> None:
        if pace.learned != self.pace.learned:
            self.generation += 1
        self.pace = pace
        self._start_epoch()
        self._admit()
