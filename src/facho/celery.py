"""The Celery application, where `celery -A facho` looks for it. Redis carries ids, never the truth."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, Final

from celery import Celery, signals
from celery.schedules import crontab
from kombu import Exchange, Queue

from facho.backends import celery_names as names
from facho.backends import redis_transport  # noqa: F401 - kombu finds it
from facho.config import Config, current
from facho.core.pool import DEFAULT, SNMP_QUEUES
from facho.file_modes import set_private_umask

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
# At fixed times, not after an interval: a beat remembers nothing, and one that is restarted every 50 minutes
# would never reach an hour. An hour is closed ten minutes after its end at the latest.
_HOURLY: Final = crontab(minute="11")
_DAILY: Final = crontab(hour="3", minute="17")

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "facho.settings")
set_private_umask()


def settings(config: Config) -> dict[str, Any]:
    return {
        "broker_url": config.broker,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "queue_order_strategy": "priority",
            "socket_connect_timeout": 5,
            "socket_timeout": 30,
            "socket_keepalive": True,
        },
        # A publisher must not wait long for a broker that is away.
        "task_publish_retry_policy": {"max_retries": 1, "interval_start": 0, "interval_max": 0.2},
        "imports": ["facho.backends.tasks"],
        # Each with an exchange of its own: with a common one, all three would get every message.
        "task_queues": [Queue(name, Exchange(name), routing_key=name) for name in SNMP_QUEUES],
        "task_default_queue": DEFAULT,
        # For a fair share of the work. Lost messages are recovered from the database, not from the broker.
        "task_acks_late": True,
        "worker_prefetch_multiplier": 1,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "task_ignore_result": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "worker_pool": "threads",
        "worker_concurrency": config.pollers,
        "worker_enable_remote_control": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "enable_utc": True,
        "beat_scheduler": "celery.beat:Scheduler",
        "beat_max_loop_interval": 1,
        "beat_schedule": beat_schedule(config),
    }


def beat_schedule(config: Config) -> dict[str, dict[str, Any]]:
    step, coordinator = config.scheduler_step, names.COORDINATOR
    days_old = {"days_old": config.keep_logs / _DAY}
    return {
        names.SCHEDULER_ENTRY: _every(step, names.SCHEDULER_STEP, names.SCHEDULER),
        names.COORDINATOR_ENTRY: _every(config.coordinator_step, names.COORDINATOR_STEP, coordinator),
        names.CHECK_QUOTAS_ENTRY: _entry(_HOURLY, _HOUR, names.CHECK_QUOTAS, coordinator),
        names.CLEAN_LOGS_ENTRY: {
            **_entry(_DAILY, _DAY, names.CLEAN_LOGS, coordinator),
            "kwargs": days_old,
        },
        names.HOUSEKEEPING_ENTRY: _every(config.housekeeping_step, names.HOUSEKEEPING, coordinator),
        names.NOTIFY_ENTRY: _every(config.notify_step, names.NOTIFY, coordinator),
    }


def _every(time: timedelta, task: str, queue: str) -> dict[str, Any]:
    return _entry(time.total_seconds(), time, task, queue)


def _entry(schedule: float | crontab, lasts: timedelta, task: str, queue: str) -> dict[str, Any]:
    """Return an entry of the beat. A message later than its interval expires: the next does its work."""
    return {"task": task, "schedule": schedule, "options": {"queue": queue, "expires": lasts.total_seconds()}}


@signals.setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Keep Celery from configuring logging: a receiver of this signal is enough."""


app = Celery("facho")
app.config_from_object(settings(current()))
