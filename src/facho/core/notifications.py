"""Decides which events people are notified of by rules, and when their messages are sent.

A message that a channel refuses is tried again for a day. Messages of silent hours are sent at their end.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any, Final
from urllib.parse import quote

from facho.core.severity import RANKS, Severity, worst_severity


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
    # A person tests a channel.
    TEST = "TEST"


# The beginnings that each end ends. Both have the same severity, so that rules select both or none.
ENDS: Final = {
    NotificationKind.OLT_UP: frozenset({NotificationKind.OLT_DOWN}),
    NotificationKind.NODE_BACK: frozenset({NotificationKind.NODE_SUSPENDED}),
    NotificationKind.SATURATION_ENDS: frozenset({NotificationKind.SATURATION_BEGINS}),
    NotificationKind.OPTICAL_RECOVERED: frozenset(
        {NotificationKind.OPTICAL_WEAK, NotificationKind.OPTICAL_FALLING}
    ),
    NotificationKind.PORT_OUTAGE_ENDED: frozenset({NotificationKind.PORT_OUTAGE}),
}
# An end undoes its beginnings, a beginning undoes its end.
OPPOSITES: Final = ENDS | {begin: frozenset({end}) for end, begins in ENDS.items() for begin in begins}
# A test goes to one channel, whatever the rules say.
RULE_KINDS: Final = tuple(each for each in NotificationKind if each is not NotificationKind.TEST)


# What a first rule selects: what concerns many customers, and what keeps data from being collected.
IMPORTANT_KINDS: Final = (
    NotificationKind.OLT_DOWN,
    NotificationKind.OLT_UP,
    NotificationKind.PORT_OUTAGE,
    NotificationKind.PORT_OUTAGE_ENDED,
    NotificationKind.QUOTA_VIOLATION,
    NotificationKind.NODE_SUSPENDED,
    NotificationKind.NODE_BACK,
    NotificationKind.SATURATION_BEGINS,
    NotificationKind.SATURATION_ENDS,
    NotificationKind.UNREADABLE_ROWS,
)


@dataclass(frozen=True, slots=True)
class NotifiedEvent:
    """An event that people may be notified of. It has no OLT when it is about all of them.

    `about` distinguishes two events of one kind on the same OLT.
    """

    kind: NotificationKind
    severity: Severity
    at: datetime
    olt_id: int | None = None
    olt_name: str = ""
    site: str = ""
    about: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def page_path(event: NotifiedEvent) -> str:
    """Return the path of the page that shows what an event is about."""
    if event.kind is NotificationKind.ONU_UNPROVISIONED:
        return "/onus/unprovisioned/"
    if event.olt_id is None:
        return "/coordinator/dashboard/"
    if event.kind in _OF_A_PORT and isinstance(port := event.details.get("port"), str) and port:
        return f"/olts/{event.olt_id}/ports/at/{quote(port)}/"
    return f"/olts/{event.olt_id}/"


_OF_A_PORT: Final = frozenset(
    {
        NotificationKind.PORT_OUTAGE,
        NotificationKind.PORT_OUTAGE_ENDED,
        NotificationKind.OPTICAL_WEAK,
        NotificationKind.OPTICAL_FALLING,
        NotificationKind.OPTICAL_RECOVERED,
    }
)


class MessageType(enum.StrEnum):
    """What a message is, as apprise names it: chats colour messages by it, and webhooks get it."""

    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"


def message_type(told: Iterable[tuple[str, str]]) -> MessageType:
    """Return the type of a message that tells of events, given as kinds and severities: that of the worst
    beginning, or success if all of them are ends.
    """
    worst = worst_severity(Severity(severity) for kind, severity in told if kind not in ENDS)
    return MessageType.SUCCESS if worst is None else _MESSAGE_TYPES[worst]


_MESSAGE_TYPES: Final = {
    Severity.LOW: MessageType.INFO,
    Severity.MEDIUM: MessageType.WARNING,
    Severity.HIGH: MessageType.FAILURE,
    Severity.CRITICAL: MessageType.FAILURE,
}


@dataclass(frozen=True, slots=True)
class SilentHours:
    """Hours on the operator's clock; they pass midnight when the end is before the start."""

    since: time
    until: time


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule without kinds selects all of them, one without an OLT or a site all OLTs."""

    id: int
    kinds: Collection[str] = ()
    min_severity: Severity = Severity.LOW
    olt_id: int | None = None
    site: str = ""
    silence: SilentHours | None = None
    no_repeat: timedelta = timedelta()
    channel_ids: Sequence[int] = ()


def matches(rule: Rule, event: NotifiedEvent) -> bool:
    if rule.kinds and event.kind not in rule.kinds:
        return False
    if rule.olt_id is not None and rule.olt_id != event.olt_id:
        return False
    if rule.site and rule.site != event.site:
        return False
    return RANKS[event.severity] >= RANKS[rule.min_severity]


class HoldReason(enum.StrEnum):
    """The reason why a message is not sent, or not at once."""

    SILENT = "silent"
    REPEAT = "repeat"
    MAINTENANCE = "maintenance"
    # The event ended, or began again, before its message could be sent.
    OVER = "over"
    CHANNEL_OFF = "channel_off"


@dataclass(frozen=True, slots=True)
class Decision:
    """The time at which to send a message, None to never send it. `held_by` is why it is not sent at once."""

    at: datetime | None
    held_by: HoldReason | None = None


def decide_delivery(
    rule: Rule, event: NotifiedEvent, last_delivery_at: datetime | None, now: datetime, zone: tzinfo
) -> Decision:
    """Decide when to send a message; `last_delivery_at` is of the same rule, kind, OLT and `about`.

    A repetition of something that lasts is sent later, or people would believe that it is over. It is dropped
    if it is over by then.
    """
    at, held_by = now, None
    if last_delivery_at is not None and event.at < last_delivery_at + rule.no_repeat:
        if event.kind not in OPPOSITES:
            return Decision(None, HoldReason.REPEAT)
        at, held_by = max(now, last_delivery_at + rule.no_repeat), HoldReason.REPEAT
    if end := end_of_silent_hours(rule.silence, at, zone):
        at, held_by = end, held_by or HoldReason.SILENT
    return Decision(at, held_by)


_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def earliest(decisions: Iterable[tuple[int, Decision]]) -> tuple[int, Decision]:
    """Return the rule and decision that send first: a channel gets an event once."""
    return min(decisions, key=lambda each: (each[1].at is None, each[1].at or _NEVER, each[0]))


def end_of_silent_hours(silence: SilentHours | None, at: datetime, zone: tzinfo) -> datetime | None:
    """Return the end of the silent hours that contain this moment, or None."""
    local = at.astimezone(zone)
    if silence is None or not _is_silent(silence, local.time()):
        return None
    days = 1 if silence.until < silence.since <= local.time() else 0
    end = datetime.combine(local.date() + timedelta(days=days), silence.until, tzinfo=zone)
    # An end comes twice when daylight saving time ends.
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
    """Return when to try again after so many failed attempts; None to give up. The last pause repeats."""
    pause = waits[min(attempts, len(waits)) - 1]
    return now + pause if now + pause - first_try_at <= give_up_after else None
