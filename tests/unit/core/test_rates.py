"""Rates from the counters of several readings."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import pytest

from facho.core.counter_blob import decode_snapshots, encode_snapshots
from facho.core.rates import (
    Counter,
    CounterReading,
    Limits,
    RateRule,
    Snapshot,
    certain_rate,
    compute_rates,
    counter_column,
)

RULES = {"down_octets": RateRule("down_bps")}
WIDE = Counter("down_octets", 64)
SECOND = 1000


def read(before: Sequence[Snapshot], second: int, *values: int | None) -> tuple[list[Snapshot], object]:
    """Return where the next rates begin, and the rates of these counters."""
    ids = array("q", range(len(values)))
    reading = CounterReading(second * SECOND, None, ids, {WIDE: counter_column(values)})
    found = compute_rates(before, reading, RULES, Limits(300 * SECOND))
    return found.snapshots, found.rates.get("down_bps")


def test_a_reading_from_before_our_clock_was_set_back_makes_no_rate() -> None:
    """The second subject was not read while the time of the reading before was still to come."""
    snapshots, _ = read([], 2800, 0, 0)
    snapshots, rates = read(snapshots, 2600, 300, None)
    assert rates == [None, None]
    # Our clock shows 100 seconds since the first reading; 500 have passed.
    snapshots, rates = read(snapshots, 2900, 900, 5_000_000)
    assert rates == [16, None]
    _, rates = read(snapshots, 3200, 900, 5_300_000)
    assert rates == [0, 8000]


def test_a_rate_is_over_the_longest_time_that_may_lie_between_two_readings() -> None:
    """In the first collection, parts that come after the counters take 250 seconds; in the other, none do."""
    ids = array("q", [0])

    def reading(second: int, count: int, ages_s: tuple[int, int]) -> CounterReading:
        first, last = ages_s
        ages_ms = first * SECOND, last * SECOND
        return CounterReading(second * SECOND, None, ids, {WIDE: counter_column([count])}, ages_ms)

    def rate(before: CounterReading, after: CounterReading) -> object:
        limits = Limits(300 * SECOND)
        snapshots = compute_rates([], before, RULES, limits).snapshots
        kept = decode_snapshots(encode_snapshots(snapshots))
        return compute_rates(kept, after, RULES, limits).rates["down_bps"]

    assert rate(reading(255, 0, (255, 250)), reading(310, 300_000, (10, 5))) == [8000]
    # The counters of a long GET: those of the first ONU are as far apart as they began, the last ones less.
    assert rate(reading(120, 0, (120, 0)), reading(320, 300_000, (20, 0))) == [8000]
    # The chart has the time of the end: the rate is no higher than for that interval.
    assert rate(reading(10, 0, (10, 5)), reading(610, 300_000, (310, 305))) == [4000]


@pytest.mark.parametrize(("interval_s", "rate"), [(30, 1_140_000_000), (60, 572_000_000), (300, 114_000_000)])
def test_a_narrow_counter_is_certain_while_it_cannot_come_round_twice(interval_s: int, rate: int) -> None:
    assert certain_rate(32, interval_s) == rate
    assert certain_rate(64, interval_s) is None


def test_errors_that_stand_are_none_also_where_another_job_reads_the_octets_of_the_same_uplinks() -> None:
    octets, errors = Counter("in_octets", 64), Counter("in_errors", 32)
    rules = {"in_octets": RateRule("in_bps"), "in_errors": RateRule("in_errors_s", of_octets=False)}
    snapshots: Sequence[Snapshot] = ()
    rates: list[object] = []
    for second in range(0, 1500, 300):
        for later, counters in ((0, (octets, errors)), (20, (octets,))):
            columns = {each: counter_column([second + later if each is octets else 7]) for each in counters}
            reading = CounterReading((second + later) * SECOND, None, array("q", [0]), columns)
            found = compute_rates(snapshots, reading, rules, Limits(300 * SECOND))
            snapshots = found.snapshots
            rates += [found.rates["in_errors_s"]] if not later else []
            assert found.drops.gaps == 0
    assert rates == [[None], [0], [0], [0], [0]]


NARROW = Counter("down_octets", 32)
ROUND = 1 << 32


def rates_of_narrow(uptimes_s: Sequence[float | None], counts: Sequence[int]) -> list[object]:
    """Return the rate of a counter of 32 bits at each reading, every five minutes."""
    snapshots: Sequence[Snapshot] = []
    found = list[object]()
    for number, (uptime_s, count) in enumerate(zip(uptimes_s, counts, strict=True)):
        columns = {NARROW: counter_column([count])}
        reading = CounterReading(300 * SECOND * number, uptime_s, array("q", [0]), columns)
        computed = compute_rates(snapshots, reading, RULES, Limits(300 * SECOND))
        snapshots = computed.snapshots
        found.append(computed.rates.get("down_bps", [None])[0])
    return found


@pytest.mark.parametrize("uptime_s", [None, 250.0])
def test_a_narrow_counter_came_round_only_if_the_olt_ran_all_the_time(uptime_s: float | None) -> None:
    """An OLT that started counts from zero: what it moved before is not known."""
    counts = [ROUND - 600_000_000, ROUND - 300_000_000, 15_000_000]
    assert rates_of_narrow([9000.0, 9300.0, 9600.0], counts) == [None, 8_000_000, 8_400_000]
    assert rates_of_narrow([9000.0, 9300.0, uptime_s], counts) == [None, 8_000_000, None]


def test_counters_of_two_widths_that_change_places_count_nothing_twice() -> None:
    """While the wide counter of the second subject stands, the first one is read with 32 bits."""
    ids = array("q", [0, 1])
    mbit = 1_000_000

    several: list[dict[Counter, list[int | None]]] = [
        {WIDE: [0, 0]},
        {WIDE: [mbit, mbit]},
        {NARROW: [mbit, None], WIDE: [None, mbit]},
        {NARROW: [2 * mbit, None], WIDE: [None, mbit]},
        {WIDE: [3 * mbit, 2 * mbit]},
    ]
    found, snapshots = [], list[Snapshot]()
    for number, counts in enumerate(several):
        columns = {counter: counter_column(values) for counter, values in counts.items()}
        reading = CounterReading(300 * SECOND * number, None, ids, columns)
        computed = compute_rates(snapshots, reading, RULES, Limits(300 * SECOND))
        snapshots = computed.snapshots
        found.append(computed.rates.get("down_bps"))
    assert found[3:] == [[26_666, None], [None, 8888]]


def test_counters_that_stand_for_long_are_no_gaps() -> None:
    """As those of errors, of which the last one was seen some time ago."""
    snapshots: Sequence[Snapshot] = []
    gaps = 0
    for second, count in ((0, 6), (300, 7), (600, 7), (900, 7), (1200, 7), (1500, 7), (1800, 8)):
        reading = CounterReading(second * SECOND, None, array("q", [0]), {WIDE: counter_column([count])})
        found = compute_rates(snapshots, reading, RULES, Limits(300 * SECOND))
        snapshots, gaps = found.snapshots, gaps + found.drops.gaps
    assert gaps == 0


@pytest.mark.parametrize(
    ("interval_s", "walk_s", "after_s", "rate"),
    [(300, 2, 16, None), (300, 2, 30, 8_000), (300, 20, 45, None), (300, 20, 60, 8_000), (20, 2, 10, 8_000)],
)
def test_a_reading_soon_after_another_makes_no_rate_of_its_own(
    interval_s: int, walk_s: int, after_s: int, rate: int | None
) -> None:
    """How old a counter was when it was read, and when in the walk that was, is not known: over a long time
    that is little, now it is much.
    """

    def reading(second: int) -> CounterReading:
        columns = {WIDE: counter_column([1000 * second])}
        return CounterReading(second * SECOND, None, array("q", [0]), columns, (walk_s * SECOND, 0))

    limits = Limits(interval_s * SECOND)
    snapshots = compute_rates([], reading(0), RULES, limits).snapshots
    found = compute_rates(snapshots, reading(after_s), RULES, limits)
    assert found.rates.get("down_bps", [None]) == [rate]
    found = compute_rates(found.snapshots, reading(after_s + interval_s), RULES, limits)
    assert found.rates["down_bps"] == [8_000]
