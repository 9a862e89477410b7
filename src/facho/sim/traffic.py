"""The traffic of a simulated OLT: its counters are functions of what is counted and of the time.

A few dozen flows say how the traffic of a week goes: quiet nights, busy evenings, other weekends. A customer
has one of them each way, times a rate of its own. The integral of a flow is known for each of its steps, so
that a counter costs one multiplication at any time, and nothing while nobody asks.
"""

from __future__ import annotations

import enum
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from operator import mul, sub
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from facho.sim.model import OltModel

UP: Final = 0
DOWN: Final = 1
_HOUR: Final = 3600.0
_WEEK: Final = 7 * 24 * _HOUR
_STEP: Final = 600.0
_STEPS: Final = round(_WEEK / _STEP)
# Midnight in the Americas, in UTC; and the days of a week that begins on a Thursday, as 1970 did.
_MIDNIGHT_S: Final = 4 * _HOUR
_WEEKEND: Final = (2, 3)
# The traffic of each hour of a day.
_HOME: Final = (
    75, 50, 32, 22, 18, 18, 25, 40, 50, 52, 55, 60, 70, 72, 72, 78, 90, 105, 130, 160, 190, 200, 175, 120,
)  # fmt: skip
_HOME_AT_WEEKENDS: Final = (
    105, 80, 55, 35, 25, 20, 22, 35, 60, 85, 100, 110,
    120, 122, 120, 118, 120, 130, 145, 165, 185, 195, 180, 140,
)  # fmt: skip
_OFFICE: Final = (
    12, 10, 10, 25, 15, 10, 15, 40, 120, 210, 230, 220, 150, 170, 220, 225, 215, 160, 80, 40, 30, 22, 18, 15,
)  # fmt: skip
_OFFICE_AT_WEEKENDS: Final = (10,) * 8 + (20,) * 10 + (12,) * 6
_STEADY: Final = (90, 85, 80, 78, 76, 76, 80, 88, 94, 98, 100, 102, *(104,) * 6, 108, 115, 120, 122, 115, 100)
# So many flows of each kind; their numbers are in this order.
_KINDS: Final = (
    (50, _HOME, _HOME_AT_WEEKENDS), (10, _STEADY, _STEADY), (4, _OFFICE, _OFFICE_AT_WEEKENDS),
)  # fmt: skip
_FLOWS: Final = sum(count for count, *_ in _KINDS)
_FIRST_OFFICE: Final = 60
# Flows of what is not traffic: errors come now and then, discards in the busiest hours.
_ERRORS: Final = _FLOWS
_DISCARDS: Final = _FLOWS + 1
_EVENTS_PER_S: Final = 0.003
# So many of them say how busy it is.
_ASKED_HOMES: Final = 16
# Octets a second of the customer in the middle, and of the heaviest.
_MEDIAN: Final = 1.2e6 / 8
_HEAVIEST: Final = 25e6 / 8
_SPREAD: Final = 1.1
# What each uplink carries; the others stand by.
UPLINK_SHARES: Final = (0.62, 0.38)


class CounterFault(enum.StrEnum):
    """The faults of the counters of an OLT."""

    # At the end of each period they go back by half of what they moved in it.
    BACK = "back"
    # In every second period they are higher by very much.
    JUMP = "jump"
    # In every second period they stand: the agent answers from its cache.
    REPEAT = "repeat"
    # In every second period their columns are not there.
    GONE = "gone"
    # They have 32 bits, always; or in every first period.
    NARROW = "narrow"
    WIDEN = "widen"


