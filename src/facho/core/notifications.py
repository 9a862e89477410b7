"""What people are told of, who of them, and when: a rule's answer to a notice.

A channel that does not take a message is tried again after a while, for a day. In silent hours nothing is
sent; what happens then is told at their end.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final

from facho.core.severity import Severity


class NotificationKind(enum.StrEnum):
    QUOTA_VIOLATION = "QUOTA_VIOLATION"
    OLT_DOWN = "OLT_DOWN"
    OLT_UP = "OLT_UP"
    NODE_SUSPENDED = "NODE_SUSPENDED"
    NODE_BACK = "NODE_BACK"
    SATURATION_BEGINS = "SATURATION_BEGINS"
    SATURATION_ENDS = "SATURATION_ENDS"
    PLAN_INFEASIBLE = "PLAN_INFEASIBLE"
    ONU_UNPROVISIONED = "ONU_UNPROVISIONED"
    OPTICAL_WEAK = "OPTICAL_WEAK"
    OPTICAL_FALLING = "OPTICAL_FALLING"
    OPTICAL_RECOVERED = "OPTICAL_RECOVERED"
    PORT_OUTAGE = "PORT_OUTAGE"
    PORT_OUTAGE_ENDED = "PORT_OUTAGE_ENDED"
    UNREADABLE_ROWS = "UNREADABLE_ROWS"
    # Somebody tries a channel.
    TEST = "TEST"


# What ends what. An end has the severity of its beginning, so that who was told of one is told of the other.
ENDS: Final = {
    NotificationKind.OLT_UP: frozenset({NotificationKind.OLT_DOWN}),
    NotificationKind.NODE_BACK: frozenset({NotificationKind.NODE_SUSPENDED}),
    NotificationKind.SATURATION_ENDS: frozenset({NotificationKind.SATURATION_BEGINS}),
    NotificationKind.OPTICAL_RECOVERED: frozenset(
        {NotificationKind.OPTICAL_WEAK, NotificationKind.OPTICAL_FALLING}
    ),
    NotificationKind.PORT_OUTAGE_ENDED: frozenset({NotificationKind.PORT_OUTAGE}),
}
# What each of them undoes: an end its beginnings, a beginning its end.
OPPOSITES: Final = ENDS | {begin: frozenset({end}) for end, begins in ENDS.items() for begin in begins}
# Rules are about these; a test goes to one channel, whatever the rules say.
RULE_KINDS: Final = tuple(each for each in NotificationKind if each is not NotificationKind.TEST)


@dataclass(frozen=True, slots=True)
class NotifiableEvent:
    """A notice, and where it came from. `about` tells two of a kind on one OLT apart."""

    notice: NotificationKind
    severity: Severity
    at: datetime
    olt_id: int | None = None
    site: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class SilentHours:
    """From the one to the other on the operator's clock, over midnight when the end comes first."""

    since: time
    until: time


@dataclass(frozen=True, slots=True)
class Rule:
    """Without notices it is about all of them, without an OLT or a site about all OLTs."""

    id: int
    notices: Collection[str] = ()
    min_severity: Severity = Severity.LOW
    olt_id: int | None = None
    site: str = ""
    silence: SilentHours | None = None
    no_repeat: timedelta = timedelta()
    channel_ids: Sequence[int] = ()


def matches(rule: Rule, happened: NotifiableEvent) -> bool:
    if rule.notices and happened.notice not in rule.notices:
        return False
    if rule.olt_id is not None and rule.olt_id != happened.olt_id:
        return False
    if rule.site and rule.site != happened.site:
        return False
    return _HOW_BAD[happened.severity] >= _HOW_BAD[rule.min_severity]


_HOW_BAD: Final = {each: place for place, each in enumerate(Severity)}


class HoldReason(enum.StrEnum):
    """Why a message is not sent, or not at once."""

    SILENT = "silent"
    REPEAT = "repeat"
    MAINTENANCE = "maintenance"
    # What it tells was over, or had begun again, before it could be told.
    OVER = "over"
    CHANNEL_OFF = "channel_off"


@dataclass(frozen=True, slots=True)
class Decision:
    """When to tell; never when there is no time. `why_not` says why not at once."""

    at: datetime | None
    why_not: HoldReason | None = None


def decide_delivery(
    rule: Rule, happened: NotifiableEvent, last_told_at: datetime | None, now: datetime, zone: tzinfo
) -> Decision:
    """`last_told_at` is of the same: rule, notice, OLT, and what it is about.

    What lasts is told when it may be told again, for people must not believe that it is over; unless it is
    over by then.
    """
    at, why = now, None
    if last_told_at is not None and happened.at < last_told_at + rule.no_repeat:
        if happened.notice not in OPPOSITES:
            return Decision(None, HoldReason.REPEAT)
        at, why = max(now, last_told_at + rule.no_repeat), HoldReason.REPEAT
    if end := end_of_silent_hours(rule.silence, at, zone):
        at, why = end, why or HoldReason.SILENT
    return Decision(at, why)


_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def earliest(verdicts: Iterable[tuple[int, Decision]]) -> tuple[int, Decision]:
    """Of several rules that have a notice for one channel, by their ids: it is told once."""
    return min(verdicts, key=lambda each: (each[1].at is None, each[1].at or _NEVER, each[0]))


def end_of_silent_hours(silence: SilentHours | None, at: datetime, zone: tzinfo) -> datetime | None:
    """When the silent hours end in which this moment is; None when it is in none."""
    here = at.astimezone(zone)
    if silence is None or not _is_silent(silence, here.time()):
        return None
    days = 1 if silence.until < silence.since <= here.time() else 0
    end = datetime.combine(here.date() + timedelta(days=days), silence.until, tzinfo=zone)
    # Where the clock is set back, an end comes twice.
    return next((each for fold in (0, 1) if (each := end.replace(fold=fold).astimezone(UTC)) > at), None)


def _is_silent(silence: SilentHours, clock: time) -> bool:
    if silence.since <= silence.until:
        return silence.since <= clock < silence.until
    return clock >= silence.since or clock < silence.until


BACK_OFF: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60))
GIVE_UP_AFTER: Final = timedelta(days=1)


def next_attempt_at(
    attempts: int,
    first_try_at: datetime,
    now: datetime,
    *,
    waits: Sequence[timedelta] = BACK_OFF,
    give_up_after: timedelta = GIVE_UP_AFTER,
) -> datetime | None:
    """After so many attempts that failed; the last pause repeats. None when it is not tried any more."""
    pause = waits[min(attempts, len(waits)) - 1]
    return now + pause if now + pause - first_try_at <= give_up_after else None
