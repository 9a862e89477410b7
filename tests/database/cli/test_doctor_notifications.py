"""The doctor names the channels that do not take messages."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facho.apps.notifications.models import NotificationDelivery
from facho.cli.doctor.database import check_notifications
from facho.config import Config
from tests.database.notification_receivers import make_channel
from tests.factories import at

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
NOW = at("10:00")


def test_a_channel_that_fails_is_named() -> None:
    noc = make_channel("noc")
    for error, ago in (("", 1), ("refused", 1), ("refused", 30)):
        when = NOW - timedelta(hours=ago)
        NotificationDelivery.objects.create(channel=noc, created_at=when, error=error)
    found = check_notifications(NOW, Config())
    assert (found.level, found.told) == (
        "warning",
        "1 messages of the last 24 hours could not be sent: noc",
    )
    NotificationDelivery.objects.update(error="")
    assert check_notifications(NOW, Config()).level == "ok"
