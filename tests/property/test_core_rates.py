"""Rates from counters: whatever counters do, no more is stored than what they moved."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
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
    elapsed_ms,
    forget_subjects,
)
from tests.hypothesis_runs import often

# Each has counters and rates of its own, and one reading has both, or one of them.
RULES = {"down_octets": RateRule("down_bps"), "up_octets": RateRule("up_bps")}
INTERVAL_MS = 300_000
LINE_RATE = 1_000_000_000

PAUSES_MS = (INTERVAL_MS, INTERVAL_MS - 7_001, 1_000, 2 * INTERVAL_MS, 4 * INTERVAL_MS)
# Milliseconds before the end of a collection at which its first and its last counter were read.
AGES_MS = ((0, 0), (0, 0), (60_000, 0), (250_000, 240_000))
# By how much the clock of an agent is fast, in milliseconds.
FAST_MS = (0, 0, -9_000, 120_000)
ONUS = (7, 8, 9)
ORDERS = [order for count in (3, 3, 2, 1) for order in permutations(ONUS, count)]

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


# Of a fact and an ONU.
Series = tuple[str, int]


class Poll(NamedTuple):
    """What a collection read of the ONUs that the OLT lists, in its order; of some there is no value."""

    at: int
    uptime_s: float | None
    # The OLT has started since the poll before, as its uptime says.
    restarted: bool
    ages_ms: tuple[int, int]
    # ONUs that are others than those of the poll before.
    renewed: Sequence[int]
    ids: Sequence[int]
    values: Mapping[Series, Value]


@st.composite
def polls(draw: st.DrawFn) -> list[Poll]:
    """Counters that go on, back, jump, repeat, come round, are away, change their width or are new ones."""
    every = [(fact, onu) for fact in RULES for onu in ONUS]
    counts = {each: draw(st.integers(0, 1 << 33)) for each in every}
    bits = {each: draw(st.sampled_from((32, 64))) for each in every}
    has_uptime = draw(st.booleans())
    at, booted, found = 0, -1_000_000, list[Poll]()
    for _ in range(draw(st.integers(2, 8))):
        at += draw(st.sampled_from(PAUSES_MS))
        if has_started := draw(st.integers(0, 9)) == 0:
            booted, counts = at - 1_000, dict.fromkeys(every, 0)
        repeated = draw(st.integers(0, 2)) == 0
        ids = draw(st.sampled_from(ORDERS))
        renewed = draw(st.sampled_from(((), (), (), (7,), (8, 9))))
        facts = draw(st.sampled_from((tuple(RULES), tuple(RULES), ("down_octets",))))
        values = {}
        for each in every:
            event = draw(st.integers(0, 19))
            if event == 0:
                bits[each] = 96 - bits[each]
            if not repeated:
                counts[each] = max(0, counts[each] + draw(STEPS))
            counts[each] %= 1 << min(bits[each], 62)
            is_away = 1 <= event <= 4
            if each[0] in facts and each[1] in ids and not is_away:
                values[each] = Value(bits[each], counts[each])
        uptime_s = (at - booted + draw(st.sampled_from(FAST_MS))) / 1000 if has_uptime else None
        ages = draw(st.sampled_from(AGES_MS))
        found.append(Poll(at, uptime_s, has_started and has_uptime, ages, renewed, ids, values))
    return found


def reading_of(poll: Poll) -> CounterReading:
    columns = {
        Counter(fact, bits): counter_column(
            [
                value.counted if (value := poll.values.get((fact, onu))) and value.bits == bits else None
                for onu in poll.ids
            ]
        )
        for fact in RULES
        for bits in (32, 64)
    }
    read = {counter: column for counter, column in columns.items() if column.count(NONE) < len(column)}
    return CounterReading(poll.at, poll.uptime_s, array("q", poll.ids), read, poll.ages_ms)


def compute(
    several: Sequence[Poll], line_rates: Mapping[str, int] = {}
) -> Iterator[tuple[Poll, dict[Series, float | None]]]:
    """Yield each poll and its rates."""
    snapshots: Sequence[Snapshot] = []
    for poll in several:
        forget_subjects(snapshots, poll.renewed)
        limits = Limits(INTERVAL_MS, line_rates, poll.restarted)
        found = compute_rates(snapshots, reading_of(poll), RULES, limits)
        snapshots = found.snapshots
        yield (
            poll,
            {
                (fact, onu): rate
                for fact, rule in RULES.items()
                for onu, rate in zip(poll.ids, found.rates.get(rule.rate, ()), strict=False)
            },
        )


def moved(old: Value, new: Value) -> int:
    """What the counter shows that it moved; one that came round could have gone all the way."""
    if new.counted >= old.counted:
        return new.counted - old.counted
    return (new.counted - old.counted) % (1 << 32) if old.bits == 32 else 0


def kept(series: Series, rate: float) -> float:
    """Return a rate as the history keeps it."""
    fact = FACTS[RULES[series[0]].rate]
    (value,) = fact.values(fact.quantised([rate]))
    assert value is not None
    return value


def begins_anew(series: Series, poll: Poll) -> bool:
    return poll.restarted or series[1] in poll.renewed


@often(200)
@given(polls())
def test_the_integral_of_rates_is_never_more_than_what_the_counters_moved(several: list[Poll]) -> None:
    # By counter, which of another width is another one; and what it moved and no rate is about yet.
    last: dict[tuple[Series, int], tuple[int, Value]] = {}
    available: dict[tuple[Series, int], int] = {}
    for poll, rates in compute(several):
        for counter in [each for each in last if begins_anew(each[0], poll)]:
            del last[counter], available[counter]
        assert all(rate is None or series in poll.values for series, rate in rates.items())
        for series, value in poll.values.items():
            counter = series, value.bits
            before = last.get(counter)
            available[counter] = available.get(counter, 0) + (moved(before[1], value) if before else 0)
            last[counter] = poll.at, value
            if (rate := rates.get(series)) is not None:
                # The shortest time that it can be about: since the reading before, whichever it began with.
                assert before is not None
                octets = kept(series, rate) * (poll.at - before[0]) / 8000
                assert 0 <= octets <= available[counter]
                available[counter] -= int(octets)


@often(200)
@given(polls())
def test_a_rate_is_what_moved_since_a_reading_within_three_intervals(several: list[Poll]) -> None:
    """With the same width, no restart between them, and nothing above the line rate."""
    earlier: dict[Series, list[tuple[Poll, Value]]] = {}
    for poll, rates in compute(several, dict.fromkeys(RULES, LINE_RATE)):
        for series in [each for each in earlier if begins_anew(each, poll)]:
            del earlier[series]
        for series, rate in rates.items():
            if rate is not None:
                assert rate in _possible(poll, poll.values[series], earlier.get(series, []))
                assert 0 <= rate <= LINE_RATE
        for series, value in poll.values.items():
            earlier.setdefault(series, []).append((poll, value))


def _possible(poll: Poll, now: Value, earlier: Sequence[tuple[Poll, Value]]) -> set[int]:
    since = [(elapsed_ms(reading_of(before), reading_of(poll)), old) for before, old in earlier]
    return {
        moved(old, now) * 8000 // elapsed
        for elapsed, old in since
        if 0 < elapsed <= 3 * INTERVAL_MS and old.bits == now.bits
    }


def _drops(found: RateResult) -> tuple[int, int, int]:
    return found.drops.over, found.drops.resets, found.drops.gaps


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=20), st.integers(30_000, 900_000))
def test_counters_that_go_on_give_every_rate_and_drop_none(counts: list[int], elapsed: int) -> None:
    ids = array("q", range(len(counts)))
    counter = Counter("down_octets", 64)
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
