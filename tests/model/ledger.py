"""A ledger with one outcome for every slot of every task, and what quotas must be by it.

It is written from the rules alone, and counts on its fingers: nothing here is taken from the engine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

COMPLETED: Final = "completed"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"
PENDING: Final = ""

_CLOSED_AFTER: Final = timedelta(minutes=10)
_FROM_BAD_TO_WORSE: Final = ("LOW", "MEDIUM", "HIGH", "CRITICAL")


class Period(NamedTuple):
    start: datetime
    end: datetime


class Key(NamedTuple):
    olt: int
    task_type: str
    period: Period


class Row(NamedTuple):
    """A tracker, as it must be. The status is that of an open one while it is open."""

    required: int
    completed: int
    failed: int
    skipped: int
    pending: int
    total_duration_ms: int
    status: str


class Clock:
    """The operator's hours: from one minute in which the wall clock shows :00 to the next such minute."""

    def __init__(self, zone: ZoneInfo, since: datetime, until: datetime) -> None:
        minutes = range((until - since) // timedelta(minutes=1))
        every = (since + timedelta(minutes=minute) for minute in minutes)
        self._strokes = [minute for minute in every if minute.astimezone(zone).minute == 0]

    def period(self, slot: datetime) -> Period:
        after = bisect_left(self._strokes, slot)
        return Period(self._strokes[after - 1], self._strokes[after])


@dataclass(slots=True)
class Entry:
    """One slot of one task. A chained one has those of its master."""

    node: int
    key: Key
    outcome: str = PENDING
    duration_ms: int = 0


@dataclass
class Ledger:
    clock: Clock
    entries: dict[Key, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    # Quotas of an OLT that was switched off in their hour, and got no other slot in it since.
    interrupted: set[Key] = field(default_factory=set)

    def open(self, node: int, olt: int, task_type: str, slot: datetime) -> Entry:
        entry = Entry(node, Key(olt, task_type, self.clock.period(slot)))
        self.entries[entry.key].append(entry)
        return entry

    def settle(self, entry: Entry, outcome: str, now: datetime, duration_ms: int = 0) -> None:
        assert entry.outcome == PENDING, f"{entry} has its outcome already, and now {outcome}"
        if self._is_late(entry.key.period, now):
            entry.outcome = SKIPPED
        else:
            entry.outcome, entry.duration_ms = outcome, duration_ms if outcome == COMPLETED else 0

    def _is_late(self, period: Period, now: datetime) -> bool:
        return now > period.end + _CLOSED_AFTER

    def interrupt(self, olt: int, now: datetime, to_come: Counter[Key]) -> None:
        running = self.clock.period(now)
        assert now > running.start + _CLOSED_AFTER, "nobody may have seen yet that the hour has begun"
        known = {*self.entries, *to_come}
        self.interrupted |= {key for key in known if key.olt == olt and key.period == running}

    def rows(self, now: datetime, to_come: Counter[Key], since: datetime) -> dict[Key, Row]:
        """Of hours that began then or later; `to_come` are the slots on the grids, in the hour of now."""
        wanted = {key for key in (*self.entries, *to_come, *self.interrupted) if key.period.start >= since}
        counted = {key: self._counted(key, now, to_come[key]) for key in wanted}
        pending = Counter[tuple[int, Period]]()
        for key, counts in counted.items():
            pending[key.olt, key.period] += counts[PENDING]
        return {
            key: self._row(key, counts, is_closed=key.period.end < now and not pending[key.olt, key.period])
            for key, counts in counted.items()
        }

    def _counted(self, key: Key, now: datetime, to_come: int) -> Counter[str]:
        counts = Counter(entry.outcome for entry in self.entries.get(key, ()))
        counts[PENDING] += to_come
        if self._is_late(key.period, now):
            counts[SKIPPED] += counts.pop(PENDING, 0)
        return counts

    def _row(self, key: Key, counts: Counter[str], *, is_closed: bool) -> Row:
        required, completed = counts.total(), counts[COMPLETED]
        status = _status(required, completed) if is_closed else "IN_PROGRESS"
        return Row(
            required,
            completed,
            counts[FAILED],
            counts[SKIPPED],
            counts[PENDING],
            sum(entry.duration_ms for entry in self.entries.get(key, ())),
            "INTERRUPTED" if key in self.interrupted else status,
        )


def _status(required: int, completed: int) -> str:
    if completed == required:
        return "COMPLETED"
    if completed == 0:
        return "FAILED"
    return "PARTIAL" if completed / required >= 0.8 else "QUOTA_NOT_MET"


def violations(rows: dict[Key, Row]) -> dict[tuple[int, datetime], str]:
    """By OLT and the beginning of the hour, the severity of the worst of its tasks."""
    found: dict[tuple[int, datetime], list[str]] = defaultdict(list)
    for key, row in rows.items():
        if row.status in ("FAILED", "QUOTA_NOT_MET"):
            found[key.olt, key.period.start].append(severity(row.required, row.completed))
    return {where: max(several, key=_FROM_BAD_TO_WORSE.index) for where, several in found.items()}


def severity(required: int, completed: int) -> str:
    percent = 100 * completed / required
    if percent < 25:
        return "CRITICAL"
    if percent <= 50:
        return "HIGH"
    return "MEDIUM" if percent <= 65 else "LOW"


def differences(expected: dict[Key, Row], found: dict[Key, Row]) -> Iterator[str]:
    for key in sorted({*expected, *found}):
        if expected.get(key) != found.get(key):
            yield f"{_named(key)}\n  expected {expected.get(key)}\n  found    {found.get(key)}"


def _named(key: Key) -> str:
    return f"OLT {key.olt}, {key.task_type}, {key.period.start:%d %H:%M}-{key.period.end:%H:%M}"
