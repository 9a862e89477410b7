"""What people may want to know is written where it happened, and only if somebody wants to know."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from facho.apps.notifications.models import NotificationNotice, NotificationRule
from facho.engine.events.stream import publish
from facho.engine.events.types import PortOutageStarted
from tests.factories import at, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")


def publish_outage(olt_id: int) -> None:
    event = PortOutageStarted(olt_id=olt_id, port="0/1/3", cause="fibre_cut", affected=12, onus=16)
    publish(event, NOW)


def test_while_nobody_wants_to_know_nothing_is_written() -> None:
    NotificationRule.objects.create(name="off", enabled=False)
    publish_outage(make_olt().id)
    assert not NotificationNotice.objects.exists()


def test_what_is_told_waits_for_the_sender_in_one_statement() -> None:
    NotificationRule.objects.create(name="all")
    olt = make_olt()
    with CaptureQueriesContext(connection) as queries:
        publish_outage(olt.id)
    assert len(queries) == 1
    row = NotificationNotice.objects.get()
    details = {"port": "0/1/3", "cause": "fibre_cut", "affected": 12, "onus": 16}
    assert (row.notice, row.severity, row.olt_id, row.about) == ("PORT_OUTAGE", "HIGH", olt.id, "port 0/1/3")
    assert (row.details, row.at, row.taken) == (details, NOW, False)


def test_what_was_rolled_back_is_not_told() -> None:
    NotificationRule.objects.create(name="all")
    with transaction.atomic():
        publish_outage(make_olt().id)
        transaction.set_rollback(True)
    assert not NotificationNotice.objects.exists()
