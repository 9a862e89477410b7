"""Searches for the end of a row that makes the agent fail.

GETNEXT from the last good row fails because the row after it is bad, and its index is not known. Asking for
what follows some index x fails as long as x lies before the bad row, and works from the bad row on. So the
smallest x that works is the bad row itself; a binary search finds it, one sub-identifier of the index at a
time.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from facho.core.oid_limits import LARGEST_ARC

Index = tuple[int, ...]

# The next row mostly has the next number. Small steps first, so that good rows between two bad ones are not
# skipped.
_STEPS: Final = (1, 2, 3, 4, *(2**n for n in range(3, 33)))

# Yields an index to try; is sent the index of the row that follows it, () when the column ends there, None
# when the agent failed.
Search = Generator[Index, Index | None, Index | None]


def past_bad_row(last_good: Index) -> Search:
    """Return the smallest index from which the walk can go on, or None when nothing after it can be read."""
    depth = len(last_good)
    known, start = (last_good[:-1], last_good[-1]) if last_good else ((), -1)
    while True:
        found = yield from _smallest(known, start)
        if found is not None:
            break
        while known and known[-1] == LARGEST_ARC:
            known = known[:-1]
        if not known:
            return None
        known, start = known[:-1], known[-1]
    index, follower = found
    climbed = len(index) < depth or not depth
    # Found on a higher level, the bad row is somewhere below the index before it. How far below, the row that
    # follows shows; at the column's end there is none, and only looking shows it.
    while index[-1] > 0:
        depth = max(depth, len(follower))
        before = (*index[:-1], index[-1] - 1)
        known_depth = bool(follower) or not climbed
        if (known_depth and len(index) >= depth) or last_good[: len(before)] == before:
            break
        below = yield from _smallest(before, -1)
        if below is None:
            break
        index, follower = below
    return index


def _smallest(known: Index, start: int) -> Generator[Index, Index | None, tuple[Index, Index] | None]:
    """Return the smallest `known + (x,)` with x > start that works, and the row that follows it."""
    fails = start
    works: int | None = None
    follower: Index = ()
    for step in _STEPS:
        arc = min(start + step, LARGEST_ARC)
        row = yield (*known, arc)
        if row is not None:
            works, follower = arc, row
            break
        fails = arc
        if arc == LARGEST_ARC:
            break
    if works is None:
        return None
    while works - fails > 1:
        middle = (works + fails) // 2
        row = yield (*known, middle)
        if row is None:
            fails = middle
        else:
            works, follower = middle, row
    return (*known, works), follower
