"""What people are told arrives once, or is tried again; and nobody waits for a channel that does not."""

from __future__ import annotations

import threading
from datetime import datetime, time, timedelta
from typing import Any

import pytest
from django.db import connection

from facho.apps.execution_coordinator.models import QuotaViolation
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.notifications.models import NotificationChannel, NotificationDelivery, NotificationNotice
from facho.core.notifications import MessageType, NotificationKind
from facho.engine.events.sender import Sender
from tests.database.notification_receivers import (
    CONFIG,
    Receiver,
    became,
    make_channel,
    make_rule,
    queue_event,
    sender_to,
)
from tests.factories import at, make_olt
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.django_db
NOW = at("10:00")
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
DOWN, UP = NotificationKind.OLT_DOWN, NotificationKind.OLT_UP


def step_until(sender: Sender, since: datetime, until: datetime, every: timedelta = MINUTE) -> None:
    now = since
    while now <= until:
        sender.step(now)
        now += every


def test_a_notice_becomes_a_message_in_the_channels_language() -> None:
    make_rule(make_channel("noc", language="en"), make_channel("turno", language="es"))
    olt = make_olt("olt-7")
    queue_event(DOWN, NOW, olt.id, details={"reason": "no answer in 3 s"})
    receiver = Receiver()
    sender_to(receiver).step(NOW)
    assert sorted(receiver.titles) == ["olt-7 does not answer", "olt-7 no responde"]
    assert "2025-06-10 10:00" in next(each.body for each in receiver.taken if "does" in each.title)
    assert {each.type for each in receiver.taken} == {MessageType.FAILURE}
    assert became() == [("OLT_DOWN", "SENT")] * 2
    row = NotificationDelivery.objects.first()
    assert row is not None
    assert (row.attempts, row.sent_at, row.created_at) == (1, NOW, NOW)
    assert NotificationNotice.objects.get().taken


def test_a_channel_that_is_down_for_ten_minutes_loses_nothing() -> None:
    make_rule(make_channel(), no_repeat_s=0)
    receiver, other = Receiver(), make_olt("other")
    sender = sender_to(receiver)
    receiver.down = True
    queue_event(DOWN, NOW, make_olt("first").id)
    step_until(sender, NOW, NOW + 4 * MINUTE)
    queue_event(DOWN, NOW + 5 * MINUTE, other.id)
    step_until(sender, NOW + 5 * MINUTE, NOW + 10 * MINUTE)
    assert became() == [("OLT_DOWN", "WAITING")] * 2
    assert {each.error for each in NotificationDelivery.objects.all()} == {"connection refused"}
    receiver.down = False
    step_until(sender, NOW + 11 * MINUTE, NOW + 30 * MINUTE)
    assert became() == [("OLT_DOWN", "SENT")] * 2
    first, second = NotificationDelivery.objects.order_by("id")
    # At once, then after 1, 5 and 15 minutes.
    assert (first.attempts, first.sent_at) == (4, NOW + 21 * MINUTE)
    assert (second.attempts, second.sent_at) == (3, NOW + 11 * MINUTE)
    assert (first.error, second.error) == ("", "")


def test_a_channel_that_stays_down_is_given_up_after_a_day() -> None:
    make_rule(make_channel())
    receiver = Receiver()
    receiver.down = True
    queue_event(DOWN, NOW, make_olt().id)
    step_until(sender_to(receiver), NOW, NOW + 26 * HOUR, 10 * MINUTE)
    row = NotificationDelivery.objects.get()
    assert (row.status, row.error, row.next_try_at) == ("FAILED", "connection refused", None)
    assert row.attempts > 20


def test_a_channel_that_hangs_delays_no_other_and_is_given_up() -> None:
    slow, quick = make_channel("slow"), make_channel("quick")
    make_rule(slow, quick)
    receiver, hangs = Receiver(), threading.Event()

    def send(message: Any, timeout: timedelta) -> str:
        if "slow" in message.url:
            hangs.wait(PATIENCE_S)
        return receiver(message, timeout)

    sender = Sender(CONFIG, send, wait=0.05 * SECOND)
    queue_event(DOWN, NOW, make_olt().id)
    sender.step(NOW)

    def arrived(channel: NotificationChannel, now: datetime) -> bool:
        sender.wait_for_results(now, 0.05 * SECOND)
        return NotificationDelivery.objects.get(channel=channel).status == "SENT"

    wait_until(lambda: arrived(quick, NOW))
    sender.step(NOW + 31 * SECOND)
    row = NotificationDelivery.objects.get(channel=slow)
    assert (row.status, row.error) == ("WAITING", "no answer in 30 s")
    # Its thread still hangs: no second one is started.
    sender.step(NOW + 2 * MINUTE)
    assert NotificationDelivery.objects.get(channel=slow).attempts == 1
    hangs.set()
    wait_until(lambda: arrived(slow, NOW + 3 * MINUTE))
    assert len(receiver.taken) == 2


