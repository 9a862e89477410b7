"""Rates from the counters of several readings."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from facho.core.rates import (
    Counter,
    Limits,
    RateRule,
    Reading,
    Snapshot,
    compute_rates,
    counter_column,
)

RULES = {"down_octets": RateRule("down_bps")}
WIDE = Counter("down_octets", 64)
SECOND = 1000


def read(before: Sequence[Snapshot], second: int, *values: int | None) -> tuple[list[Snapshot], object]:
    """Return where the next rates begin, and the rates of these counters."""
    ids = array("q", range(len(values)))
    reading = Reading(second * SECOND, None, ids, {WIDE: counter_column(values)})
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
