"""How hard to ask one agent: how many values per request, and how many requests at once.

Pure decisions. The client measures an epoch (a handful of answers at one setting) and `decide` says what to
do next:

* grow one thing at a time, values per request first (they save the agent work), then requests in flight;
* keep a growth only if latency stayed flat or more values per second came of it, else take it back and wait
  longer each time before trying again;
* shrink at once on time-outs, on latency that comes near the time-out, and on latency that rose while several
  of our own requests were queued.

Our own scheduling adds a few milliseconds to what we measure, so inflation under NOISE is taken for flat.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

NOISE: Final = 0.020
WORTH_KEEPING: Final = 1.10
INFLATED: Final = 2.0
DANGER: Final = 0.4
LONGEST_PAUSE: Final = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """What an operator allows for one agent."""

    in_flight: int = 5
    varbinds: int = 50
    requests_per_second: float | None = None

    def __post_init__(self) -> None:
        if self.in_flight < 1 or self.varbinds < 1:
            raise ValueError("limits: at least one request in flight and one varbind a request are needed")
        if self.requests_per_second is not None and self.requests_per_second <= 0:
            raise ValueError("limits: requests per second must be more than 0")


@dataclass(frozen=True, slots=True)
class Learned:
    """What is worth keeping about an agent between two conversations.

    `most_varbinds` is set once the agent said that more is too big for it; it is never tried again.
    """

    varbinds: int = 10
    in_flight: int = 1
    most_varbinds: int | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """What was seen at one setting. `contended` when requests had to wait for one another."""

    answers: int = 0
    timeouts: int = 0
    varbinds: int = 0
    latency: float = 0.0
    contended: bool = False

    @property
    def mean_latency(self) -> float:
        return self.latency / self.answers

    @property
    def rate(self) -> float:
        """Values per second of one request in flight."""
        return self.varbinds / max(self.latency, 1e-9)


@dataclass(frozen=True, slots=True)
class Pace:
    """The setting in force, and what is being tried with it."""

    learned: Learned
    trial: Literal["varbinds", "in_flight"] | None = None
    before: Learned = Learned()
    before_rate: float = 0.0
    before_latency: float = 0.0
    quiet_latency: float = 0.0
    pause: int = 0
    next_pause: int = 4

    @classmethod
    def start(cls, learned: Learned, limits: Limits) -> Pace:
        return cls(within(learned, limits))

    @property
    def epoch_size(self) -> int:
        """Answers that make an epoch: enough that each request in flight was seen twice."""
        return max(4, 2 * self.learned.in_flight)


def within(learned: Learned, limits: Limits) -> Learned:
    return replace(
        learned,
        varbinds=max(1, min(learned.varbinds, most_varbinds(learned, limits))),
        in_flight=max(1, min(learned.in_flight, limits.in_flight)),
    )


def most_varbinds(learned: Learned, limits: Limits) -> int:
    return min(limits.varbinds, learned.most_varbinds or limits.varbinds)


def too_big(pace: Pace, asked: int) -> Pace:
    """The agent cannot answer `asked` values at once, now or later: half of it, for good."""
    half = max(1, asked // 2)
    learned = pace.learned
    most = half if learned.most_varbinds is None else min(half, learned.most_varbinds)
    return Pace(
        replace(learned, varbinds=min(learned.varbinds, most), most_varbinds=most), next_pause=pace.next_pause
    )


def decide(pace: Pace, epoch: Epoch, limits: Limits, timeout: float) -> Pace:
    if epoch.timeouts:
        return _back_off(pace)
    if epoch.mean_latency > DANGER * timeout:
        return _back_off(pace)
    if pace.trial is not None:
        return _judge(pace, epoch, limits)
    if _inflated(pace, epoch):
        return _rest(replace(pace, learned=replace(pace.learned, in_flight=pace.learned.in_flight - 1)))
    if pace.pause:
        return replace(pace, pause=pace.pause - 1, quiet_latency=_quiet(pace, epoch))
    return _grow(pace, epoch, limits)


def _quiet(pace: Pace, epoch: Epoch) -> float:
    """The latency to compare with. Alone in flight we cause no queue, so whatever we see then is the agent's
    own.
    """
    if pace.learned.in_flight == 1 or not pace.quiet_latency:
        return epoch.mean_latency
    return min(pace.quiet_latency, epoch.mean_latency)


def _inflated(pace: Pace, epoch: Epoch) -> bool:
    if pace.learned.in_flight == 1 or not pace.quiet_latency:
        return False
    return epoch.mean_latency > max(INFLATED * pace.quiet_latency, pace.quiet_latency + NOISE)


def _back_off(pace: Pace) -> Pace:
    """Fewer at once; when there is only one, a smaller one. A trial that caused it is undone with it."""
    learned = pace.learned
    if learned.in_flight > 1:
        smaller = replace(learned, in_flight=learned.in_flight // 2)
    else:
        smaller = replace(learned, varbinds=max(1, learned.varbinds // 2))
    return _rest(replace(pace, learned=smaller))


def _rest(pace: Pace) -> Pace:
    return Pace(pace.learned, pause=pace.next_pause, next_pause=min(2 * pace.next_pause, LONGEST_PAUSE))


def _judge(pace: Pace, epoch: Epoch, limits: Limits) -> Pace:
    now, then = epoch.rate, pace.before_rate
    if pace.trial == "in_flight":
        now, then = now * pace.learned.in_flight, then * pace.before.in_flight
    flat = epoch.mean_latency - pace.before_latency < NOISE
    if not flat and now < WORTH_KEEPING * then:
        return _rest(replace(pace, learned=replace(pace.before, most_varbinds=pace.learned.most_varbinds)))
    return _grow(replace(pace, trial=None), epoch, limits)


def _grow(pace: Pace, epoch: Epoch, limits: Limits) -> Pace:
    learned = pace.learned
    most = most_varbinds(learned, limits)
    trial: Literal["varbinds", "in_flight"]
    if learned.varbinds < most:
        trial, larger = "varbinds", replace(learned, varbinds=min(most, 2 * learned.varbinds))
    elif epoch.contended and learned.in_flight < limits.in_flight:
        trial, larger = "in_flight", replace(learned, in_flight=learned.in_flight + 1)
    else:
        return replace(pace, trial=None, quiet_latency=_quiet(pace, epoch))
    return replace(
        pace,
        learned=larger,
        trial=trial,
        before=learned,
        before_rate=epoch.rate,
        before_latency=epoch.mean_latency,
        quiet_latency=_quiet(pace, epoch),
    )


def send_time(now: float, earliest: float, limits: Limits) -> tuple[float, float]:
    """(when this request may leave, the earliest moment for the one after it)."""
    at = max(now, earliest)
    gap = 0.0 if limits.requests_per_second is None else 1.0 / limits.requests_per_second
    return at, at + gap
