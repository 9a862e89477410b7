"""What the beat sends, where to, and that a restart of it loses nothing for good."""

from __future__ import annotations

from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery.schedules import crontab, maybe_schedule

from facho.celery import app, beat_schedule
from facho.config import Config

CONFIG = Config()
HOURLY = crontab(minute="11")
DAILY = crontab(hour="3", minute="17")


@pytest.mark.parametrize(
    ("entry", "task", "queue", "schedule", "lasts"),
    [
        (
            "zabbix-scheduler",
            "zabbix_pollers.tasks.zabbix_scheduler_loop_task",
            "zabbix_scheduler",
            1,
            1,
        ),
        ("coordinator-loop", "execution_coordinator.tasks.coordinator_loop_task", "coordinator", 5, 5),
        (
            "check-quota-violations",
            "execution_coordinator.tasks.check_quota_violations_task",
            "coordinator",
            HOURLY,
            3600,
        ),
        (
            "cleanup-coordinator-logs",
            "execution_coordinator.tasks.cleanup_old_coordinator_logs_task",
            "coordinator",
            DAILY,
            86400,
        ),
        ("housekeeping", "execution_coordinator.tasks.housekeeping_task", "coordinator", 60, 60),
        ("send-notifications", "notifications.tasks.send_notifications_task", "coordinator", 2, 2),
    ],
)
def test_the_beat_sends(entry: str, task: str, queue: str, schedule: Any, lasts: float) -> None:
    found = dict(beat_schedule(CONFIG)[entry])
    found.pop("kwargs", None)
    assert found == {"task": task, "schedule": schedule, "options": {"queue": queue, "expires": lasts}}


def test_it_sends_nothing_else_and_every_task_is_there() -> None:
    schedule = beat_schedule(CONFIG)
    assert len(schedule) == 6
    app.loader.import_default_modules()
    assert {each["task"] for each in schedule.values()} <= set(app.tasks)


@pytest.mark.parametrize(("keep", "days"), [(timedelta(days=7), 7), (timedelta(hours=12), 0.5)])
def test_logs_are_cleaned_as_the_setting_says(keep: timedelta, days: float) -> None:
    entry = beat_schedule(Config(keep_logs=keep))["cleanup-coordinator-logs"]
    assert entry["kwargs"] == {"days_old": days}


@pytest.mark.parametrize(
    ("entry", "restarts_every", "tasks_a_day"),
    [
        ("check-quota-violations", timedelta(minutes=50), 24),
        ("cleanup-coordinator-logs", timedelta(hours=23), 1),
    ],
)
def test_a_beat_that_is_started_again_and_again_sends_it_all_the_same(
    entry: str, restarts_every: timedelta, tasks_a_day: int
) -> None:
    """Each time it knows nothing of what it sent before."""
    begins = datetime(2025, 6, 10, 0, 0, 30, tzinfo=UTC)
    sent, started = 0, begins
    while started < begins + timedelta(days=7):
        sent += sends(entry, started, started + restarts_every)
        started += restarts_every
    assert sent == pytest.approx(7 * tasks_a_day, abs=1)


def sends(entry: str, started: datetime, until: datetime) -> int:
    """How often, as Celery's scheduler in memory counts it."""
    schedule, sent, last = maybe_schedule(beat_schedule(CONFIG)[entry]["schedule"]), 0, started
    while True:
        due = last + copy_at(schedule, last).remaining_estimate(last)
        if due > until:
            return sent
        sent, last = sent + 1, due


def copy_at(schedule: Any, now: datetime) -> Any:
    own = copy(schedule)
    own.nowfun = lambda: now
    return own
