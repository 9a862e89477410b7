"""What a beat's own worker does with the messages that come by the clock."""

from datetime import timedelta

import pytest

from facho.apps.db.database import database_now
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    CoordinatorState,
    QuotaTracker,
    QuotaViolation,
)
from facho.backends import tasks
from facho.core.notifications import NotificationKind
from tests.database.notification_receivers import (
    Receiver,
    became,
    make_channel,
    make_rule,
    queue_event,
    sender_to,
)
from tests.factories import make_olt

pytestmark = pytest.mark.django_db


def test_an_hour_that_is_over_is_closed_with_its_violation() -> None:
    now = database_now()
    QuotaTracker.objects.create(
        olt=make_olt(),
        task_type="discovery",
        period_start=now - timedelta(hours=2),
        period_end=now - timedelta(hours=1),
        quota_required=4,
        quota_completed=2,
        quota_failed=2,
        created_at=now,
        updated_at=now,
    )
    tasks.check_quota_violations_task()
    assert QuotaTracker.objects.get().status == "QUOTA_NOT_MET"
    assert QuotaViolation.objects.get().severity == "HIGH"


def test_what_people_are_told_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Receiver()
    monkeypatch.setattr(tasks, "sender", lambda: sender_to(receiver))
    make_rule(make_channel())
    queue_event(
        NotificationKind.SATURATION_BEGINS, database_now(), details={"busy_percentage": 80.0, "queue_size": 3}
    )
    tasks.send_notifications_task()
    tasks.send_notifications_task()
    assert len(receiver.taken) == 1
    assert became() == [("SATURATION_BEGINS", "SENT")]


def test_the_log_is_cleaned_of_what_is_so_many_days_old() -> None:
    for days in (1, 6, 8):
        at = database_now() - timedelta(days=days)
        CoordinatorLog.objects.create(event_type="RECOVERED", level="INFO", message=f"{days}", timestamp=at)
    tasks.cleanup_old_coordinator_logs_task(days_old=7)
    assert set(CoordinatorLog.objects.values_list("message", flat=True)) == {"1", "6"}
    tasks.cleanup_old_coordinator_logs_task(days_old=2.5)
    assert set(CoordinatorLog.objects.values_list("message", flat=True)) == {"1"}


def test_a_step_is_left_out_while_another_one_is_under_way() -> None:
    with tasks._coordinating:
        tasks.coordinator_loop_task()
    assert not CoordinatorState.objects.filter(name="coordinator").exists()
    tasks.coordinator_loop_task()
    assert CoordinatorState.objects.filter(name="coordinator").exists()
