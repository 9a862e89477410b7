"""The clock of an OLT: how far it is ahead of ours, and what its dates are on ours.

OLTs date the events of their ONUs by their own clock, mostly without a time zone. How far that clock is ahead
of UTC is only known within bounds: the clock was read while a request was on its way, or an event that it
dates happened between two collections. A date is corrected only if that cannot make it a wrong one:
otherwise the event keeps the time at which it was seen.

"Wall time" is a date as the OLT shows it, taken for UTC. Dates that say their own zone are converted before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

# No zone is further from UTC: a clock that is was never set.
_MOST_AHEAD_S: Final = 15 * 3600.0
# So precise that the middle of the bounds is taken.
_PRECISE_S: Final = 60.0
# A clock that differs by less from the time of some zone was set to it.
_SET_S: Final = 300.0
_QUARTER_S: Final = 900.0
# A smaller change of the clock is drift, and not a jump.
_DRIFT_S: Final = 120.0
# Changes prove a clock only if nobody read it for so long.
_READING_COUNTS: Final = timedelta(days=1)
# Agents keep their tables for a while: an event may be older than the collection that did not show it yet.
_TABLE_AGE: Final = timedelta(seconds=90)
_AHEAD_OF_US: Final = timedelta(seconds=30)
# No ONU of today has been away for longer; older dates are those of clocks that were not set.
_OLDEST: Final = datetime(2005, 1, 1, tzinfo=UTC)
_SECOND: Final = 1.0
# So many changes of one collection are compared with one another.
_MOST_CHANGES: Final = 64


@dataclass(frozen=True, slots=True)
class Bounds:
    """The clock is ahead of UTC by at least `low_s` and at most `high_s`."""

    low_s: float
    high_s: float

    def overlap(self, other: Bounds) -> Bounds | None:
        low, high = max(self.low_s, other.low_s), min(self.high_s, other.high_s)
        return Bounds(low, high) if low <= high else None

    def distance_s(self, other: Bounds) -> float:
        return max(0.0, self.low_s - other.high_s, other.low_s - self.high_s)

    @property
    def middle_s(self) -> float:
        return (self.low_s + self.high_s) / 2

    @property
    def width_s(self) -> float:
        return self.high_s - self.low_s

    @property
    def is_possible(self) -> bool:
        """Some zone has this time."""
        return self.high_s >= -_MOST_AHEAD_S and self.low_s <= _MOST_AHEAD_S


@dataclass(frozen=True, slots=True)
class OltClock:
    """The clock of an OLT as far as readings and events tell it."""

    bounds: Bounds
    # Since when nothing contradicts the bounds.
    since: datetime
    checked_at: datetime
    # When it was last read; None if the bounds come from events alone.
    read_at: datetime | None = None
    # It says its own time zone, so that `bounds` are its error.
    has_zone: bool = False
    # It was set while we knew it: dates from before are on another time.
    has_jumped: bool = False

    @property
    def is_set(self) -> bool:
        """It shows the time of today, in whatever zone."""
        return self.bounds.is_possible


@dataclass(frozen=True, slots=True)
class DatedChange:
    """A change of state between two collections, with the date that the OLT gives it."""

    shown: datetime
    after: datetime
    until: datetime

    @property
    def bounds(self) -> Bounds:
        wall = wall_time(self.shown)
        return Bounds((wall - self.until).total_seconds(), (wall - self.after).total_seconds() + _SECOND)


def wall_time(shown: datetime) -> datetime:
    return shown.astimezone(UTC)


def has_zone(shown: datetime) -> bool:
    """Return whether a decoded date says its zone; one without is decoded as UTC."""
    return shown.tzinfo is not UTC


def read_clock(known: OltClock | None, shown: datetime, begin: datetime, end: datetime) -> OltClock:
    """Return what is known of the clock, that showed this at some time from `begin` to `end`."""
    wall = wall_time(shown)
    bounds = Bounds((wall - end).total_seconds(), (wall - begin).total_seconds() + _SECOND)
    zoned = has_zone(shown)
    if known is not None and known.has_zone != zoned and known.read_at is not None:
        known = replace(known, bounds=bounds, has_zone=zoned)
    return replace(_learn(known, bounds, end), read_at=end, has_zone=zoned)


def infer_clock(known: OltClock | None, changes: Sequence[DatedChange], now: datetime) -> OltClock | None:
    """Return what is known of the clock after these changes, which prove nothing against a reading of it.

    An OLT may date a change late or not at all: what most of them agree on counts, and a single one only
    where it agrees with what is known, or nothing is.
    """
    if known is not None and known.read_at is not None and now - known.read_at < _READING_COUNTS:
        return known
    asked = changes[:_MOST_CHANGES]
    bounds, agreeing = _most_agreed([each.bounds for each in asked if each.bounds.is_possible])
    if bounds is None or 2 * agreeing <= len(asked):
        return known
    if known is not None and agreeing == 1 and known.bounds.distance_s(bounds) > _DRIFT_S:
        return known
    return replace(_learn(known, bounds, now), read_at=None, has_zone=False)


def _learn(known: OltClock | None, bounds: Bounds, now: datetime) -> OltClock:
    if known is None:
        return OltClock(bounds, now, now)
    if (common := known.bounds.overlap(bounds)) is not None:
        return replace(known, bounds=common, checked_at=now)
    if known.bounds.distance_s(bounds) <= _DRIFT_S:
        return replace(known, bounds=bounds, checked_at=now)
    return replace(known, bounds=bounds, since=now, checked_at=now, has_jumped=True)


def _most_agreed(found: Sequence[Bounds]) -> tuple[Bounds | None, int]:
    """Return the bounds on which the most agree, and how many do."""
    best: tuple[Bounds | None, int] = None, 0
    for start in found:
        common, count = Bounds(start.low_s, start.high_s), 0
        for other in found:
            if (both := common.overlap(other)) is not None and other.low_s <= start.low_s <= other.high_s:
                common, count = both, count + 1
        if count > best[1]:
            best = common, count
    return best


def is_worth_storing(before: OltClock | None, after: OltClock) -> bool:
    """Return whether the difference matters: clocks are read every few minutes."""
    if before is None or (before.since, before.has_zone, before.has_jumped) != (
        after.since,
        after.has_zone,
        after.has_jumped,
    ):
        return True
    moved = abs(before.bounds.middle_s - after.bounds.middle_s)
    narrowed = before.bounds.width_s - after.bounds.width_s
    return moved > _SECOND or narrowed > _SECOND or after.checked_at - before.checked_at > timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Rule:
    """How wall times of a clock become times of ours."""

    ahead_s: float
    # It follows the daylight saving of this zone, and `ahead_s` is its error beside it.
    zone: tzinfo | None = None
    # It was set by somebody to a time without daylight saving, or to that of `zone`: it was right before too.
    was_right_before: bool = False

    def times(self, wall: datetime) -> Iterator[datetime]:
        try:
            at = wall - timedelta(seconds=self.ahead_s)
            if self.zone is None:
                yield at
                return
            for fold in (0, 1):
                local = at.replace(tzinfo=self.zone, fold=fold)
                yield local.astimezone(UTC)
        except OverflowError:
            return


def _rules(clock: OltClock, zone: tzinfo, now: datetime, shown: datetime) -> Iterator[_Rule]:
    """Yield the rules by which a date may be read, the most probable first."""
    bounds, here = clock.bounds, _offset_s(zone, now)
    if clock.has_zone and not has_zone(shown):
        # The clock says its zone and its dates do not: they are local, and its error is known.
        yield _Rule(bounds.middle_s, zone)
        return
    if clock.read_at is not None and has_zone(shown) and not clock.has_zone:
        # The dates say their zone and the clock does not: it shows the time of that zone, or UTC.
        for ahead_s in (bounds.middle_s - _offset_s(shown.tzinfo, shown), bounds.middle_s):
            if abs(ahead_s) <= _SET_S:
                yield _Rule(ahead_s)
        return
    if bounds.width_s <= _PRECISE_S:
        middle = bounds.middle_s
        if not clock.has_zone and abs(middle - here) <= _SET_S and here:
            yield _Rule(middle - here, zone, True)
        else:
            yield _Rule(middle, None, abs(middle) <= _SET_S)
        return
    if bounds.low_s <= here <= bounds.high_s and here:
        yield _Rule(0.0, zone, True)
    elif bounds.low_s <= 0 <= bounds.high_s:
        yield _Rule(0.0, None, True)
    else:
        first = -(-bounds.low_s // _QUARTER_S) * _QUARTER_S
        if first <= bounds.high_s < first + _QUARTER_S:
            yield _Rule(first)


def _offset_s(zone: tzinfo | None, now: datetime) -> float:
    offset = now.astimezone(zone).utcoffset()
    return 0.0 if offset is None else offset.total_seconds()


def zone_of_dates(zone: tzinfo, shown: datetime | None, now: datetime) -> tzinfo:
    """Return the zone of dates that say none: the operator's, unless the clock of the OLT says another."""
    if shown is None or not has_zone(shown) or _offset_s(shown.tzinfo, shown) == _offset_s(zone, now):
        return zone
    assert shown.tzinfo is not None
    return shown.tzinfo


