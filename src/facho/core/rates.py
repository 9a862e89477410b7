"""From counters to rates: what moved between two readings of an OLT, in bits per second.

A rate is never higher than what the counters show. Wherever it is not certain what a counter did, there is no
rate for that interval, and the next one begins with the new value.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import compress, repeat
from operator import sub
from typing import Final, NamedTuple, cast

# No value, in the columns of counters and in those of the rates before.
NONE: Final = -1
# A rate over more intervals says too little about when something moved.
MOST_INTERVALS: Final = 3
# Many agents renew their counters only every few seconds: over less than this, that would look like traffic.
_SHORTEST_MS: Final = 5_000
# Over less than this, the age of counters that are renewed every five seconds is a large part of the time.
_STEADY_MS: Final = 30_000
# Each counter is read at some time of its walk: over fewer times as long, a rate says too little.
_FEWEST_WALKS: Final = 3
# Counters that this reading did not ask for wait so long for one that does.
_KEPT_MS: Final = 24 * 3_600_000
_NARROW: Final = 32
_LARGEST: Final = (1 << 63) - 1
# Accept a wrap up to twice the movement that the previous rate predicts.
_MOST_OF_EXPECTED: Final = 2
# By so much an agent must have been up longer than an interval: its clock may be fast.
_LONGER: Final = 1.1
_NO_LIMIT: Final = 1 << 64

Rates = list[float | None]


class Counter(NamedTuple):
    """One counter of all subjects of a table. The same fact in 32 and in 64 bits is two of them."""

    fact: str
    bits: int


@dataclass(frozen=True, slots=True)
class RateRule:
    """The rate that a counter becomes: of octets in bits per second, of others in events per second."""

    rate: str
    of_octets: bool = True
    # The fewest bits that a line carries for one count.
    least_bits: int = 8

    @property
    def per_count(self) -> int:
        """What one count in a millisecond is."""
        return 8000 if self.of_octets else 1000

    def speeds(self, moves: Iterable[int | None], elapsed_ms: int) -> Rates:
        """Return the rates, those of octets rounded down."""
        each = self.per_count
        if self.of_octets:
            return [None if move is None else move * each // elapsed_ms for move in moves]
        return [None if move is None else move * each / elapsed_ms for move in moves]


@dataclass(frozen=True, slots=True)
class CounterReading:
    """What a collection read. Columns are as long as `ids`, with NONE where there is no value."""

    # Milliseconds since 1970, when the collection ended.
    at: int
    # Of the agent, at that time.
    uptime_s: float | None
    ids: array[int]
    columns: Mapping[Counter, array[int]]
    # How many milliseconds before that the first and the last of these counters were read.
    ages_ms: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A reading, or what is left of it: where the next rates of its subjects begin."""

    reading: CounterReading
    # The last rates of narrow counters, in bits per second: by them it is seen whether they came round.
    rates: Mapping[Counter, array[int]] = field(default_factory=dict)
    # Some counter moved in the interval before, or it is not known.
    moved: bool = True


