"""Totals and tops of the traffic of an OLT: now, and at the last peak."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import add, attrgetter
from typing import Any, Final, NamedTuple

from facho.core.rates import NONE, Drops, Rates

# So many subjects of an OLT are named, those with the highest rates.
MOST_NAMED: Final = 20
# More than one such part of a total may not be missing in it.
_PARTS_OF_TOTAL: Final = 100
_DAY_MS: Final = 24 * 3_600_000
_HOUR_MS: Final = 3_600_000
# The number under which the history of the ports of an OLT has all of them together; that of its uplinks too.
TOTAL_NUMBER: Final = 0
# The rates of octets: first those that the OLT receives, then those that it sends.
DIRECTIONS: Final[Mapping[str, int]] = {"up_bps": 0, "in_bps": 0, "down_bps": 1, "out_bps": 1}


class TopRate(NamedTuple):
    """The rates of one subject, as the OLT receives and sends them; None where there is none."""

    number: int
    in_bps: int | None
    out_bps: int | None

    @property
    def total(self) -> int:
        return (self.in_bps or 0) + (self.out_bps or 0)


class LastRate(NamedTuple):
    """The last rate of a subject in a direction in which it has none now."""

    number: int
    # 0 for what the OLT receives, 1 for what it sends.
    side: int
    # Milliseconds since 1970.
    at: int
    bps: int


@dataclass(frozen=True, slots=True)
class TrafficTotal:
    """The traffic of all subjects of an OLT at one time; None where it is not known."""

    # Milliseconds since 1970.
    at: int
    in_bps: int | None
    out_bps: int | None
    top: Sequence[TopRate] = ()

    @property
    def total(self) -> int:
        return (self.in_bps or 0) + (self.out_bps or 0)

    def as_json(self) -> list[Any]:
        return [self.at, self.in_bps, self.out_bps, [list(each) for each in self.top]]

    @classmethod
    def from_json(cls, found: Sequence[Any]) -> TrafficTotal:
        at, in_bps, out_bps, top = found
        return cls(at, in_bps, out_bps, [TopRate(*each) for each in top])


def sum_traffic(at: int, ids: Sequence[int], rates: Mapping[str, Rates]) -> TrafficTotal | None:
    """Return the totals of a collection and its highest rates; None if nobody has a rate of octets."""
    sides: list[list[int]] = [[], []]
    given: list[Rates] = [[], []]
    for name, side in DIRECTIONS.items():
        if any(rate is not None for rate in rates.get(name, ())):
            given[side] = rates[name]
            sides[side] = [0 if rate is None else int(rate) for rate in rates[name]]
    if not any(sides):
        return None
    received, sent = (side or [0] * len(ids) for side in sides)
    totals = list(map(add, received, sent))
    chosen = nlargest(MOST_NAMED, zip(totals, range(len(totals)), strict=True))
    top = [
        TopRate(ids[place], *(whole_rate(rates[place]) if rates else None for rates in given))
        for total, place in chosen
        if total
    ]
    in_bps, out_bps = (sum(side) if side else None for side in sides)
    return TrafficTotal(at, in_bps, out_bps, top)


def whole_rate(rate: float | None) -> int | None:
    return None if rate is None else int(rate)


def missing_rates(
    last: Sequence[LastRate],
    ids: Sequence[int],
    rates: Mapping[str, Rates],
    counters: Collection[Sequence[int]] | None = None,
) -> list[LastRate]:
    """Return those of the last rates whose subjects have none now in that direction.

    With the columns of counters a subject of which no counter was read is not missing: it is off.
    """
    numbers = {each.number for each in last}
    places = {number: place for place, number in enumerate(ids) if number in numbers}
    if counters is not None:
        places = {
            number: place
            for number, place in places.items()
            if any(column[place] != NONE for column in counters)
        }
    with_rate = {
        (number, side)
        for name, side in DIRECTIONS.items()
        for number, place in places.items()
        if name in rates and rates[name][place] is not None
    }
    return [
        each
        for each in last
        if (each.number, each.side) not in with_rate and (counters is None or each.number in places)
    ]


def without_missing(total: TrafficTotal, missing: Sequence[LastRate]) -> TrafficTotal:
    """Return the total without the directions of which more than a hundredth is missing."""
    if not missing:
        return total
    in_bps, out_bps = (
        known if known is not None and _PARTS_OF_TOTAL * lost <= known + lost else None
        for known, lost in (
            (known, sum(each.bps for each in missing if each.side == side))
            for side, known in enumerate((total.in_bps, total.out_bps))
        )
    )
    return TrafficTotal(total.at, in_bps, out_bps, total.top)


def keep_peaks(peaks: Sequence[TrafficTotal], now: TrafficTotal) -> list[TrafficTotal]:
    """Return the peaks of the last day with this one: the highest first, and after each those that will be
    the highest when it is a day old. Of an hour one is kept.
    """
    kept = [each for each in peaks if now.at - _DAY_MS < each.at <= now.at and each.total > now.total]
    if kept and kept[-1].at // _HOUR_MS == now.at // _HOUR_MS:
        return kept
    return [*kept, now]


class DropsOfHour(NamedTuple):
    """The rates of an hour that were not stored, and how many counters were read in it."""

    # Milliseconds since 1970.
    hour: int
    values: int
    over: int = 0
    resets: int = 0
    gaps: int = 0

    @property
    def dropped(self) -> int:
        return self.over + self.resets + self.gaps


def count_drops(known: Sequence[DropsOfHour], at: int, values: int, drops: Drops) -> list[DropsOfHour]:
    """Return the hours of the last day, with the drops of a collection added to its own."""
    hour = at - at % _HOUR_MS
    kept = [each for each in known if at - _DAY_MS < each.hour <= hour]
    last = kept.pop() if kept and kept[-1].hour == hour else DropsOfHour(hour, 0)
    sums = map(add, last[1:], (values, drops.over, drops.resets, drops.gaps))
    return [*kept, DropsOfHour(hour, *sums)]


def merge_tops(several: Iterable[Sequence[TopRate]], most: int = MOST_NAMED) -> list[TopRate]:
    """Return the highest rates of all OLTs."""
    every = (each for top in several for each in top)
    return nlargest(most, every, key=attrgetter("total"))


def sum_rates(rates: Iterable[float | None]) -> float | None:
    """Return the sum of the rates that there are; None if there is none."""
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def sum_by_place(places: Sequence[str | None], rates: Mapping[str, Rates]) -> dict[str, list[float | None]]:
    """Return for each place what the OLT receives and sends there; `places` are those of the rates.

    A place where nobody has a rate is left out, and so are rates without a place.
    """
    sums: dict[str, list[float | None]] = {}
    for name, side in DIRECTIONS.items():
        for place, rate in zip(places, rates.get(name, ()), strict=False):
            if place and rate is not None:
                found = sums.setdefault(place, [None, None])
                found[side] = rate + (found[side] or 0)
    return sums