def change_time(
    clock: OltClock | None, zone: tzinfo, shown: datetime, after: datetime | None, now: datetime
) -> datetime | None:
    """Return when a change that was seen now happened, by the date that the OLT gives it.

    It happened since the collection before, at `after`. None if the date cannot be that of this change.
    """
    if clock is None or _was_set_since(clock, after):
        return None
    if not clock.is_set and not _was_known_by(clock, after):
        return None
    earliest = _OLDEST if after is None else after - _TABLE_AGE
    for at in _candidates(clock, zone, shown, now):
        if earliest <= at <= now + _AHEAD_OF_US:
            if after is None and not _is_trusted(clock, zone, shown, at, now):
                continue
            return min(at, now)
    return None


def _was_set_since(clock: OltClock, after: datetime | None) -> bool:
    """Return whether a change since then may be dated by the time before the clock was set.

    A clock that stands, or that the agent answers from a cache, is set at every reading.
    """
    return clock.has_jumped and clock.read_at is not None and after is not None and clock.since > after


def _was_known_by(clock: OltClock, after: datetime | None) -> bool:
    """Return whether the clock has been read and goes on as it did at that time.

    One that was never set begins anew when the OLT starts, so that its dates mean something only since then.
    """
    is_read = clock.read_at is not None and clock.bounds.width_s <= _PRECISE_S
    return is_read and after is not None and clock.since <= after


