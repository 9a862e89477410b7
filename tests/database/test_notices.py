"""What people may want to know is written where it happened, and only if somebody wants to know."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from facho.apps.notifications.models import NotificationNotice, NotificationRule
from facho.core.notifications import NotificationKind
from facho.core.severity import Severity
from facho.engine.events.notices import tell
from tests.factories import at, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")


def tell_of_a_port(olt_id: int | None = None) -> None:
    tell(
        NOW,
        NotificationKind.PORT_OUTAGE,
        severity=Severity.HIGH,
        olt_id=olt_id,
        about="0/1/3",
        details={"onus": 12},
    )


def test_while_nobody_wants_to_know_nothing_is_written() -> None:
    NotificationRule.objects.create(name="off", enabled=False)
    tell_of_a_port()
    assert not NotificationNotice.objects.exists()


def test_what_is_told_waits_for_the_sender_in_one_statement() -> None:
    NotificationRule.objects.create(name="all")
    olt = make_olt()
    with CaptureQueriesContext(connection) as queries:
        tell_of_a_port(olt.id)
    assert len(queries) == 1
    row = NotificationNotice.objects.get()
    assert (row.notice, row.severity, row.olt_id, row.about) == ("PORT_OUTAGE", "HIGH", olt.id, "0/1/3")
    assert (row.details, row.at, row.taken) == ({"onus": 12}, NOW, False)


def test_what_was_rolled_back_is_not_told() -> None:
    NotificationRule.objects.create(name="all")
    with transaction.atomic():
        tell_of_a_port()
        transaction.set_rollback(True)
    assert not NotificationNotice.objects.exists()
