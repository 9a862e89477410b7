"""Why slots of an hour were lost, how many, and for how long there was no data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from facho.core.quota import OTHER
from facho.core.reasons import NO_REASON, Reason, from_json, to_json

# From and until, in seconds since 1970; in their order, none touches another.
Times = tuple[tuple[int, int], ...]

# Errors that differ each time must not make an endless list, nor must slots that are lost now and then.
_MOST: Final = 20
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class LostSlots:
    """`what` is the job that kept the OLT busy, or an error. `lost_s` is for how long there was no data."""

    why: str
    what: Reason = NO_REASON
    count: int = 1
    lost_s: int = 0
    # When there was no data; empty if that is not known.
    times: Times = ()

    def as_json(self) -> dict[str, Any]:
        written = {"why": self.why, "what": to_json(self.what), "count": self.count, "lost_s": self.lost_s}
        return {**written, "times": [list(each) for each in self.times]} if self.times else written

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> LostSlots:
        times = tuple((since, until) for since, until in written.get("times", ()))
        return cls(written["why"], from_json(written["what"]), written["count"], written["lost_s"], times)


def lose_slots(why: str, what: Reason, first: datetime, interval_s: int, count: int = 1) -> LostSlots:
    """Return slots of one node that were lost one after another: no data from the first to the next run."""
    since = int(first.timestamp())
    return LostSlots(why, what, count, count * interval_s, ((since, since + count * interval_s),))


def merge_lost_slots(reasons: Iterable[LostSlots]) -> list[LostSlots]:
    """Each of them once, the largest first; beyond so many the rest is one."""
    found: dict[tuple[str, Reason], LostSlots] = {}
    for each in reasons:
        key = each.why, each.what.with_texts(_cut)
        before = found.get(key, LostSlots(*key, count=0))
        found[key] = _plus(before, each)
    ordered = sorted(found.values(), key=lambda each: (-each.count, -each.lost_s, each.why, str(each.what)))
    if len(ordered) <= _MOST:
        return ordered
    rest = LostSlots(OTHER, count=0)
    for each in ordered[_MOST - 1 :]:
        rest = _plus(rest, each)
    return merge_lost_slots([*ordered[: _MOST - 1], rest])


def merge_tasks(tasks: Iterable[Iterable[LostSlots]]) -> list[LostSlots]:
    """Merge the reasons of several tasks of one OLT: the same minutes without data count once.

    A task that runs every hour has no data for an hour after a short outage. The task that runs most often
    says best how long the outage was: a slot of any task is taken for lost as long as one of that task.
    """
    every = [merge_lost_slots(task) for task in tasks]
    lengths = [each.lost_s // each.count for task in every for each in task if each.times]
    shortest = min(lengths, default=0)
    return merge_lost_slots(_shorten(each, shortest) for task in every for each in task)


def _shorten(lost: LostSlots, slot_s: int) -> LostSlots:
    if not lost.times:
        return lost
    cut = lost.lost_s // lost.count - slot_s
    times = tuple((since, max(until - cut, since + slot_s)) for since, until in lost.times)
    return replace(lost, times=times, lost_s=_length(times))


def top(reasons: Iterable[LostSlots], most: int) -> Sequence[LostSlots]:
    return merge_lost_slots(reasons)[:most]


def _cut(text: str) -> str:
    return text[:_LONGEST]


def _plus(reason: LostSlots, other: LostSlots) -> LostSlots:
    together, times = reason.lost_s + other.lost_s, _union(reason.times, other.times)
    if all(each.times or not each.lost_s for each in (reason, other)):
        together = min(together, _length(times))
    return replace(reason, count=reason.count + other.count, lost_s=together, times=_simplify(times))


def _union(some: Times, others: Times) -> Times:
    found: list[tuple[int, int]] = []
    for since, until in sorted((*some, *others)):
        if found and since <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], until)
        else:
            found.append((since, until))
    return tuple(found)


def _simplify(times: Times) -> Times:
    """Return at most so many times: those with the shortest gaps between them become one."""
    while len(times) > _MOST:
        gaps = [later[0] - earlier[1] for earlier, later in pairwise(times)]
        place = gaps.index(min(gaps))
        times = (*times[:place], (times[place][0], times[place + 1][1]), *times[place + 2 :])
    return times


def _length(times: Times) -> int:
    return sum(until - since for since, until in times)