def past_time(clock: OltClock | None, zone: tzinfo, shown: datetime, now: datetime) -> datetime | None:
    """Return when something happened that was not seen to happen, by the date that the OLT gives it."""
    if clock is None or not clock.is_set:
        return None
    found = [at for at in _candidates(clock, zone, shown, now) if at <= now + _AHEAD_OF_US]
    # In the hour that daylight saving repeats, nobody can tell.
    if len(set(found)) != 1 or found[0] < _OLDEST:
        return None
    return min(found[0], now) if _is_trusted(clock, zone, shown, found[0], now) else None


def earlier_change_time(at: datetime, after: datetime, seen: datetime) -> datetime | None:
    """Return when a change that was seen before happened, by a date on our clock that came later.

    It happened since the change before it, at `after`. None if the date cannot be that of this change.
    """
    return min(at, seen) if after - _TABLE_AGE <= at <= seen + _AHEAD_OF_US else None


def _candidates(clock: OltClock, zone: tzinfo, shown: datetime, now: datetime) -> Iterable[datetime]:
    wall = wall_time(shown)
    for rule in _rules(clock, zone, now, shown):
        yield from dict.fromkeys(rule.times(wall))


def _is_trusted(clock: OltClock, zone: tzinfo, shown: datetime, at: datetime, now: datetime) -> bool:
    """Return whether the clock was already as it is when it showed this."""
    if at >= clock.since:
        return True
    rules = _rules(clock, zone, now, shown)
    return not clock.has_jumped and any(rule.was_right_before for rule in rules)


def time_since(seconds: float, after: datetime | None, now: datetime) -> datetime | None:
    """Return when a change that was seen now happened, which the OLT says is so many seconds ago."""
    if seconds < 0:
        return None
    try:
        at = now - timedelta(seconds=seconds)
    except OverflowError:
        return None
    return at if after is None or at >= after - _TABLE_AGE else None
