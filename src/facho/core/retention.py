"""Retention: what is too old to keep, and whether the clock can be trusted to delete it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

# A clock that jumps by years would delete everything; an operator has this long to notice.
SETTLES_IN: Final = timedelta(hours=1)
# After a stop everything that fell due meanwhile is overdue. In a table that fills in bursts this may be most
# rows, without any fault of the clock. Longer than a weekend.
_ORDINARY_STOP: Final = timedelta(days=3)
# In a table with few rows it means little that most are too old, unless they have been for this long, or for
# as long as they are kept.
_FEW_ROWS: Final = 100
_LONG_OVERDUE: Final = timedelta(days=30)
# Deleting the old rows of a large table takes days. Only what was shown is deleted in that time.
_CONFIRMED_FOR: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class SteadyPeriod:
    """Turns of the housekeeping that came one after the other, without a gap."""

    since: datetime
    last: datetime

    @property
    def settled(self) -> bool:
        """Time went by as it should for long enough to believe what time it is."""
        return self.last - self.since >= SETTLES_IN


def longest_gap(every: timedelta) -> timedelta:
    """Between two turns that are planned `every` so often; a longer one is a gap."""
    return max(SETTLES_IN, 2 * every)


def extend_steady_period(before: SteadyPeriod | None, now: datetime, *, every: timedelta) -> SteadyPeriod:
    """After a gap they begin anew: nobody was here, or the clock was set. Two clocks may differ a little."""
    if before is None or abs(now - before.last) > longest_gap(every):
        return SteadyPeriod(now, now)
    return SteadyPeriod(before.since, max(now, before.last))


@dataclass(frozen=True, slots=True)
class LargeRemoval:
    """A table of which most would go. Its rows are estimated when there are many."""

    table: str
    # Older rows would be deleted.
    before: datetime
    going: int
    there: int

    def as_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "before": self.before.isoformat(),
            "going": self.going,
            "there": self.there,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> LargeRemoval:
        before = datetime.fromisoformat(found["before"])
        return cls(found["table"], before, found["going"], found["there"])


@dataclass(frozen=True, slots=True)
class Hold:
    """A removal that waits for a person: the clock may be wrong, or a setting, or the data are old."""

    since: datetime
    removals: tuple[LargeRemoval, ...]
    confirmed_at: datetime | None = None
    confirmed_by: str = ""

    @property
    def tables(self) -> frozenset[str]:
        return frozenset(removal.table for removal in self.removals)

    def is_confirmed(self, now: datetime) -> bool:
        """Return whether a confirmation still holds: it expires, and a clock set back voids it."""
        at = self.confirmed_at
        return at is not None and at - SETTLES_IN <= now <= at + _CONFIRMED_FOR

    def limit(self, table: str, before: datetime) -> datetime:
        """Return the time before which rows may go: what was shown was confirmed, and nothing younger."""
        return min([before, *(removal.before for removal in self.removals if removal.table == table)])

    def as_json(self) -> dict[str, Any]:
        return {
            "since": self.since.isoformat(),
            "tables": [removal.as_json() for removal in self.removals],
            "confirmed_at": None if self.confirmed_at is None else self.confirmed_at.isoformat(),
            "confirmed_by": self.confirmed_by,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Hold:
        at = found["confirmed_at"]
        return cls(
            datetime.fromisoformat(found["since"]),
            tuple(map(LargeRemoval.from_json, found["tables"])),
            None if at is None else datetime.fromisoformat(at),
            found["confirmed_by"],
        )


def is_behind(oldest: datetime | None, before: datetime, *, every: timedelta) -> bool:
    """Return whether rows exist that any ordinary stop would have deleted long ago."""
    return oldest is not None and before - oldest > max(_ORDINARY_STOP, longest_gap(every))


def needs_confirmation(going: int, staying: int, overdue: timedelta, *, keep: timedelta) -> bool:
    """Return whether a deletion needs confirmation. `overdue` is how long the oldest row is too old."""
    return going > staying and (going + staying > _FEW_ROWS or overdue > min(_LONG_OVERDUE, keep))


def shrinks_below(removal: LargeRemoval, before: datetime) -> bool:
    """Return whether less would be deleted than was shown: the clock was set back, or more is kept."""
    return before < removal.before - SETTLES_IN


def current_hold(hold: Hold | None, removals: Sequence[LargeRemoval], now: datetime) -> Hold | None:
    """Return the hold that applies, None if the deletion may go on."""
    if not removals:
        return None
    if hold is None or not _covers(hold, removals):
        return Hold(now, tuple(removals))
    if hold.confirmed_at is not None and not hold.is_confirmed(now):
        return Hold(now, tuple(removals))
    return hold


def _covers(hold: Hold, removals: Sequence[LargeRemoval]) -> bool:
    """Return whether the hold shows all these tables, each at least as far."""
    shown = {removal.table: removal for removal in hold.removals}
    return all(
        removal.table in shown and not shrinks_below(shown[removal.table], removal.before)
        for removal in removals
    )


def oldest_kept(now: datetime, keep: timedelta) -> datetime:
    """Return the time before which rows are too old."""
    return now - min(keep, now - _OLDEST)


# No computer clock was ever earlier, and subtracting more would overflow.
_OLDEST: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
