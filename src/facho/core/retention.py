"""What is too old to be kept, and whether the clock may be trusted with removing it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

# A clock that jumps by years would remove everything. Somebody has this long to notice and set it right.
SETTLES_IN: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns of the housekeeping that came one after the other, without a gap."""

    since: datetime
    last: datetime

    @property
    def settled(self) -> bool:
        """Time went by as it should for long enough to believe what time it is."""
        return self.last - self.since >= SETTLES_IN


def longest_pause(every: timedelta) -> timedelta:
    """Between two turns that are planned `every` so often; a longer one is a gap."""
    return max(SETTLES_IN, 2 * every)


def next_turn(before: Turns | None, now: datetime, *, every: timedelta) -> Turns:
    """After a gap they begin anew: nobody was here, or the clock was set. Two clocks may differ a little."""
    if before is None or abs(now - before.last) > longest_pause(every):
        return Turns(now, now)
    return Turns(before.since, max(now, before.last))


def kept_from(now: datetime, keep: timedelta) -> datetime:
    """What is older than this is too old."""
    return now - min(keep, now - _OLDEST)


# No clock of a computer was ever earlier, and a longer time could not be taken from a date.
_OLDEST: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
