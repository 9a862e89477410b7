"""Slots that were lost, counted by their reason, for the reports of quotas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

# Beside the reasons that delay a run, `core.delay.Why`.
FAILED: Final = "failed"
ABORTED: Final = "aborted"
# It ended after its hour was closed.
LATE: Final = "late"
OTHER: Final = "other"

# Errors that differ each time must not make an endless list.
_MOST: Final = 20
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class LostSlots:
    """`what` is the job that kept the OLT busy, or an error. `lost_s` is for how long there was no data."""

    why: str
    what: str = ""
    count: int = 1
    lost_s: int = 0

    def as_json(self) -> dict[str, Any]:
        return {"why": self.why, "what": self.what, "count": self.count, "lost_s": self.lost_s}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> LostSlots:
        return cls(written["why"], written["what"], written["count"], written["lost_s"])


def merged(reasons: Iterable[LostSlots]) -> list[LostSlots]:
    """Each of them once, the largest first; beyond so many the rest is one."""
    found: dict[tuple[str, str], LostSlots] = {}
    for each in reasons:
        key = each.why, each.what[:_LONGEST]
        before = found.get(key, LostSlots(*key, count=0))
        found[key] = _plus(before, each)
    ordered = sorted(found.values(), key=lambda each: (-each.count, -each.lost_s, each.why, each.what))
    if len(ordered) <= _MOST:
        return ordered
    rest = LostSlots(OTHER, count=0)
    for each in ordered[_MOST - 1 :]:
        rest = _plus(rest, each)
    return merged([*ordered[: _MOST - 1], rest])


def top(reasons: Iterable[LostSlots], most: int) -> Sequence[LostSlots]:
    return merged(reasons)[:most]


def _plus(reason: LostSlots, other: LostSlots) -> LostSlots:
    return replace(reason, count=reason.count + other.count, lost_s=reason.lost_s + other.lost_s)
