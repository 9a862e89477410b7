"""From what happened to who is told of it, and when: a notice becomes a delivery for each channel."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet

from facho.apps.db import sql
from facho.apps.maintenance.selectors import under_maintenance
from facho.apps.notifications.models import (
    DeliveryStatus,
    NotificationChannel,
    NotificationDelivery,
    NotificationNotice,
    NotificationRule,
)
from facho.config import Config
from facho.core.notifications import (
    OPPOSITES,
    Decision,
    HoldReason,
    NotifiableEvent,
    NotificationKind,
    Rule,
    SilentHours,
    decide_delivery,
    earliest,
    matches,
)
from facho.core.severity import Severity
from facho.engine.events.notification_texts import NotifiedEvent, compose_message
from facho.engine.events.types import Notification, masked_json

log = logging.getLogger(__name__)

_MAX_ABOUT_LENGTH: Final = 200
# In one transaction.
_AT_ONCE: Final = 100
_LOCK: Final = 0xFAC48
_ALONE: Final = Decision(None, HoldReason.MAINTENANCE)


# Nothing is written while no rule exists.
_QUEUE: Final = (
    "INSERT INTO notification_notices (notice, severity, olt_id, about, details, at, taken)"
    " SELECT {values}, false"
    " WHERE EXISTS (SELECT 1 FROM notification_rules WHERE enabled)"
)
_VALUES: Final = {
    "sqlite": "%s, %s, %s, %s, %s, %s",
    # PostgreSQL does not infer the type of a parameter in a SELECT list.
    "postgresql": "%s::text, %s::text, %s::bigint, %s::text, %s::jsonb, %s::timestamptz",
}


def queue_notification(notification: Notification, olt_id: int | None, now: datetime) -> None:
    """Write what the sender needs of an event, in the caller's transaction and in one statement.

    The message is composed from the details when it is sent, in the language of the channel.
    """
    values = [
        notification.kind.value,
        notification.severity.value,
        olt_id,
        notification.about[:_MAX_ABOUT_LENGTH],
        json.dumps(masked_json(notification.details)),
        sql.db_time(now),
    ]
    sql.execute(_QUEUE.format(values=_VALUES[connection.vendor]), values)


def create_deliveries(now: datetime, config: Config) -> int:
    """Those that nobody has taken yet, the first first. How many it were."""
    # Nearly always there are none, which is seen without writing.
    if not _new().exists():
        return 0
    with sql.write_transaction():
        _lock()
        notices = list(_new().select_related("olt").defer("olt__credentials").order_by("id")[:_AT_ONCE])
        rules = enabled_rules()
        for each in notices:
            _try_to_take(each, rules, now, config)
        NotificationNotice.objects.filter(id__in=[each.id for each in notices]).update(taken=True)
    return len(notices)


def _new() -> QuerySet[NotificationNotice]:
    return NotificationNotice.objects.filter(taken=False)


def _lock() -> None:
    """One at a time: two would not see what the other tells, and tell it again."""
    if connection.vendor == "postgresql":
        sql.fetch_rows("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def enabled_rules() -> list[Rule]:
    rows = NotificationRule.objects.filter(enabled=True).order_by("id")
    return [rule_from_row(row) for row in rows.prefetch_related("channels")]


def rule_from_row(row: NotificationRule) -> Rule:
    return Rule(
        row.id,
        notices=frozenset(row.notices),
        min_severity=Severity(row.min_severity),
        olt_id=row.olt_id,
        site=row.site,
        silence=silent_hours(row),
        no_repeat=timedelta(seconds=row.no_repeat_s),
        channel_ids=[channel.id for channel in row.channels.all() if channel.enabled],
    )


def silent_hours(row: NotificationRule) -> SilentHours | None:
    if row.silent_from is None or row.silent_to is None:
        return None
    return SilentHours(row.silent_from, row.silent_to)


def _try_to_take(told: NotificationNotice, rules: Sequence[Rule], now: datetime, config: Config) -> None:
    """One that cannot be told keeps no other from its turn."""
    try:
        with transaction.atomic():
            _take(told, rules, now, config)
    except DatabaseError:
        raise
    except Exception:
        log.exception("a notice was not told by a bug", extra={"action": "bug", "notice_id": told.id})


def _take(told: NotificationNotice, rules: Iterable[Rule], now: datetime, config: Config) -> None:
    happened = NotifiableEvent(
        NotificationKind(told.notice),
        Severity(told.severity),
        told.at,
        told.olt_id,
        told.olt.site if told.olt else "",
        told.about,
    )
    by_channel: dict[int, list[tuple[int, Decision]]] = defaultdict(list)
    # Of an OLT that people work on, nobody is told anything.
    is_left_alone = told.olt_id is not None and under_maintenance(told.olt_id, told.at)
    for rule in rules:
        if matches(rule, happened):
            found = _ALONE if is_left_alone else _verdict(rule, happened, now, config)
            for channel_id in rule.channel_ids:
                by_channel[channel_id].append((rule.id, found))
    NotificationDelivery.objects.bulk_create(
        _deliveries(told, {channel: earliest(found) for channel, found in by_channel.items()}, config)
    )


def _verdict(rule: Rule, happened: NotifiableEvent, now: datetime, config: Config) -> Decision:
    same = _of(rule, happened).filter(about=happened.about)
    held = same.filter(status=DeliveryStatus.WAITING, attempts=0, why_not=HoldReason.REPEAT)
    undone = held.filter(notice__in=OPPOSITES.get(happened.notice, ()))
    if undone.update(status=DeliveryStatus.SUPPRESSED, next_try_at=None, why_not=HoldReason.OVER):
        return Decision(None, HoldReason.OVER)
    if held.filter(notice=happened.notice).exists():
        return Decision(None, HoldReason.REPEAT)
    not_told = (DeliveryStatus.SUPPRESSED, DeliveryStatus.FAILED)
    told = same.filter(notice=happened.notice).exclude(status__in=not_told).order_by("-created_at").first()
    return decide_delivery(rule, happened, told.created_at if told else None, now, config.time_zone)


def _of(rule: Rule, happened: NotifiableEvent) -> QuerySet[NotificationDelivery]:
    # As far as its index goes: what is older makes no difference.
    lately = happened.at - max(rule.no_repeat, timedelta(days=1))
    return NotificationDelivery.objects.filter(rule=rule.id, olt=happened.olt_id, created_at__gt=lately)


def _deliveries(
    told: NotificationNotice, verdicts: Mapping[int, tuple[int, Decision]], config: Config
) -> Iterator[NotificationDelivery]:
    channels = NotificationChannel.objects.in_bulk(verdicts) if verdicts else {}
    for channel_id, (rule_id, found) in verdicts.items():
        message = compose_message(notified_event(told), channels[channel_id].language, config)
        yield NotificationDelivery(
            told=told,
            channel_id=channel_id,
            rule_id=rule_id,
            olt_id=told.olt_id,
            notice=told.notice,
            severity=told.severity,
            about=told.about,
            message=f"{message.title}\n{message.body}",
            status=DeliveryStatus.SUPPRESSED if found.at is None else DeliveryStatus.WAITING,
            next_try_at=found.at,
            why_not=found.why_not or "",
            created_at=told.at,
        )


def notified_event(told: NotificationNotice) -> NotifiedEvent:
    name = told.olt.name if told.olt else ""
    return NotifiedEvent(
        NotificationKind(told.notice), told.severity, told.at, name, told.about, told.details
    )
