"""The states of an ONU over a period, as stretches of a band in percent of its width."""

from __future__ import annotations

import math
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
# The states after and before an event.
_STATE_AFTER: Final = {
    EventKind.ONLINE: ONLINE,
    EventKind.OFFLINE: OFFLINE,
    EventKind.ABSENT: ABSENT,
    EventKind.RETURNED: UNKNOWN,
    EventKind.NEW: UNKNOWN,
}
_STATE_BEFORE: Final = {
    EventKind.ONLINE: OFFLINE,
    EventKind.OFFLINE: ONLINE,
    EventKind.RETURNED: ABSENT,
}
CHANGE_KINDS: Final = tuple(_STATE_AFTER)


class StateChange(NamedTuple):
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


def build_band(
    changes: Sequence[StateChange],
    now_is: str,
    first_seen: datetime,
    period: Period,
    known_until: datetime | None = None,
) -> list[Stretch]:
    """Build the stretches of a period from the state changes, oldest first, and the current state.

    The state before the first change follows from that change, or is the current state if there is none. An
    event that only says that the ONU exists takes its state from the next event. After `known_until`, the
    last collection of states, the state is unknown.
    """
    found = []
    last = min(known_until or period.end, period.end)
    # A discovery may have found a change since: the time before it is unknown all the same.
    known = (
        (since, min(until, last), state, cause)
        for since, until, state, cause in _iter_stretches(changes, now_is, first_seen, last)
    )
    for since, until, state, cause in [*known, (last, period.end, UNKNOWN, "")]:
        start, end = max(since, period.start), min(until, period.end)
        if start < end:
            left, right = (period.span.percent(at.timestamp() * 1000) for at in (start, end))
            found.append(Stretch(state, since, until, cause, left, right - left))
    return found


def _iter_stretches(
    changes: Sequence[StateChange], now_is: str, first_seen: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime, str, str]]:
    if not changes or changes[0].at > first_seen:
        until = changes[0].at if changes else end
        yield first_seen, until, _state_before(changes[0]) if changes else now_is, ""
    for number, change in enumerate(changes):
        after = changes[number + 1] if number + 1 < len(changes) else None
        state = _STATE_AFTER[EventKind(change.kind)]
        if state == UNKNOWN:
            state = now_is if after is None else _state_before(after)
        yield change.at, end if after is None else after.at, state, change.cause


def _state_before(change: StateChange) -> str:
    return _STATE_BEFORE.get(EventKind(change.kind), UNKNOWN)


def known_width(stretches: Sequence[Stretch]) -> float:
    """Return the percentage of the period whose state is known."""
    return sum(each.width for each in stretches if each.state != UNKNOWN)


def state_share(stretches: Sequence[Stretch], state: str) -> float | None:
    """Return the percentage of the known time in a state, rounded down: 100 % is all of it."""
    known = known_width(stretches)
    if not known:
        return None
    share = sum(each.width for each in stretches if each.state == state) / known
    # A sum of all widths may be a little below the whole.
    return math.floor(10_000 * share + 1e-6) / 100