@dataclass(frozen=True, slots=True)
class Counting:
    """How an OLT counts: how often it updates its counters, and which faults they have."""

    counters_s: float = 5.0
    # Names of CounterFault, and how long they are there, and then not.
    counter_faults: tuple[str, ...] = ()
    counter_fault_s: float = 600.0

    def is_faulty(self, fault: str, now: float) -> bool:
        """Return whether counters have a fault now: in every second period."""
        return fault in self.counter_faults and int(now // self.counter_fault_s) % 2 == 1

    def is_narrow(self, now: float) -> bool:
        """Return whether counters that would have 64 bits have 32 now."""
        widens = CounterFault.WIDEN in self.counter_faults and not self.is_faulty(CounterFault.WIDEN, now)
        return widens or CounterFault.NARROW in self.counter_faults

    def period(self, now: float) -> float:
        """Return when the period of faults began."""
        return now // self.counter_fault_s * self.counter_fault_s


class _Flow:
    """What passes in a week, in steps; 1 a second in the mean."""

    def __init__(self, levels: Sequence[float]) -> None:
        mean = sum(levels) / len(levels)
        self._levels = array("d", [level / mean for level in (*levels, levels[0])])
        between = ((before + after) / 2 * _STEP for before, after in pairwise(self._levels))
        self._moved = array("d", accumulate(between, initial=0.0))

    def moved(self, now: float) -> float:
        """Return what has passed since 1970. Between two steps the rate changes evenly."""
        weeks, second = divmod(now - _MIDNIGHT_S, _WEEK)
        step = min(int(second / _STEP), _STEPS - 1)
        since = second - step * _STEP
        level, after = self._levels[step : step + 2]
        rise = (after - level) * since / (2 * _STEP)
        return weeks * self._moved[_STEPS] + self._moved[step] + since * (level + rise)


@cache
def _flows() -> tuple[_Flow, ...]:
    random = Random("flows")
    usual = [
        _Flow(_shaken(_week(day, weekend), random)) for count, day, weekend in _KINDS for _ in range(count)
    ]
    errors = [random.random() ** 40 + 1e-4 for _ in range(_STEPS)]
    discards = [max(0.0, level - 150) + 0.05 for level in _shaken(_week(_HOME, _HOME_AT_WEEKENDS), random)]
    return (*usual, _Flow(errors), _Flow(discards))


def _week(day: Sequence[int], weekend: Sequence[int]) -> list[float]:
    """Return the level at each step of a week, as on average."""
    hours = [level for number in range(7) for level in (weekend if number in _WEEKEND else day)]
    per_hour = round(_HOUR / _STEP)
    return [
        before + (after - before) * part / per_hour
        for before, after in pairwise((*hours, hours[0]))
        for part in range(per_hour)
    ]


def _shaken(levels: Sequence[float], random: Random) -> list[float]:
    """Return the levels with what customers do: more or less for a while, and bursts."""
    found, mood = [], 0.0
    for level in levels:
        mood = 0.8 * mood + random.gauss(0.0, 0.25)
        burst = 1.0 + 2.0 * (random.random() < 0.03)
        found.append(level * math.exp(mood) * burst)
    return found


@lru_cache(maxsize=64)
def _moved_until(now: float) -> tuple[float, ...]:
    """Return what has passed in each flow."""
    return tuple(flow.moved(now) for flow in _flows())


class OltTraffic:
    """The counters of one OLT. They began when it started, and those of an ONU when that came, if later."""

    def __init__(self, model: OltModel) -> None:
        self._model = model
        rows = range(model.shape.onus)
        # By direction: the flow of each ONU, and its octets a second.
        flows = array("B", ((model.noise(row) >> 33) % _FLOWS for row in rows))
        # The neighbour of a flow is of the same kind.
        self._flow = (array("B", (flow ^ 1 for flow in flows)), flows)
        down = array("d", map(self._octets_per_s, rows))
        up = array("d", (each * self._upstream_share(row) for row, each in enumerate(down)))
        self._weight = (up, down)
        self._initial = [model.initial_state(row) for row in rows]
        self._offline_first = frozenset(row for row in rows if not self._initial[row].online)
        self._port_weights = [
            [self._weights(port, direction) for direction in (UP, DOWN)] for port in range(model.shape.ports)
        ]
        self._begun_for = math.nan
        self._begun: tuple[array[float], ...] = ()

    def _octets_per_s(self, row: int) -> float:
        share = ((self._model.noise(row) >> 17 & 0xFFFF) + 0.5) / 0x10000
        return min(_HEAVIEST, _MEDIAN * math.exp(_SPREAD * NormalDist().inv_cdf(share)))

    def _upstream_share(self, row: int) -> float:
        share = 0.04 + (self._model.noise(row) >> 11 & 0xFF) / 0x100 * 0.16
        return share * (3 if self._flow[UP][row] >= _FIRST_OFFICE else 1)

    def _weights(self, port: int, direction: int) -> list[float]:
        """Return the octets a second of a port's ONUs that were online from the start, by flow."""
        found = [0.0] * _FLOWS
        for row in self._model.shape.rows_of_port(port):
            if row not in self._offline_first:
                found[self._flow[direction][row]] += self._weight[direction][row]
        return found

    def onu_octets(self, row: int, direction: int, now: float) -> int:
        """Return the counter of an ONU. One that is offline keeps its counter until it returns."""
        model = self._model
        if model.booted_at != self._begun_for:
            self._begin()
        flow, weight = self._flow[direction][row], self._weight[direction][row]
        if row not in self._offline_first and not model.has_changed(row):
            return max(0, int(weight * (_moved_until(now)[flow] - self._begun[direction][row])))
        state = model.state(row, now)
        until = now if state.online else state.last_down
        since = max(model.booted_at, state.last_up or 0.0)
        return 0 if until is None else int(weight * _passed(flow, since, until))

    def _begin(self) -> None:
        """Work out where the counters of ONUs began; anew when the OLT has started since."""
        booted_at = self._begun_for = self._model.booted_at
        starts = [max(booted_at, state.last_up or 0.0) for state in self._initial]
        self._begun = tuple(
            array("d", (_flows()[flow].moved(start) for flow, start in zip(flows, starts, strict=True)))
            for flows in self._flow
        )

    def port_octets(self, port: int, direction: int, now: float) -> int:
        """Return the counter of a port: what its ONUs have moved since the OLT started."""
        booted_at = self._model.booted_at
        if now <= booted_at:
            return 0
        passed = list(map(sub, _moved_until(now), _moved_until(booted_at)))
        total = sum(map(mul, passed, self._port_weights[port][direction]))
        for row in self._model.shape.rows_of_port(port):
            if row in self._offline_first or row in self._model.changed_states:
                usual = 0.0 if row in self._offline_first else passed[self._flow[direction][row]]
                total += self._weight[direction][row] * (self._online(row, direction, booted_at, now) - usual)
        return int(total)

    def _online(self, row: int, direction: int, since: float, now: float) -> float:
        """Return what passed while an ONU was online, also before its outages. Flapping is no outage here."""
        flow = self._flow[direction][row]
        state = self._model.changed_states.get(row) or self._initial[row]
        until = now if state.online else state.last_down
        if until is None:
            return 0.0
        outages = self._model.outages.get(row, ())
        lost = sum(_passed(flow, max(since, down), min(until, up)) for down, up in outages)
        return _passed(flow, since, until) - lost

    def uplink_octets(self, link: int, direction: int, now: float) -> int:
        if link >= len(UPLINK_SHARES):
            return 0
        ports = (self.port_octets(port, direction, now) for port in range(self._model.shape.ports))
        return int(UPLINK_SHARES[link] * sum(ports))

    def uplink_errors(self, link: int, now: float) -> int:
        return self._events(link, _ERRORS, now)

    def uplink_discards(self, link: int, now: float) -> int:
        return self._events(link, _DISCARDS, now)

    def _events(self, link: int, flow: int, now: float) -> int:
        share = UPLINK_SHARES[link] if link < len(UPLINK_SHARES) else 0.0
        return int(_EVENTS_PER_S * share * _passed(flow, self._model.booted_at, now))

    def onu_rates(self, direction: int, since: float, until: float) -> list[float]:
        """Return the bits per second of each ONU, as if all had been online all the time."""
        per_second = 8 / (until - since)
        moved = [
            (after - before) * per_second
            for before, after in zip(_moved_until(since), _moved_until(until), strict=True)
        ]
        return list(map(mul, self._weight[direction], map(moved.__getitem__, self._flow[direction])))

    def uplink_events(self, since: float, until: float) -> dict[str, list[float]]:
        """Return the errors and discards per second of the busy uplinks, by the names of rates."""
        errors, discards = (
            [_EVENTS_PER_S * share * _passed(flow, since, until) / (until - since) for share in UPLINK_SHARES]
            for flow in (_ERRORS, _DISCARDS)
        )
        return {
            "in_errors_s": errors,
            "out_errors_s": [0.0] * len(UPLINK_SHARES),
            "in_discards_s": discards,
            "out_discards_s": [each / 3 for each in discards],
        }

    def onu_moved(self, row: int, direction: int, now: float) -> int:
        """Return what an ONU has moved since 1970: an account that never starts anew.

        An ONU that flaps is taken as always online.
        """
        return int(self._weight[direction][row] * self._online(row, direction, 0.0, now))


def busyness(now: float) -> float:
    """Return how much homes have moved in the last half hour: 1 in the mean of a week."""
    since = now - _HOUR / 2
    return sum(_passed(flow, since, now) for flow in range(_ASKED_HOMES)) / (now - since) / _ASKED_HOMES


def _passed(flow: int, since: float, until: float) -> float:
    return 0.0 if until <= since else _flows()[flow].moved(until) - _flows()[flow].moved(since)
