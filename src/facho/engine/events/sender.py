"""Sends the deliveries that are due, in a thread of its own: collection never waits for a mail server.

The deliveries that are due for a channel go in one message. Each row has the state of its delivery; what a
dead sender left is sent by the next one after a while. So a delivery is sent once, or twice if its sender
died after sending and before storing that; it is never forgotten.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from facho.apps.db import sql
from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import QuotaViolation
from facho.apps.notifications.models import DeliveryStatus, NotificationChannel, NotificationDelivery
from facho.config import Config
from facho.core.notifications import NotificationKind, end_of_silent_hours, message_type, next_attempt_at
from facho.engine.events import outgoing_messages
from facho.engine.events.notification_texts import combine_messages
from facho.engine.events.notifications import create_deliveries, silent_hours
from facho.engine.events.outgoing_messages import BackgroundSend, OutgoingMessage, Send
from facho.engine.process.loops import run_loop, run_step
from facho.keys import KeyProblem

log = logging.getLogger(__name__)

# Deliveries in one message; more would not be read.
_MOST: Final = 20
# A sender that stores no result within its time-out and this time is considered dead.
_GRACE: Final = timedelta(minutes=1)
# Most channels answer at once; waiting a moment stores the result in the same step.
_WAIT: Final = timedelta(seconds=1)
_UNSENT: Final = (DeliveryStatus.WAITING, DeliveryStatus.SENDING)
# The words of the conditions are those of the indexes.
_ANYTHING: Final = (
    "SELECT 1 FROM notification_notices WHERE NOT taken"  # noqa: S608 - our own words
    " UNION ALL SELECT 1 FROM notification_deliveries"
    f" WHERE status IN {tuple(each.value for each in _UNSENT)} AND next_try_at <= %s LIMIT 1"
)


@dataclass(slots=True)
class _Batch:
    """Deliveries of a channel that are being sent as one message."""

    ids: Sequence[int]
    # The claim on their rows: with another time in them, another sender has them.
    claimed_until: datetime
    deadline: datetime
    sending: BackgroundSend
    given_up: bool = field(default=False)


class Sender:
    """Sends in steps that do not wait: a channel that hangs delays no other one."""

    def __init__(self, config: Config, send: Send = outgoing_messages.send, wait: timedelta = _WAIT) -> None:
        self._config = config
        self._send = send
        self._wait = wait
        self._batches: dict[int, _Batch] = {}

    def step(self, now: datetime) -> None:
        # Nearly always there is nothing to do, which one statement shows.
        if not self._batches and not sql.fetch_rows(_ANYTHING, [sql.db_time(now)]):
            return
        while create_deliveries(now, self._config):
            pass
        self._store_results(now)
        self._start_due(now)
        self.wait_for_results(now, self._wait)

    def wait_for_results(self, now: datetime, timeout: timedelta) -> None:
        for batch in list(self._batches.values()):
            if not batch.given_up:
                batch.sending.wait(timeout)
        self._store_results(now)

    def _start_due(self, now: datetime) -> None:
        ids = set(_due(now).order_by().values_list("channel_id", flat=True)) - set(self._batches)
        for channel in NotificationChannel.objects.filter(id__in=ids).order_by("id"):
            if claimed := _claim(channel, now, now + self._config.notify_timeout + _GRACE):
                self._start_sending(channel, claimed, now)

    def _start_sending(
        self, channel: NotificationChannel, claimed: Sequence[NotificationDelivery], now: datetime
    ) -> None:
        timeout, claimed_until = self._config.notify_timeout, claimed[0].next_try_at
        assert claimed_until is not None
        ids = [each.id for each in claimed]
        try:
            message = _outgoing_message(channel, claimed, self._config)
        except KeyProblem as problem:
            with sql.write_transaction():
                _mark_failed(ids, claimed_until, str(problem), now, self._config)
            return
        sending = BackgroundSend(message, timeout, self._send)
        self._batches[channel.id] = _Batch(ids, claimed_until, now + timeout, sending)

    def _store_results(self, now: datetime) -> None:
        for channel_id, batch in list(self._batches.items()):
            if batch.sending.wait():
                del self._batches[channel_id]
                self._store_result(batch, batch.sending.error, now)
            elif now >= batch.deadline and not batch.given_up:
                # Its thread may hang for ever; until it ends, this process sends nothing more to the channel.
                batch.given_up = True
                error = f"no answer in {self._config.notify_timeout.total_seconds():g} s"
                self._store_result(batch, error, now)

    def _store_result(self, batch: _Batch, error: str | None, now: datetime) -> None:
        with sql.write_transaction():
            if error:
                _mark_failed(batch.ids, batch.claimed_until, error, now, self._config)
            else:
                _mark_sent(batch, now)


def _due(now: datetime) -> QuerySet[NotificationDelivery]:
    """Return deliveries that wait, and those that a dead sender left."""
    return NotificationDelivery.objects.filter(
        status__in=_UNSENT, next_try_at__lte=now, channel__enabled=True
    )


def _claim(channel: NotificationChannel, now: datetime, until: datetime) -> list[NotificationDelivery]:
    """Claim as many as fit in a message: until then no other sender finds them due."""
    with sql.write_transaction():
        first = (
            _due(now).filter(channel=channel).order_by("id").select_for_update(skip_locked=True, of=("self",))
        )
        ids = list(first.values_list("id", flat=True)[:_MOST])
        NotificationDelivery.objects.filter(id__in=ids).update(
            status=DeliveryStatus.SENDING,
            attempts=F("attempts") + 1,
            first_try_at=Coalesce("first_try_at", now),
            next_try_at=until,
        )
    return list(NotificationDelivery.objects.filter(id__in=ids).order_by("id"))


def _outgoing_message(
    channel: NotificationChannel, claimed: Sequence[NotificationDelivery], config: Config
) -> OutgoingMessage:
    message = combine_messages([each.message for each in claimed], channel.language, config)
    told = message_type((each.notice, each.severity) for each in claimed)
    return OutgoingMessage(channel.url.open(), message.title, message.body, config.notify_local_targets, told)


def _mark_sent(batch: _Batch, now: datetime) -> None:
    ours = NotificationDelivery.objects.filter(id__in=batch.ids)
    # A message that was given up may arrive all the same, as long as nobody has begun to send it again.
    ours = ours.filter(
        Q(status=DeliveryStatus.SENDING, next_try_at=batch.claimed_until) | Q(status=DeliveryStatus.WAITING)
    )
    sent = list(ours.select_related("told"))
    ours.filter(id__in=[each.id for each in sent]).update(
        status=DeliveryStatus.SENT, sent_at=now, next_try_at=None, error=""
    )
    for each in sent:
        if each.notice == NotificationKind.QUOTA_VIOLATION and each.told is not None:
            _mark_violation_notified(each.olt_id, each.told.details, now)
    log.info(
        "notification sent", extra={"action": "notification_sent", "deliveries": list(batch.ids), "error": ""}
    )


def _mark_violation_notified(olt_id: int | None, details: Mapping[str, Any], now: datetime) -> None:
    """Date the notification of a violation by the first message about it."""
    violation = QuotaViolation.objects.filter(
        olt=olt_id, period_start=datetime.fromisoformat(details["period_start"]), notified=False
    )
    violation.update(notified=True, notified_at=now)


def _mark_failed(
    ids: Sequence[int], claimed_until: datetime, error: str, now: datetime, config: Config
) -> None:
    ours = NotificationDelivery.objects.filter(
        id__in=ids, status=DeliveryStatus.SENDING, next_try_at=claimed_until
    )
    for each in ours.select_related("rule"):
        retry_at = _retry_at(each, now, config)
        status = DeliveryStatus.FAILED if retry_at is None else DeliveryStatus.WAITING
        ours.filter(id=each.id).update(status=status, next_try_at=retry_at, error=error)
    log.warning(
        "notification not sent",
        extra={"action": "notification_failed", "deliveries": list(ids), "error": error},
    )


def _retry_at(delivery: NotificationDelivery, now: datetime, config: Config) -> datetime | None:
    retry_at = next_attempt_at(
        delivery.attempts,
        delivery.first_try_at or now,
        now,
        waits=config.notify_again_after,
        give_up_after=config.notify_give_up_after,
    )
    if retry_at is None or delivery.rule is None:
        return retry_at
    return end_of_silent_hours(silent_hours(delivery.rule), retry_at, config.time_zone) or retry_at


def run_sender_loop(stopping: threading.Event, config: Config) -> None:
    """Send notifications in a process without Celery beat, until it stops."""
    sender = Sender(config)

    def step() -> None:
        sender.step(database_now())

    run_loop("notifications", step, config.notify_step, stopping)
    # The next process would send again what is being sent now, unless its result is stored.
    run_step("notifications", lambda: sender.wait_for_results(database_now(), config.stop_within / 2))
    connection.close()
