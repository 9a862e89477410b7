"""The names of Celery tasks, of the queues of steps and of the entries of the beat."""

from __future__ import annotations

from typing import Final

SCHEDULER: Final = "zabbix_scheduler"
COORDINATOR: Final = "coordinator"
# Steps never share threads with pollers: only a beat takes these.
STEP_QUEUES: Final = (SCHEDULER, COORDINATOR)

EXECUTE: Final = "snmp_jobs.tasks.execute_one"
EXECUTE_RETRY: Final = "snmp_jobs.tasks.execute_one_retry"
SCHEDULER_STEP: Final = "zabbix_pollers.tasks.zabbix_scheduler_loop_task"
COORDINATOR_STEP: Final = "execution_coordinator.tasks.coordinator_loop_task"
CHECK_QUOTAS: Final = "execution_coordinator.tasks.check_quota_violations_task"
CLEAN_LOGS: Final = "execution_coordinator.tasks.cleanup_old_coordinator_logs_task"
HOUSEKEEPING: Final = "execution_coordinator.tasks.housekeeping_task"
NOTIFY: Final = "notifications.tasks.send_notifications_task"

SCHEDULER_ENTRY: Final = "zabbix-scheduler"
COORDINATOR_ENTRY: Final = "coordinator-loop"
CHECK_QUOTAS_ENTRY: Final = "check-quota-violations"
CLEAN_LOGS_ENTRY: Final = "cleanup-coordinator-logs"
HOUSEKEEPING_ENTRY: Final = "housekeeping"
NOTIFY_ENTRY: Final = "send-notifications"