def test_what_a_dead_sender_left_is_sent_by_the_next() -> None:
    make_rule(make_channel())
    hanging = Receiver()
    hanging.go.clear()
    queue_event(DOWN, NOW, make_olt().id)
    sender_to(hanging, wait=0).step(NOW)
    assert became() == [("OLT_DOWN", "SENDING")]
    receiver = Receiver()
    sender_to(receiver).step(NOW + 30 * SECOND)
    assert receiver.taken == []
    sender_to(receiver).step(NOW + 90 * SECOND)
    assert became() == [("OLT_DOWN", "SENT")]
    hanging.down = True
    hanging.go.set()


def test_the_same_is_not_told_again_within_the_rules_time() -> None:
    make_rule(make_channel(), no_repeat_s=1800)
    olt, receiver = make_olt(), Receiver()
    sender = sender_to(receiver)
    new = {"count": 0, "onus": []}
    for minutes in (0, 10, 31):
        now = NOW + minutes * MINUTE
        queue_event(NotificationKind.ONU_UNPROVISIONED, now, olt.id, details=new)
        # Of another OLT, and of something else there, is not the same.
        queue_event(NotificationKind.ONU_UNPROVISIONED, now, make_olt().id, details=new)
        queue_event(NotificationKind.ONU_UNPROVISIONED, now, olt.id, about=f"port {minutes}", details=new)
        sender.step(now)
    same = NotificationDelivery.objects.filter(olt=olt, about="").order_by("id")
    assert [(each.status, each.why_not) for each in same] == [
        ("SENT", ""),
        ("SUPPRESSED", "repeat"),
        ("SENT", ""),
    ]
    assert NotificationDelivery.objects.exclude(id__in=same).filter(status="SENT").count() == 6


def test_an_olt_that_comes_and_goes_is_told_of_once_and_then_as_it_is() -> None:
    make_rule(make_channel(), no_repeat_s=3600)
    olt, receiver = make_olt("olt-1"), Receiver()
    sender = sender_to(receiver)
    for minutes, notice in enumerate((DOWN, UP, DOWN, UP, DOWN)):
        queue_event(notice, NOW + minutes * MINUTE, olt.id)
        sender.step(NOW + minutes * MINUTE)
    assert receiver.titles == ["olt-1 does not answer", "olt-1 answers again"]
    step_until(sender, NOW + 5 * MINUTE, NOW + 61 * MINUTE)
    assert receiver.titles[2:] == ["olt-1 does not answer"]
    statuses = [status for _, status in became()]
    assert statuses == ["SENT", "SENT", "SUPPRESSED", "SUPPRESSED", "SENT"]


def test_what_happens_in_silent_hours_is_told_at_their_end_in_one_message() -> None:
    make_rule(make_channel(language="en"), silent_from=time(22), silent_to=time(7))
    receiver = Receiver()
    sender = sender_to(receiver)
    for hour, name in ((22, "olt-1"), (23, "olt-2")):
        now = NOW.replace(hour=hour)
        queue_event(DOWN, now, make_olt(name).id)
        sender.step(now)
    morning = at("07:00") + timedelta(days=1)
    step_until(sender, morning - HOUR, morning - MINUTE, 10 * MINUTE)
    assert receiver.taken == []
    assert {each.why_not for each in NotificationDelivery.objects.all()} == {"silent"}
    sender.step(morning)
    (message,) = receiver.taken
    assert message.title == "Facho Deluxe: 2 events"
    assert "olt-1 does not answer" in message.body
    assert "olt-2 does not answer" in message.body
    assert became() == [("OLT_DOWN", "SENT")] * 2


def test_a_message_that_failed_is_not_tried_again_in_silent_hours() -> None:
    make_rule(make_channel(), silent_from=time(10, 1), silent_to=time(12))
    receiver = Receiver()
    receiver.down = True
    queue_event(DOWN, NOW, make_olt().id)
    sender_to(receiver).step(NOW + 30 * SECOND)
    assert NotificationDelivery.objects.get().next_try_at == at("12:00")


