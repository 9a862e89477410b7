"""Decides how many values per request, and how many requests at once, one agent is asked for.

The client measures an epoch (a handful of answers at one setting) and `decide` says what to
do next:

* grow one thing at a time, values per request first (they save the agent work), then requests in flight;
* keep a growth only if latency stayed flat or more values per second came of it, else take it back, wait
  longer each time, and try another thing: the other growth, or whether fewer requests in flight do as well;
* judge nothing while a request is overdue: it may be lost, which shows only when its time is out;
* on a time-out, halve. A setting that has long done well comes back after one clean epoch, for packets do get
  lost; one that has not is given up, and not tried again for long;
* but a lone small request to an agent that answers at once was lost on the way: smaller ones would only be
  more of them, to be lost as well;
* shrink too when latency comes near the time-out, or rose while several of our own requests were queued;
* beyond the usual values per request grow only as long as requests and answers fit into one packet, or
  answers in several packets have arrived before. A size beyond the usual at which a request was lost is not
  tried again.

Our own scheduling adds a few milliseconds to what we measure, so inflation under NOISE is taken for flat.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from facho.snmp import pacing

NOISE: Final = 0.020
WORTH_KEEPING: Final = 1.10
NEARLY_DOUBLE: Final = 1.7
INFLATED: Final = 2.0
DANGER: Final = 0.4
# A share of the time-out: an agent that answers so soon does not reach it by itself.
AT_ONCE: Final = 0.1
# Losses without an answer in between, before they are not taken for chance any more.
MOST_EXCUSED: Final = 3
# A request that takes so many times as long as the others, and longer than this, is overdue.
OVERDUE: Final = 4.0
OVERDUE_S: Final = 0.1
LONGEST_PAUSE: Final = 64
# Clean epochs that one lost packet uses up, and the most that can be saved for that.
COST_OF_LOSS: Final = 8
MOST_CREDIT: Final = 64
# Octets of bindings that fit into one packet of Ethernet with all that is around them.
PACKET: Final = 1_400
# A UDP payload of this size still fits; a larger one came in several packets.
_LARGEST_IN_PACKET: Final = 1_472


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that an operator sets for one agent.

    `varbinds` is the usual number of values per request. An agent that does well with it is asked for more,
    up to `most_varbinds`, where that is larger.
    """

    in_flight: int = 5
    varbinds: int = 50
    requests_per_second: float | None = None
    most_varbinds: int = 0

    def __post_init__(self) -> None:
        if self.in_flight < 1 or self.varbinds < 1:
            raise ValueError("limits: at least one request in flight and one varbind a request are needed")
        if self.requests_per_second is not None and self.requests_per_second <= 0:
            raise ValueError("limits: requests per second must be more than 0")


@dataclass(frozen=True, slots=True)
class Learned:
    """The settings of an agent that are kept between conversations.

    `most_varbinds` is set once the agent said that more is too big for it, or did not answer when it was
    asked for more than usual; it is never tried again. `fragments`: an answer in several packets has arrived.
    """

    varbinds: int = 20
    in_flight: int = 2
    most_varbinds: int | None = None
    fragments: bool = False


@dataclass(frozen=True, slots=True)
class Epoch:
    """Measurements at one setting.

    `latency` is the sum of all answers', `seconds` the time in which they came. `contended` when requests had
    to wait for one another; `oldest` is how long the oldest has been under way. `sent` and `received` are the
    octets of names in GETs and of bindings in answers.
    """

    answers: int = 0
    timeouts: int = 0
    varbinds: int = 0
    latency: float = 0.0
    seconds: float = 0.0
    contended: bool = False
    oldest: float = 0.0
    sent: int = 0
    received: int = 0
    fragments: bool = False

    @property
    def mean_latency(self) -> float:
        return self.latency / self.answers

    @property
    def rate(self) -> float:
        """Return values per second."""
        return self.varbinds / max(self.seconds, 1e-9)

    @property
    def most_in_packet(self) -> int | None:
        """Return how many values fit into one packet; None where several packets do no harm.

        Requests always have to fit: that an agent sends answers in several packets does not show that it
        receives such requests.
        """
        octets = self.sent if self.fragments else max(self.sent, self.received)
        return PACKET * self.varbinds // octets if octets else None

    @property
    def overdue(self) -> bool:
        return self.oldest > max(OVERDUE * self.mean_latency, OVERDUE_S)


# What can be tried, in this order; after one that failed, the next in turn.
Trial = Literal["varbinds", "in_flight", "fewer"]
_TURNS: Final[tuple[Trial, ...]] = ("varbinds", "in_flight", "fewer")


