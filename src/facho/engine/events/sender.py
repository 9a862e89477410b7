"""Sends what people are to be told, in a thread of its own: collection never waits for a mail server.

What is due for a channel goes in one message. Whatever happens to a message is in its row; one whose sender
is gone is sent by the next who looks, after a while. So it is sent once, or, by one that died after sending
and before it said so, twice: never not at all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from facho.apps.db import sql
from facho.apps.db.clock import database_now
from facho.apps.execution_coordinator.models import QuotaViolation
from facho.apps.notifications.models import DeliveryStatus, NotificationChannel, NotificationDelivery
from facho.config import Config
from facho.core.notifications import NotificationKind, end_of_silent_hours, next_attempt_at
from facho.engine.events import outgoing_messages
from facho.engine.events.notification_texts import combine_messages
from facho.engine.events.notifications import create_deliveries, silent_hours
from facho.engine.events.outgoing_messages import MessageInTransit, OutgoingMessage, Send
from facho.engine.process.loops import run_loop, run_step
from facho.keys import KeyProblem

log = logging.getLogger(__name__)

# In one message; more would not be read.
_MOST: Final = 20
# A sender that does not say what became of a message after its time-out and so much more is gone.
_GRACE: Final = timedelta(minutes=1)
# Most channels answer in a moment, and then what they said is noted at once.
_WAIT: Final = timedelta(seconds=1)
_UNDER_WAY: Final = (DeliveryStatus.WAITING, DeliveryStatus.SENDING)


@dataclass(slots=True)
class _Sending:
    """Messages of a channel that are on their way as one."""

    ids: Sequence[int]
    # Until when they are ours: with another time in their rows, they are somebody else's.
    until: datetime
    deadline: datetime
    flight: MessageInTransit
    given_up: bool = field(default=False)


class Sender:
    """Steps, and waits for nobody: a channel that hangs keeps no other one waiting."""

    def __init__(self, config: Config, send: Send = outgoing_messages.send, wait: timedelta = _WAIT) -> None:
        self._config = config
        self._send = send
        self._wait = wait
        self._sending: dict[int, _Sending] = {}

    def step(self, now: datetime) -> None:
        while create_deliveries(now, self._config):
            pass
        self._land(now)
        self._launch(now)
        self.settle(now)

    def settle(self, now: datetime, wait: timedelta | None = None) -> None:
        """Gives what is on its way a moment to arrive."""
        for each in list(self._sending.values()):
            if not each.given_up:
                each.flight.wait(self._wait if wait is None else wait)
        self._land(now)

    def _launch(self, now: datetime) -> None:
        ids = set(_due(now).order_by().values_list("channel_id", flat=True)) - set(self._sending)
        for channel in NotificationChannel.objects.filter(id__in=ids).order_by("id"):
            if claimed := _claim(channel, now, now + self._config.notify_timeout + _GRACE):
                self._send_to(channel, claimed, now)

    def _send_to(
        self, channel: NotificationChannel, claimed: Sequence[NotificationDelivery], now: datetime
    ) -> None:
        timeout, until = self._config.notify_timeout, claimed[0].next_try_at
        assert until is not None
        ids = [each.id for each in claimed]
        try:
            letter = _letter(channel, claimed, self._config)
        except KeyProblem as problem:
            with sql.write_transaction():
                _note_failure(ids, until, str(problem), now, self._config)
            return
        flight = MessageInTransit(letter, timeout, self._send)
        self._sending[channel.id] = _Sending(ids, until, now + timeout, flight)

    def _land(self, now: datetime) -> None:
        for channel_id, each in list(self._sending.items()):
            if each.flight.wait():
                del self._sending[channel_id]
                self._note(each, each.flight.error, now)
            elif now >= each.deadline and not each.given_up:
                # Its thread may hang for ever; until it ends, nothing more is sent there from here.
                each.given_up = True
                self._note(each, f"no answer in {self._config.notify_timeout.total_seconds():g} s", now)

    def _note(self, sending: _Sending, error: str | None, now: datetime) -> None:
        with sql.write_transaction():
            if error:
                _note_failure(sending.ids, sending.until, error, now, self._config)
            else:
                _note_sent(sending, now)


def _due(now: datetime) -> QuerySet[NotificationDelivery]:
    """Whatever waits, and what a sender that is gone has left."""
    return NotificationDelivery.objects.filter(
        status__in=_UNDER_WAY, next_try_at__lte=now, channel__enabled=True
    )


def _claim(channel: NotificationChannel, now: datetime, until: datetime) -> list[NotificationDelivery]:
    """As many as fit in a message. Whoever else looks finds them not due."""
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


def _letter(
    channel: NotificationChannel, claimed: Sequence[NotificationDelivery], config: Config
) -> OutgoingMessage:
    message = combine_messages([each.message for each in claimed], channel.language, config)
    return OutgoingMessage(channel.url.open(), message.title, message.body, config.notify_local_targets)


def _note_sent(sending: _Sending, now: datetime) -> None:
    ours = NotificationDelivery.objects.filter(id__in=sending.ids)
    # One that was given up may arrive all the same, as long as nobody has begun to send it again.
    ours = ours.filter(
        Q(status=DeliveryStatus.SENDING, next_try_at=sending.until) | Q(status=DeliveryStatus.WAITING)
    )
    sent = list(ours.select_related("told"))
    ours.filter(id__in=[each.id for each in sent]).update(
        status=DeliveryStatus.SENT, sent_at=now, next_try_at=None, error=""
    )
    for each in sent:
        if each.notice == NotificationKind.QUOTA_VIOLATION and each.told is not None:
            _note_notified(each.olt_id, each.told.details, now)
    _log("sent", sending.ids)


def _note_notified(olt_id: int | None, details: dict[str, Any], now: datetime) -> None:
    """Once, by the first message that tells of it."""
    violation = QuotaViolation.objects.filter(
        olt=olt_id, period_start=datetime.fromisoformat(details["period_start"]), notified=False
    )
    violation.update(notified=True, notified_at=now)


def _note_failure(ids: Sequence[int], until: datetime, error: str, now: datetime, config: Config) -> None:
    ours = NotificationDelivery.objects.filter(id__in=ids, status=DeliveryStatus.SENDING, next_try_at=until)
    for each in ours.select_related("rule"):
        again = _again_at(each, now, config)
        status = DeliveryStatus.FAILED if again is None else DeliveryStatus.WAITING
        ours.filter(id=each.id).update(status=status, next_try_at=again, error=error)
    _log("not sent", ids, error)


def _again_at(delivery: NotificationDelivery, now: datetime, config: Config) -> datetime | None:
    again = next_attempt_at(
        delivery.attempts,
        delivery.first_try_at or now,
        now,
        waits=config.notify_again_after,
        give_up_after=config.notify_give_up_after,
    )
    if again is None or delivery.rule is None:
        return again
    return end_of_silent_hours(silent_hours(delivery.rule), again, config.time_zone) or again


def _log(what: str, ids: Sequence[int], error: str = "") -> None:
    level = logging.WARNING if error else logging.INFO
    action = "notification_failed" if error else "notification_sent"
    log.log(
        level, "a message was %s", what, extra={"action": action, "deliveries": list(ids), "error": error}
    )


def notify_until(stopping: threading.Event, config: Config) -> None:
    """For a process that has no beat."""
    sender = Sender(config)

    def step() -> None:
        sender.step(database_now())

    run_loop("notifications", step, config.notify_step, stopping)
    # What is on its way would be sent again by the next one, if nobody noted that it arrived.
    run_step("notifications", lambda: sender.settle(database_now(), config.stop_within / 2))
    connection.close()