def test_of_an_olt_that_people_work_on_nobody_is_told() -> None:
    make_rule(make_channel(), no_repeat_s=0)
    olt = make_olt()
    window = {"name": "work", "starts_at": NOW, "ends_at": NOW + HOUR, "created_at": NOW}
    MaintenanceWindow.objects.create(olt=olt, **window)
    for minutes in (-1, 30, 60):
        queue_event(DOWN, NOW + minutes * MINUTE, olt.id)
    receiver = Receiver()
    sender_to(receiver).step(NOW + 2 * HOUR)
    rows = NotificationDelivery.objects.order_by("id")
    assert [(each.status, each.why_not) for each in rows] == [
        ("SENT", ""),
        ("SUPPRESSED", "maintenance"),
        ("SENT", ""),
    ]


def test_two_rules_for_one_channel_are_one_message() -> None:
    channel = make_channel()
    make_rule(channel, name="quiet", silent_from=time(9), silent_to=time(12))
    make_rule(channel, name="loud")
    queue_event(DOWN, NOW, make_olt().id)
    receiver = Receiver()
    sender_to(receiver).step(NOW)
    assert len(receiver.taken) == 1
    row = NotificationDelivery.objects.get()
    assert (row.rule is not None and row.rule.name, row.status) == ("loud", "SENT")


def test_nobody_is_told_by_what_is_off_or_for_others() -> None:
    make_rule(make_channel("off", enabled=False), name="a")
    make_rule(make_channel("severe"), name="b", min_severity="CRITICAL")
    make_rule(make_channel("north"), name="c", site="north")
    queue_event(DOWN, NOW, make_olt(site="south").id)
    receiver = Receiver()
    sender_to(receiver).step(NOW)
    assert receiver.taken == []
    assert became() == []
    assert NotificationNotice.objects.get().taken


def test_what_there_are_no_words_for_is_told_all_the_same_and_keeps_no_other_waiting() -> None:
    make_rule(make_channel(language="en"))
    NotificationNotice.objects.create(notice="FROM_ANOTHER_VERSION", severity="HIGH", at=NOW)
    queue_event(NotificationKind.PLAN_INFEASIBLE, NOW, make_olt("olt-7").id, details={"other": 7})
    receiver = Receiver()
    sender_to(receiver).step(NOW)
    (message,) = receiver.taken
    assert message.title == "olt-7: more work than fits in an hour"
    assert "other: 7" in message.body
    assert not NotificationNotice.objects.filter(taken=False).exists()


def test_a_violation_is_notified_when_the_first_message_of_it_is_sent() -> None:
    make_rule(make_channel("down"), make_channel("well"))
    olt = make_olt("olt-7")
    hour = {"period_start": NOW - HOUR, "period_end": NOW}
    task = {"task_type": "get_power", "required": 12, "completed": 2, "failed": 0, "skipped": 10}
    lost = {"why": "olt_busy", "what": "discovery", "count": 8, "lost_s": 2400}
    report = {
        "tasks": [{**task, "percent": 16.7, "severity": "CRITICAL", "reasons": []}],
        "reasons": [lost],
    }
    QuotaViolation.objects.create(olt=olt, severity="CRITICAL", report=report, created_at=NOW, **hour)
    queue_event(NotificationKind.QUOTA_VIOLATION, NOW, olt.id, details={"report": report, **hour})
    receiver = Receiver()
    receiver.down = True
    sender = sender_to(receiver)
    sender.step(NOW)
    assert not QuotaViolation.objects.get().notified
    receiver.down = False
    step_until(sender, NOW + MINUTE, NOW + 2 * MINUTE)
    violation = QuotaViolation.objects.get()
    assert (violation.notified, violation.notified_at) == (True, NOW + MINUTE)
    message = receiver.taken[0]
    assert message.title == "olt-7: quota not met (high)"
    assert "09:00\N{EN DASH}10:00" in message.body
    assert "get_power 2 of 12" in message.body
    assert "OLT busy with discovery, 8 slots, 40 min" in message.body


@pytest.mark.django_db(transaction=True)
def test_two_senders_at_once_send_once() -> None:
    channels = [make_channel(f"channel-{number}") for number in range(5)]
    make_rule(*channels, no_repeat_s=0)
    for _ in range(10):
        queue_event(DOWN, NOW, make_olt().id)
    receiver, together = Receiver(), threading.Barrier(4)

    def run() -> None:
        sender = sender_to(receiver)
        together.wait(PATIENCE_S)
        sender.step(NOW)
        sender.step(NOW)
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert became() == [("OLT_DOWN", "SENT")] * 50
    told = [line for message in receiver.taken for line in (message.title, *message.body.split("\n"))]
    assert sum("does not answer" in line for line in told) == 50
    assert {each.attempts for each in NotificationDelivery.objects.all()} == {1}