@dataclass(frozen=True, slots=True)
class Pace:
    """The setting in force, the best one that has proved itself, and what is being tried."""

    learned: Learned
    proven: Learned
    credit: int = 0
    trial: Trial | None = None
    failed: Trial | None = None
    before_rate: float = 0.0
    before_latency: float = 0.0
    quiet_latency: float = 0.0
    # Clean epochs to wait before anything more is tried, and before more in flight are.
    pause: int = 0
    in_flight_pause: int = 0
    next_pause: int = 4
    # Losses in a row that were taken for chance.
    excused: int = 0

    @classmethod
    def start(cls, learned: Learned, limits: Limits) -> Pace:
        allowed = within(learned, limits)
        return cls(allowed, allowed)

    def epoch_size(self, streams: int) -> int:
        """Answers that make an epoch, when `streams` conversations take turns.

        Enough that each request in flight is seen twice, and each of the streams equally often: they may ask
        for tables that cost the agent very differently.
        """
        return streams * (2 * self.learned.in_flight // streams + 1)


def within(learned: Learned, limits: Limits) -> Learned:
    return replace(
        learned,
        varbinds=max(1, min(learned.varbinds, most_varbinds(learned, limits))),
        in_flight=max(1, min(learned.in_flight, limits.in_flight)),
    )


def most_varbinds(learned: Learned, limits: Limits) -> int:
    most = max(limits.varbinds, limits.most_varbinds)
    return min(most, learned.most_varbinds or most)


def too_big(pace: Pace, asked: int) -> Pace:
    """Ask for fewer values for good: the agent cannot answer `asked` at once. Half as many, or as many as
    before a trial.
    """
    before = pace.proven.varbinds if pace.trial == "varbinds" and pace.proven.varbinds < asked else 0
    most = max(1, min(max(asked // 2, before), pace.learned.most_varbinds or asked))
    return _settle(pace, replace(pace.learned, varbinds=min(pace.learned.varbinds, most), most_varbinds=most))


Decide = Callable[[Pace, Epoch, Limits, float], Pace]


def decide(pace: Pace, epoch: Epoch, limits: Limits, timeout: float) -> Pace:
    if epoch.timeouts:
        if _lost_on_the_way(pace, epoch, timeout):
            return replace(pace, excused=0 if epoch.answers else pace.excused + 1)
        return _lost(pace, limits)
    if epoch.mean_latency > DANGER * timeout:
        return _settle(pace, _half(pace.learned))
    if epoch.overdue:
        return pace
    if pace.trial is not None:
        return _judge(pace, epoch, limits)
    if _inflated(pace, epoch):
        return _settle(pace, replace(pace.learned, in_flight=pace.learned.in_flight - 1))
    if pace.learned != pace.proven:
        return replace(pace, learned=pace.proven)
    pace = replace(
        pace,
        credit=min(pace.credit + 1, MOST_CREDIT),
        quiet_latency=_quiet(pace, epoch),
        in_flight_pause=max(0, pace.in_flight_pause - 1),
        excused=0,
    )
    if pace.pause:
        return replace(pace, pause=pace.pause - 1)
    return _try_next(pace, epoch, limits)


def _lost(pace: Pace, limits: Limits) -> Pace:
    """Return the pace after a request that was not answered in time."""
    if pace.trial == "varbinds" and pace.learned.varbinds > limits.varbinds:
        pace = replace(pace, proven=replace(pace.proven, most_varbinds=pace.proven.varbinds))
    if pace.trial is None and pace.credit >= COST_OF_LOSS:
        return replace(pace, learned=_half(pace.learned), credit=pace.credit - COST_OF_LOSS)
    settled = _settle(pace, pace.proven if pace.trial is not None else _half(pace.learned))
    if settled.learned.in_flight < pace.learned.in_flight:
        return replace(settled, in_flight_pause=LONGEST_PAUSE)
    return replace(settled, pause=LONGEST_PAUSE)


def _lost_on_the_way(pace: Pace, epoch: Epoch, timeout: float) -> bool:
    latency = epoch.mean_latency if epoch.answers else pace.quiet_latency
    small = pace.learned.in_flight == 1 and pace.learned.varbinds <= Learned().varbinds
    by_chance = pace.trial is None and (epoch.answers or pace.excused < MOST_EXCUSED)
    return bool(small and by_chance) and 0.0 < latency < AT_ONCE * timeout


def _half(learned: Learned) -> Learned:
    """Return half as many requests in flight; with only one, half as many values."""
    if learned.in_flight > 1:
        return replace(learned, in_flight=learned.in_flight // 2)
    return replace(learned, varbinds=max(1, learned.varbinds // 2))


def _settle(pace: Pace, learned: Learned) -> Pace:
    """Keep these settings; nothing more is tried for a while, which gets longer each time."""
    return Pace(
        learned,
        learned,
        failed=pace.trial,
        pause=pace.next_pause,
        in_flight_pause=pace.in_flight_pause,
        next_pause=min(2 * pace.next_pause, LONGEST_PAUSE),
    )


def _quiet(pace: Pace, epoch: Epoch) -> float:
    """Return the latency to compare with: that of one request in flight, which causes no queue."""
    if pace.learned.in_flight == 1 or not pace.quiet_latency:
        return epoch.mean_latency
    return min(pace.quiet_latency, epoch.mean_latency)


def _inflated(pace: Pace, epoch: Epoch) -> bool:
    if pace.learned.in_flight == 1 or not pace.quiet_latency:
        return False
    return epoch.mean_latency > max(INFLATED * pace.quiet_latency, pace.quiet_latency + NOISE)


def _judge(pace: Pace, epoch: Epoch, limits: Limits) -> Pace:
    now, then = epoch.rate, pace.before_rate
    if pace.trial == "fewer":
        enough = now * WORTH_KEEPING > then
        # Then more in flight were no use before, either.
        return (
            _settle(replace(pace, trial="in_flight"), pace.learned) if enough else _settle(pace, pace.proven)
        )
    flat = epoch.mean_latency - pace.before_latency < NOISE
    if not flat and now < WORTH_KEEPING * then:
        return _settle(pace, pace.proven)
    kept = replace(pace, trial=None, proven=pace.learned, quiet_latency=_quiet(pace, epoch))
    return _try_next(kept, epoch, limits, doubled=now > NEARLY_DOUBLE * then)


def _try_next(pace: Pace, epoch: Epoch, limits: Limits, *, doubled: bool = False) -> Pace:
    """Try the next change. `doubled`: the last growth nearly doubled the rate."""
    first = 0 if pace.failed is None else _TURNS.index(pace.failed) + 1
    for trial in _TURNS[first:] + _TURNS[:first]:
        tried = _changed(pace, trial, epoch, limits, doubled)
        if tried != pace.learned:
            return replace(
                pace, learned=tried, trial=trial, before_rate=epoch.rate, before_latency=epoch.mean_latency
            )
    return pace


def _changed(pace: Pace, trial: Trial, epoch: Epoch, limits: Limits, doubled: bool) -> Learned:
    """Return the settings to try; the same when there is nothing to try."""
    learned = pace.learned
    if trial == "varbinds":
        return replace(learned, varbinds=_more_varbinds(learned, epoch, limits))
    if not epoch.contended:
        return learned
    if trial == "in_flight":
        more = learned.in_flight * 2 if doubled else learned.in_flight + 1
        if pace.in_flight_pause:
            return learned
        return replace(learned, in_flight=min(limits.in_flight, more))
    # Fewer only where more were of no use.
    fewer = learned.in_flight - 1 if pace.failed == "in_flight" else learned.in_flight
    return replace(learned, in_flight=max(1, fewer))


def _more_varbinds(learned: Learned, epoch: Epoch, limits: Limits) -> int:
    """Return twice as many, or all that are allowed when that is not much more."""
    varbinds, most = learned.varbinds, most_varbinds(learned, limits)
    if varbinds < limits.varbinds:
        most = min(most, limits.varbinds)
    elif epoch.most_in_packet is not None:
        most = max(varbinds, min(most, epoch.most_in_packet))
    return most if 3 * varbinds > most else 2 * varbinds


def send_time(now: float, earliest: float, limits: Limits) -> tuple[float, float]:
    """Return when this request may be sent, and the earliest time for the next one."""
    at = max(now, earliest)
    gap = 0.0 if limits.requests_per_second is None else 1.0 / limits.requests_per_second
    return at, at + gap


# `facho.snmp.pacing` decides how the settings change.
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
        self._fragments = False
        self._suspicions = 0
        self._start_epoch()

    @property
    def varbinds(self) -> int:
        return self.pace.learned.varbinds

    @property
    def learned(self) -> pacing.Learned:
        return replace(self.pace.learned, fragments=self._fragments)

    def configure(self, limits: pacing.Limits, learned: pacing.Learned | None) -> None:
        """Take new limits, and the settings learned in an earlier conversation."""
        self.limits = limits
        start = learned or self.pace.learned
        self._fragments |= start.fragments
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
        self,
        asked: int,
        received: int,
        octets: int,
        latency: float,
        generation: int,
        timeout: float,
        sent: int = 0,
    ) -> None:
        """Measure an answer to a request for `asked` values. Only full-sized requests count.

        `octets` and `sent` are the sizes of the bindings of the answer and of a GET.
        """
        if octets > self._largest_answer:
            self._largest_answer = octets
            self._fragments |= octets > _LARGEST_IN_PACKET
        if generation != self.generation or asked < self.varbinds:
            return
        now = self._loop.time()
        if self._epoch_start is None:
            # Until the first answer the agent still works on requests of the settings before.
            self._epoch_start = now
            return
        self._answers += 1
        self._varbinds += received
        self._received += octets
        self._sent += sent
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
            self._sent,
            self._received,
            self._fragments,
        )
        self._apply(self._decide_pace(self.pace, epoch, self.limits, timeout))

    def _start_epoch(self) -> None:
        self._answers = self._varbinds = self._sent = self._received = 0
        self._latency = 0.0
        self._contended = False
        self._epoch_start = None

    def _apply(self, pace: pacing.Pace) -> None:
        if pace.learned != self.pace.learned:
            self.generation += 1
        self.pace = pace
        self._start_epoch()
        self._admit()
