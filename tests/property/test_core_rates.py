"""Rates from counters: whatever counters do, no more is stored than what they moved."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from facho.core.history_facts import FACTS
from facho.core.rates import (
    NONE,
    Counter,
    CounterReading,
    Limits,
    RateResult,
    RateRule,
    Snapshot,
    compute_rates,
    counter_column,
)
from tests.hypothesis_runs import often

FACT = "down_octets"
RULES = {FACT: RateRule("down_bps")}
INTERVAL_MS = 300_000
RATE = FACTS["down_bps"]

PAUSES_MS = (INTERVAL_MS, INTERVAL_MS - 7_001, 1_000, 2 * INTERVAL_MS, 4 * INTERVAL_MS)

# A few thousand octets, several gigabytes, nearly all of the range, and what no counter should do.
STEPS = (
    st.integers(0, 5_000)
    | st.integers(0, 1 << 33)
    | st.integers((1 << 32) - 5_000, (1 << 32) + 5_000)
    | st.integers(-(1 << 40), 1 << 60)
)


class Value(NamedTuple):
    bits: int
    counted: int


class Poll(NamedTuple):
    """The counters of some ONUs, or none of those that did not answer, so long after the poll before."""

    after_ms: int
    restarted: bool
    values: Sequence[Value | None]


@st.composite
def polls(draw: st.DrawFn) -> list[Poll]:
    """Counters that go on, back, jump, repeat, come round, are away, change their width or are new ones."""
    counts = [draw(st.integers(0, 1 << 33)) for _ in range(3)]
    bits = [draw(st.sampled_from((32, 64))) for _ in range(3)]
    found = []
    for _ in range(draw(st.integers(2, 12))):
        repeated = draw(st.booleans())
        values: list[Value | None] = []
        for onu in range(3):
            if draw(st.integers(0, 9)) == 0:
                bits[onu] = 96 - bits[onu]
            if not repeated:
                counts[onu] = max(0, counts[onu] + draw(STEPS))
            counts[onu] %= 1 << min(bits[onu], 62)
            is_away = draw(st.integers(0, 3)) == 0
            values.append(None if is_away else Value(bits[onu], counts[onu]))
        after = draw(
            st.sampled_from((INTERVAL_MS, INTERVAL_MS - 7_001, 1_000, 2 * INTERVAL_MS, 4 * INTERVAL_MS))
        )
        found.append(Poll(after, draw(st.integers(0, 9)) == 0, values))
    return found


def reading_of(at: int, poll: Poll) -> CounterReading:
    columns = {
        Counter(FACT, bits): counter_column(
            [value.counted if value is not None and value.bits == bits else None for value in poll.values]
        )
        for bits in (32, 64)
    }
    read = {counter: column for counter, column in columns.items() if column.count(NONE) < len(column)}
    return CounterReading(at, None, array("q", range(len(poll.values))), read)


def moved(old: Value, new: Value) -> int:
    """What the counter shows that it moved; one that came round could have gone all the way."""
    if new.bits != old.bits:
        return 0
    if new.counted >= old.counted:
        return new.counted - old.counted
    return (new.counted - old.counted) % (1 << 32) if old.bits == 32 else 0


def kept(rates: Sequence[float | None]) -> list[float | None]:
    return RATE.values(RATE.quantised(rates))


@often(200)
@given(polls())
def test_the_integral_of_rates_is_never_more_than_what_the_counters_moved(several: list[Poll]) -> None:
    size = len(several[0].values)
    at, snapshots = 0, list[Snapshot]()
    last: list[tuple[int, Value] | None] = [None] * size
    # By ONU, what its counter moved and no rate is about yet.
    available = [0] * size
    for poll in several:
        at += poll.after_ms
        if poll.restarted:
            last, available = [None] * size, [0] * size
        reading = reading_of(at, poll)
        found = compute_rates(snapshots, reading, RULES, Limits(INTERVAL_MS, restarted=poll.restarted))
        snapshots = found.snapshots
        rates = kept(found.rates.get("down_bps", [None] * size))
        for onu, value in enumerate(poll.values):
            if value is None:
                assert rates[onu] is None
                continue
            before = last[onu]
            if before is not None:
                available[onu] += moved(before[1], value)
            last[onu] = at, value
            if (rate := rates[onu]) is not None:
                # The shortest time that it can be about: since the reading before, whichever it began with.
                assert before is not None
                octets = rate * (at - before[0]) / 8000
                assert 0 <= octets <= available[onu]
                available[onu] -= int(octets)


@given(polls())
def test_a_rate_is_what_moved_since_a_reading_within_three_intervals(several: list[Poll]) -> None:
    """With the same width, no restart between them, and nothing above the line rate."""
    at, snapshots, earlier = 0, list[Snapshot](), list[tuple[int, Poll]]()
    for poll in several:
        at += poll.after_ms
        if poll.restarted:
            earlier.clear()
        limits = Limits(INTERVAL_MS, {FACT: 1_000_000_000}, poll.restarted)
        found = compute_rates(snapshots, reading_of(at, poll), RULES, limits)
        snapshots = found.snapshots
        for onu, rate in enumerate(found.rates.get("down_bps", ())):
            if rate is not None:
                assert rate in set(_possible(at, poll.values[onu], onu, earlier))
                assert 0 <= rate <= 1_000_000_000
        earlier.append((at, poll))


def _possible(at: int, now: Value | None, onu: int, earlier: Sequence[tuple[int, Poll]]) -> list[int]:
    assert now is not None
    values = [(before, poll.values[onu]) for before, poll in earlier if at - before <= 3 * INTERVAL_MS]
    return [
        move * 8000 // (at - before)
        for before, old in values
        if old is not None and old.bits == now.bits and at > before
        for move in {moved(old, now)}
    ]


def _drops(found: RateResult) -> tuple[int, int, int]:
    return found.drops.over, found.drops.resets, found.drops.gaps


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=20), st.integers(5_000, 900_000))
def test_counters_that_go_on_give_every_rate_and_drop_none(counts: list[int], elapsed: int) -> None:
    ids = array("q", range(len(counts)))
    counter = Counter(FACT, 64)
    first = CounterReading(0, None, ids, {counter: array("q", [0] * len(counts))})
    second = CounterReading(elapsed, None, ids, {counter: array("q", counts)})
    limits = Limits(INTERVAL_MS)
    before = compute_rates([], first, RULES, limits).snapshots
    found = compute_rates(before, second, RULES, limits)
    expected = [count * 8000 // elapsed for count in counts]
    if any(counts):
        assert found.rates["down_bps"] == expected
    else:
        assert found.rates == {}
    assert _drops(found) == (0, 0, 0)