@dataclass(slots=True)
class Drops:
    """How many values have no rate, and why."""

    # It is above the line rate.
    over: int = 0
    # The counter went back, or the OLT started.
    resets: int = 0
    # The reading before was too long ago.
    gaps: int = 0

    def add(self, other: Drops) -> None:
        for each in fields(Drops):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds the rates of a reading."""

    interval_ms: int
    # By counter: the line rate in bits per second, of all subjects or of each.
    line_rates: Mapping[str, int | Sequence[int]] = field(default_factory=dict)
    # The OLT has started since the reading before.
    restarted: bool = False


@dataclass(slots=True)
class RateResult:
    # By the name of the rate, as long as the ids of the reading.
    rates: dict[str, Rates] = field(default_factory=dict)
    # Where the next rates begin, the latest first.
    snapshots: list[Snapshot] = field(default_factory=list)
    drops: Drops = field(default_factory=Drops)


def counter_column(values: Sequence[int | None]) -> array[int]:
    """Return a column of a reading. A number that no counter reaches is no value."""
    try:
        column = array("q", cast(Sequence[int], values))
    except (TypeError, OverflowError):
        pass
    else:
        if min(column, default=0) >= 0:
            return column
    return array("q", [NONE if each is None or not 0 <= each <= _LARGEST else each for each in values])


def compute_rates(
    before: Sequence[Snapshot], reading: CounterReading, rules: Mapping[str, RateRule], limits: Limits
) -> RateResult:
    """Return the rates since the readings before, and where the next ones begin.

    `before` has the latest first: what the latest reading did not have lies in older ones.
    """
    found = RateResult()
    if limits.restarted:
        found.drops.resets = sum(len(column) - column.count(NONE) for column in reading.columns.values())
        found.snapshots = [_snapshot(reading, reading.columns, {})]
        return found
    _RateComputation(before, reading, rules, limits, found).run()
    return found


def forget_subjects(snapshots: Sequence[Snapshot], ids: Iterable[int]) -> None:
    """Let the counters of these subjects start anew: something else counts under their ids now."""
    forgotten = list(ids)
    for snapshot in snapshots if forgotten else ():
        positions = _positions(snapshot.reading.ids)
        for position in (positions[number] for number in forgotten if number in positions):
            for column in snapshot.reading.columns.values():
                column[position] = NONE


def certain_rate(bits: int, interval_s: int) -> int | None:
    """Return the highest rate of octets at which a counter cannot come round twice in an interval.

    It is None for a counter that never comes round. Three digits are shown, and they are rounded down.
    """
    if bits != _NARROW or not interval_s:
        return None
    rate = (1 << _NARROW) * 8 // interval_s
    unit: int = 10 ** max(len(str(rate)) - 3, 0)
    return rate - rate % unit


def is_on_time(at: datetime, interval_s: int, now: datetime) -> bool:
    """Return whether rates of this time are those of now: no more than three intervals have passed."""
    return now - at <= MOST_INTERVALS * timedelta(seconds=interval_s)


def elapsed_ms(before: CounterReading, reading: CounterReading) -> int:
    """Return the time between two readings: by our clock or by the agent's, whichever is longer.

    By our clock it is the longest of those between their first counters, their last ones, and the ends of the
    collections. Neither a part that took long, nor a reading that was stored late, nor an agent's clock that
    stood may make a rate too high.
    """
    shifts = (then - now for then, now in zip(before.ages_ms, reading.ages_ms, strict=True))
    by_clock = reading.at - before.at + max(0, *shifts)
    if reading.uptime_s is None or before.uptime_s is None:
        return by_clock
    return max(by_clock, round(1000 * (reading.uptime_s - before.uptime_s)))


def _positions(ids: Sequence[int]) -> dict[int, int]:
    return {number: position for position, number in enumerate(ids)}


def _snapshot(
    reading: CounterReading,
    columns: Mapping[Counter, array[int]],
    rates: Mapping[Counter, array[int]],
    *,
    moved: bool = True,
) -> Snapshot:
    return Snapshot(replace(reading, columns=dict(columns)), dict(rates), moved)


class _Interval:
    """The time from an earlier reading to this one."""

    def __init__(self, snapshot: Snapshot, reading: CounterReading, limits: Limits) -> None:
        self.snapshot = snapshot
        self.elapsed = elapsed_ms(snapshot.reading, reading)
        self.is_too_long = self.elapsed > MOST_INTERVALS * limits.interval_ms
        longest_walk = max(first - last for first, last in (snapshot.reading.ages_ms, reading.ages_ms))
        # The readings of the job itself count, however short its interval is and however long its walks take.
        shortest = min(max(_STEADY_MS, _FEWEST_WALKS * longest_walk), limits.interval_ms // 2)
        self.is_too_short = self.elapsed < max(_SHORTEST_MS, shortest)
        self._reading = reading
        self._limits = limits
        self.is_aligned = snapshot.reading.ids.tobytes() == reading.ids.tobytes()

    @cached_property
    def _places(self) -> list[int]:
        """Return the position of each subject in the snapshot, -1 for one that is not there."""
        positions = _positions(self.snapshot.reading.ids)
        return [positions.get(number, -1) for number in self._reading.ids]

    def before(self, counter: Counter) -> array[int]:
        """Return a column of the snapshot in the order of the reading."""
        return self._arranged(self.snapshot.reading.columns[counter])

    def _arranged(self, column: array[int]) -> array[int]:
        if self.is_aligned:
            return column
        # The last one is that of the subjects without a place.
        return array("q", map([*column, NONE].__getitem__, self._places))

    def has_moved(self, counter: Counter) -> bool | None:
        """Return whether any of these counters moved; None if none of them was read both times."""
        now, before = self._reading.columns[counter], self.before(counter)
        if now.tobytes() != before.tobytes() and any(
            old != new and old != NONE != new for old, new in zip(before, now, strict=True)
        ):
            return True
        both = any(old != NONE != new for old, new in zip(before, now, strict=True))
        return False if both else None

    def moves(self, counter: Counter, rule: RateRule, drops: Drops) -> list[int | None]:
        """Return by how much each counter moved, None where there is no rate."""
        before, now = self.before(counter), self._reading.columns[counter]
        most = self._move_limit(counter, rule)
        moves = list(map(sub, now, before))
        is_whole = NONE not in now and NONE not in before
        if is_whole and isinstance(most, int) and _are_usual(moves, most):
            return cast(list[int | None], moves)
        limits = repeat(most) if isinstance(most, int) else most
        found = [
            move if 0 <= move <= limit and old != NONE else None
            for move, old, limit in zip(moves, before, limits, strict=False)
        ]
        unknown = [position for position, move in enumerate(found) if move is None]
        for position in unknown:
            if before[position] != NONE != now[position]:
                limit = most if isinstance(most, int) else most[position]
                found[position] = self._move_across_wrap(counter, position, limit, drops)
        return found

    def _move_limit(self, counter: Counter, rule: RateRule) -> int | Sequence[int]:
        """Return what the line rate lets through in this time, for all subjects or for each."""
        rate = self._limits.line_rates.get(counter.fact, _NO_LIMIT)
        per_count = 1000 * rule.least_bits
        if isinstance(rate, int):
            return rate * self.elapsed // per_count
        return [each * self.elapsed // per_count for each in rate]

    def _move_across_wrap(self, counter: Counter, position: int, most: int, drops: Drops) -> int | None:
        """Return the move of a counter that went back or too far: only one that came round has any."""
        old, new = self.before(counter)[position], self._reading.columns[counter][position]
        if new > old:
            drops.over += 1
            return None
        to_top, expected = (1 << _NARROW) - old, self._expected(counter, position)
        came_round = counter.bits == _NARROW and to_top <= expected
        if self._ran_throughout and came_round and to_top + new <= min(most, _MOST_OF_EXPECTED * expected):
            return to_top + new
        drops.resets += 1
        return None

    @property
    def _ran_throughout(self) -> bool:
        """Return whether the agent is certain to have run since the snapshot: it has been up for longer.

        A counter that began anew since looks as if it came round.
        """
        uptime_s = self._reading.uptime_s
        return uptime_s is not None and 1000 * uptime_s > _LONGER * self.elapsed

    def _expected(self, counter: Counter, position: int) -> int:
        """Return how far a narrow counter would have moved at the rate before."""
        if counter not in self.snapshot.rates:
            return 0
        place = position if self.is_aligned else self._places[position]
        return max(self.snapshot.rates[counter][place], 0) * self.elapsed // 8000


def _are_usual(moves: Sequence[int], most: int) -> bool:
    """Return whether no counter went back or too far."""
    return min(moves, default=0) >= 0 and max(moves, default=0) <= most


class _RateComputation:
    def __init__(
        self,
        before: Sequence[Snapshot],
        reading: CounterReading,
        rules: Mapping[str, RateRule],
        limits: Limits,
        found: RateResult,
    ) -> None:
        self._intervals = [_Interval(snapshot, reading, limits) for snapshot in before]
        self._reading = reading
        self._rules = rules
        self._limits = limits
        self._found = found
        # The counters whose old values stay where the next rates begin.
        self._kept: set[Counter] = set()
        self._rates: dict[Counter, array[int]] = {}
        self._moved = False

    def run(self) -> None:
        for interval, counters in self._tables():
            if self._keeps_earlier_start(interval, counters):
                self._kept.update(counters)
            else:
                for counter in counters:
                    self._compute(counter)
        reading = self._reading
        fresh = {counter: column for counter, column in reading.columns.items() if counter not in self._kept}
        if fresh:
            self._found.snapshots = [_snapshot(reading, fresh, self._rates, moved=self._moved)]
        self._found.snapshots += filter(None, map(self._unread_counters, self._intervals))

    def _tables(self) -> Iterator[tuple[_Interval | None, list[Counter]]]:
        """Yield the counters that were last read together."""
        last = {counter: self._last(counter) for counter in self._reading.columns}
        for interval in dict.fromkeys(last.values()):
            yield interval, [counter for counter, its in last.items() if its is interval]

    def _last(self, counter: Counter) -> _Interval | None:
        return next((each for each in self._intervals if counter in each.snapshot.reading.columns), None)

    def _keeps_earlier_start(self, interval: _Interval | None, counters: Sequence[Counter]) -> bool:
        """Return whether the next rates begin where these would have: the agent answered from its cache, or
        it was asked twice at a time.
        """
        if interval is None:
            self._moved = True
            return False
        movements = set(map(interval.has_moved, counters))
        moved = True in movements
        stood = False in movements and not moved
        # Errors stand most of the time: alone they do not tell a cache.
        tells = any(self._rules[counter.fact].of_octets for counter in counters)
        is_cached = tells and interval.snapshot.moved and stood and not interval.is_too_long
        if interval.elapsed >= 0 and (interval.is_too_short or is_cached):
            return True
        self._moved = self._moved or not stood
        return False

    def _compute(self, counter: Counter) -> None:
        """Compute the rates of one counter, each since the last reading that had it."""
        rule, size = self._rules[counter.fact], len(self._reading.ids)
        rates: Rates = [None] * size
        for number, interval in enumerate(self._intervals):
            if counter not in interval.snapshot.reading.columns or interval.is_too_short:
                continue
            if interval.is_too_long:
                self._count_gaps(interval, counter)
                continue
            speeds = rule.speeds(interval.moves(counter, rule, self._found.drops), interval.elapsed)
            rates = speeds if not number else _fill(rates, speeds)
        if counter.bits == _NARROW and rule.of_octets:
            self._rates[counter] = array("q", [NONE if rate is None else int(rate) for rate in rates])
        known = self._found.rates.get(rule.rate)
        self._found.rates[rule.rate] = rates if known is None else _fill(known, rates)

    def _count_gaps(self, interval: _Interval, counter: Counter) -> None:
        """Count the rates that are lost. Of what stood there is none: errors that do not occur."""
        both = zip(interval.before(counter), self._reading.columns[counter], strict=True)
        self._found.drops.gaps += sum(old != new and old != NONE != new for old, new in both)

    def _unread_counters(self, interval: _Interval) -> Snapshot | None:
        """Return what is left of an earlier snapshot: what this reading did not bring.

        Nothing is left of a snapshot that is later than this reading: our clock was set back, and the time
        since then would be too short.
        """
        if interval.elapsed < 0:
            return None
        snapshot = interval.snapshot
        facts = {counter.fact for counter in self._reading.columns}
        columns: dict[Counter, array[int]] = {}
        for counter, column in snapshot.reading.columns.items():
            if counter.fact not in facts:
                if interval.elapsed <= _KEPT_MS:
                    columns[counter] = column
            elif counter in self._kept or not interval.is_too_long:
                columns[counter] = self._not_read(interval, counter)
        return _compacted(snapshot, columns)

    def _not_read(self, interval: _Interval, counter: Counter) -> array[int]:
        """Return a column with the values of those subjects only of which no such counter was read now.

        What counters read whose old values stay does not count here.
        """
        ids, before = interval.snapshot.reading.ids, interval.snapshot.reading.columns[counter]
        stays = self._kept if counter in self._kept else ()
        read = [
            column
            for its, column in self._reading.columns.items()
            if its.fact == counter.fact and its not in stays
        ]
        if not read:
            return before
        if interval.is_aligned and len(read) == 1:
            if NONE not in read[0]:
                return array("q")
            pairs = zip(before, read[0], strict=True)
            return array("q", [old if new == NONE else NONE for old, new in pairs])
        known: set[int] = set()
        for column in read:
            pairs = zip(self._reading.ids, column, strict=True)
            known.update([number for number, value in pairs if value != NONE])
        pairs = zip(ids, before, strict=True)
        return array("q", [NONE if number in known else value for number, value in pairs])


def _compacted(snapshot: Snapshot, columns: Mapping[Counter, array[int]]) -> Snapshot | None:
    """Return a snapshot of these columns, with the subjects that have values; None without any."""
    left = {counter: column for counter, column in columns.items() if len(column) > column.count(NONE)}
    if not left:
        return None
    rates = {counter: column for counter, column in snapshot.rates.items() if counter in left}
    reading = replace(snapshot.reading, columns=left)
    if all(NONE not in column for column in left.values()):
        return replace(snapshot, reading=reading, rates=rates)
    chosen = [any(value != NONE for value in values) for values in zip(*left.values(), strict=True)]
    reading = replace(reading, ids=_select(reading.ids, chosen), columns=_select_all(left, chosen))
    return replace(snapshot, reading=reading, rates=_select_all(rates, chosen))


def _select(column: array[int], chosen: Iterable[bool]) -> array[int]:
    return array("q", compress(column, chosen))


def _select_all(columns: Mapping[Counter, array[int]], chosen: Sequence[bool]) -> dict[Counter, array[int]]:
    return {counter: _select(column, chosen) for counter, column in columns.items()}


def _fill(rates: Rates, others: Rates) -> Rates:
    """Return the rates, with the others where there is none."""
    return [other if rate is None else rate for rate, other in zip(rates, others, strict=True)]
