"""The queue of notifications: events are put in, deliveries for the channels that rules select come out."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from facho.apps.db import sql
from facho.apps.db.database import AdvisoryLock, lock_until_commit
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
    NotificationKind,
    NotifiedEvent,
    Rule,
    SilentHours,
    decide_delivery,
    earliest,
    matches,
)
from facho.core.severity import Severity
from facho.engine.events.notification_texts import compose_message
from facho.engine.events.types import Notification, masked_json

log = logging.getLogger(__name__)

_MAX_ABOUT_LENGTH: Final = 200
# Notifications that are taken from the queue in one transaction.
_AT_ONCE: Final = 100
# Nobody is notified of an OLT that people work on.
_IN_MAINTENANCE: Final = Decision(None, HoldReason.MAINTENANCE)

# Nothing is written while no rule exists.
_QUEUE: Final = (
    "INSERT INTO notification_notices (notice, severity, olt_id, about, details, at, taken)"
    " SELECT {values}, false"
    " WHERE EXISTS (SELECT 1 FROM notification_rules WHERE enabled)"
)
_TYPES: Final = ("text", "text", "bigint", "text", "jsonb", "timestamptz")


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
    sql.execute(_QUEUE.format(values=sql.typed_places(*_TYPES)), values)


def create_deliveries(now: datetime, config: Config) -> int:
    """Create the deliveries of the oldest queued notifications; return how many were taken from the queue."""
    # The queue is nearly always empty, and a read is cheaper than a write transaction.
    if not _queued().exists():
        return 0
    with sql.write_transaction():
        # Two senders would not see each other's deliveries, and repeat them.
        lock_until_commit(AdvisoryLock.NOTIFICATIONS)
        queued = list(_queued().select_related("olt").defer("olt__credentials").order_by("id")[:_AT_ONCE])
        rules = _enabled_rules()
        for each in queued:
            _try_to_deliver(each, rules, now, config)
        NotificationNotice.objects.filter(id__in=[each.id for each in queued]).update(taken=True)
    return len(queued)


def _queued() -> QuerySet[NotificationNotice]:
    return NotificationNotice.objects.filter(taken=False)


def _enabled_rules() -> list[Rule]:
    rows = NotificationRule.objects.filter(enabled=True).order_by("id")
    return [
        Rule(
            row.id,
            kinds=frozenset(row.notices),
            min_severity=Severity(row.min_severity),
            olt_id=row.olt_id,
            site=row.site,
            silence=silent_hours(row),
            no_repeat=timedelta(seconds=row.no_repeat_s),
            channel_ids=[channel.id for channel in row.channels.all() if channel.enabled],
        )
        for row in rows.prefetch_related("channels")
    ]


def silent_hours(rule: NotificationRule) -> SilentHours | None:
    if rule.silent_from is None or rule.silent_to is None:
        return None
    return SilentHours(rule.silent_from, rule.silent_to)


def _try_to_deliver(row: NotificationNotice, rules: Sequence[Rule], now: datetime, config: Config) -> None:
    """Create the deliveries of one row. A bug in it must not hold up the others."""
    try:
        with transaction.atomic():
            _deliver(row, rules, now, config)
    except DatabaseError:
        raise
    except Exception:
        log.exception(
            "notification not delivered because of a bug", extra={"action": "bug", "notice_id": row.id}
        )


def _deliver(row: NotificationNotice, rules: Iterable[Rule], now: datetime, config: Config) -> None:
    event = NotifiedEvent(
        NotificationKind(row.notice),
        Severity(row.severity),
        row.at,
        row.olt_id,
        row.olt.name if row.olt else "",
        row.olt.site if row.olt else "",
        row.about,
        row.details,
    )
    by_channel: dict[int, list[tuple[int, Decision]]] = defaultdict(list)
    in_maintenance = event.olt_id is not None and under_maintenance(event.olt_id, event.at)
    for rule in rules:
        if matches(rule, event):
            decision = _IN_MAINTENANCE if in_maintenance else _decide(rule, event, now, config)
            for channel_id in rule.channel_ids:
                by_channel[channel_id].append((rule.id, decision))
    decisions = {channel: earliest(found) for channel, found in by_channel.items()}
    NotificationDelivery.objects.bulk_create(_deliveries(row, event, decisions, config))


def _decide(rule: Rule, event: NotifiedEvent, now: datetime, config: Config) -> Decision:
    # Older deliveries make no difference, and the index need not be read that far.
    recent = event.at - max(rule.no_repeat, timedelta(days=1))
    same = NotificationDelivery.objects.filter(
        rule=rule.id, olt=event.olt_id, created_at__gt=recent, about=event.about
    )
    held = same.filter(status=DeliveryStatus.WAITING, attempts=0, why_not=HoldReason.REPEAT)
    undone = held.filter(notice__in=OPPOSITES.get(event.kind, ()))
    if undone.update(status=DeliveryStatus.SUPPRESSED, next_try_at=None, why_not=HoldReason.OVER):
        return Decision(None, HoldReason.OVER)
    same = same.filter(notice=event.kind)
    if held.filter(notice=event.kind).exists():
        return Decision(None, HoldReason.REPEAT)
    unsent = (DeliveryStatus.SUPPRESSED, DeliveryStatus.FAILED)
    last = same.exclude(status__in=unsent).order_by("-created_at").first()
    return decide_delivery(rule, event, last.created_at if last else None, now, config.time_zone)


def _deliveries(
    row: NotificationNotice,
    event: NotifiedEvent,
    decisions: Mapping[int, tuple[int, Decision]],
    config: Config,
) -> Iterator[NotificationDelivery]:
    channels = NotificationChannel.objects.in_bulk(decisions) if decisions else {}
    for channel_id, (rule_id, decision) in decisions.items():
        message = compose_message(event, channels[channel_id].language, config)
        yield NotificationDelivery(
            told=row,
            channel_id=channel_id,
            rule_id=rule_id,
            olt_id=event.olt_id,
            notice=event.kind,
            severity=event.severity,
            about=event.about,
            message=f"{message.title}\n{message.body}",
            status=DeliveryStatus.SUPPRESSED if decision.at is None else DeliveryStatus.WAITING,
            next_try_at=decision.at,
            why_not=decision.held_by or "",
            created_at=event.at,
        )
