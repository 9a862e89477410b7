"""The states of an ONU over time, as stretches of a band: each so many percent of a period."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from facho.apps.discovery.models import EventKind
from facho.web.components.charts import Period

ONLINE: Final = "online"
OFFLINE: Final = "offline"
ABSENT: Final = "absent"
UNKNOWN: Final = "unknown"
# What an event says of the time after it, and of the time before it.
_AFTER: Final = {
    EventKind.ONLINE: ONLINE,
    EventKind.OFFLINE: OFFLINE,
    EventKind.ABSENT: ABSENT,
    EventKind.RETURNED: UNKNOWN,
    EventKind.NEW: UNKNOWN,
}
_BEFORE: Final = {
    EventKind.ONLINE: OFFLINE,
    EventKind.OFFLINE: ONLINE,
    EventKind.RETURNED: ABSENT,
}
KINDS: Final = tuple(_AFTER)


class Change(NamedTuple):
    at: datetime
    kind: str
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    state: str
    since: datetime
    until: datetime
    cause: str
    left: float
    width: float


def band(changes: Sequence[Change], now_is: str, first_seen: datetime, period: Period) -> list[Stretch]:
    """From its changes, the oldest first, and the state that it is in now.

    The time before the first of them is told by that one, or by the present state if there is none. Where an
    event says only that it is there, the next one says in which state.
    """
    found = []
    for since, until, state, cause in _stretches(changes, now_is, first_seen, period.end):
        start, end = max(since, period.start), min(until, period.end)
        if start < end:
            left, right = (period.span.percent(at.timestamp() * 1000) for at in (start, end))
            found.append(Stretch(state, since, until, cause, left, right - left))
    return found


def _stretches(
    changes: Sequence[Change], now_is: str, first_seen: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime, str, str]]:
    if not changes or changes[0].at > first_seen:
        until = changes[0].at if changes else end
        yield first_seen, until, _before(changes[0]) if changes else now_is, ""
    for number, change in enumerate(changes):
        after = changes[number + 1] if number + 1 < len(changes) else None
        state = _AFTER[EventKind(change.kind)]
        if state == UNKNOWN:
            state = now_is if after is None else _before(after)
        yield change.at, end if after is None else after.at, state, change.cause


def _before(change: Change) -> str:
    return _BEFORE.get(EventKind(change.kind), UNKNOWN)


def share(stretches: Sequence[Stretch], state: str) -> float | None:
    """How much of the time that is known it was in that state, in percent."""
    known = sum(each.width for each in stretches if each.state != UNKNOWN)
    if not known:
        return None
    return 100 * sum(each.width for each in stretches if each.state == state) / known
