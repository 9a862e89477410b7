"""Channels and rules for tests, and a receiver that does what the test wants."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

from facho.apps.db.fields import SecretText
from facho.apps.notifications.models import NotificationChannel, NotificationDelivery, NotificationRule
from facho.config import Config
from facho.core.notifications import NotificationKind
from facho.core.severity import Severity
from facho.engine.events.notifications import queue_notification
from facho.engine.events.outgoing_messages import OutgoingMessage
from facho.engine.events.sender import Sender
from facho.engine.events.types import Notification
from tests.waiting import PATIENCE_S

# Receivers are on this machine.
CONFIG = Config(language="en", notify_local_targets=True)


class Receiver:
    """Takes every message, unless it is said to be down; hangs while it is not let go."""

    def __init__(self) -> None:
        self.taken: list[OutgoingMessage] = []
        self.down = False
        self.go = threading.Event()
        self.go.set()

    def __call__(self, message: OutgoingMessage, timeout: timedelta) -> str:
        self.go.wait(10)
        if self.down:
            return "connection refused"
        self.taken.append(message)
        return ""

    @property
    def titles(self) -> list[str]:
        return [message.title for message in self.taken]


def make_channel(name: str = "noc", **columns: Any) -> NotificationChannel:
    channel = NotificationChannel(name=name, **columns)
    channel.url = SecretText(f"json://{name}.example/hook")
    channel.save()
    return channel


def make_rule(*channels: NotificationChannel, name: str = "all", **columns: Any) -> NotificationRule:
    rule = NotificationRule.objects.create(name=name, **columns)
    rule.channels.set(channels)
    return rule


def queue_event(notice: NotificationKind, now: datetime, olt_id: int | None = None, **columns: Any) -> None:
    values: dict[str, Any] = {"severity": Severity.HIGH, "details": {}, **columns}
    queue_notification(Notification(notice, **values), olt_id, now)


def sender_to(receiver: Receiver, wait: float = PATIENCE_S) -> Sender:
    return Sender(CONFIG, receiver, wait=timedelta(seconds=wait))


def became() -> list[tuple[str, str]]:
    """Notice and status, in the order in which they were told."""
    return list(NotificationDelivery.objects.order_by("id").values_list("notice", "status"))
