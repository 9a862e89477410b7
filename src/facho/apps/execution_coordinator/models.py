from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_minute, date_and_time
from facho.core.event_types import EventType, Level


class QuotaStatus(models.TextChoices):
    IN_PROGRESS = "IN_PROGRESS", _("in progress")
    COMPLETED = "COMPLETED", pgettext_lazy("quota", "completed")
    PARTIAL = "PARTIAL", _("partial")
    QUOTA_NOT_MET = "QUOTA_NOT_MET", _("quota not met")
    FAILED = "FAILED", pgettext_lazy("quota", "failed")
    INTERRUPTED = "INTERRUPTED", _("interrupted")


class QuotaTracker(models.Model):
    """Counts what an OLT is owed of a task type in one hour, and what it got. It is closed once."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="quotas", verbose_name=_("OLT"))
    task_type = models.CharField(_("task type"), max_length=60)
    # The hour excludes its start and includes its end.
    period_start = models.DateTimeField(_("from"))
    period_end = models.DateTimeField(_("until"))
    quota_required = models.PositiveIntegerField(_("required"), default=0)
    quota_completed = models.PositiveIntegerField(pgettext_lazy("runs", "completed"), default=0)
    quota_failed = models.PositiveIntegerField(pgettext_lazy("runs", "failed"), default=0)
    quota_skipped = models.PositiveIntegerField(pgettext_lazy("runs", "skipped"), default=0)
    quota_pending = models.PositiveIntegerField(pgettext_lazy("runs", "pending"), default=0)
    # Of completed runs.
    total_duration_ms = models.PositiveBigIntegerField(_("total duration (ms)"), default=0)
    avg_duration_ms = models.PositiveIntegerField(_("mean duration (ms)"), default=0)
    # Why slots were lost, how many, and the seconds without data.
    reasons = models.JSONField(_("reasons"), default=list)
    status = models.CharField(
        _("status"), max_length=20, choices=QuotaStatus.choices, default=QuotaStatus.IN_PROGRESS
    )
    closed_at = models.DateTimeField(_("closed at"), null=True)
    created_at = models.DateTimeField(_("created at"))
    updated_at = models.DateTimeField(_("updated at"))

    class Meta:
        db_table = "quota_tracker"
        ordering: ClassVar = ["-period_start", "olt_id", "task_type"]
        verbose_name = _("quota tracker")
        verbose_name_plural = _("quota trackers")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["olt", "task_type", "period_start"], name="quota_tracker_once_an_hour"
            ),
            models.CheckConstraint(
                condition=Q(
                    quota_required=F("quota_completed")
                    + F("quota_failed")
                    + F("quota_skipped")
                    + F("quota_pending")
                ),
                name="quota_tracker_adds_up",
            ),
            models.CheckConstraint(
                condition=Q(status__in=QuotaStatus.values), name="quota_tracker_status_known"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["olt", "period_start"], name="quota_tracker_of_olt"),
            models.Index(fields=["status", "period_start"], name="quota_tracker_status"),
            models.Index(fields=["task_type", "period_start"], name="quota_tracker_task"),
            models.Index(fields=["period_start"], name="quota_tracker_period"),
            models.Index(
                fields=["period_end"], name="quota_tracker_open", condition=Q(closed_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_type} {date_and_minute(self.period_start)}"


class ViolationSeverity(models.TextChoices):
    LOW = "LOW", _("low")
    MEDIUM = "MEDIUM", _("medium")
    HIGH = "HIGH", _("high")
    CRITICAL = "CRITICAL", _("critical")


class QuotaViolation(models.Model):
    """An hour in which an OLT missed the quota of a task, with the report of what and why."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="violations", verbose_name=_("OLT"))
    period_start = models.DateTimeField(_("from"))
    period_end = models.DateTimeField(_("until"))
    report = models.JSONField(_("report"), default=dict)
    severity = models.CharField(_("severity"), max_length=10, choices=ViolationSeverity.choices)
    notified = models.BooleanField(_("notified"), default=False)
    notified_at = models.DateTimeField(_("notified at"), null=True)
    # A name, because it must outlive the account.
    acknowledged_at = models.DateTimeField(_("acknowledged at"), null=True)
    acknowledged_by = models.CharField(_("acknowledged by"), max_length=150, default="", blank=True)
    acknowledged_note = models.CharField(_("note"), max_length=200, default="", blank=True)
    created_at = models.DateTimeField(_("created at"))

    class Meta:
        db_table = "quota_violations"
        ordering: ClassVar = ["-created_at", "-id"]
        verbose_name = _("quota violation")
        verbose_name_plural = _("quota violations")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "period_start"], name="quota_violations_once_an_hour"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["olt", "created_at"], name="quota_violations_of_olt"),
            models.Index(fields=["severity", "created_at"], name="quota_violations_severity"),
            models.Index(fields=["notified", "created_at"], name="quota_violations_notified"),
            models.Index(fields=["created_at"], name="quota_violations_created"),
            models.Index(
                fields=["created_at"],
                name="quota_violations_acknowledged",
                condition=models.Q(acknowledged_at__isnull=False),
            ),
            models.Index(
                fields=["created_at"],
                name="quota_violations_open",
                condition=models.Q(acknowledged_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.severity} {date_and_minute(self.period_start)}"


class PlanStatus(models.TextChoices):
    ACTIVE = "ACTIVE", pgettext_lazy("plan", "active")
    COMPLETED = "COMPLETED", pgettext_lazy("plan", "completed")
    SUPERSEDED = "SUPERSEDED", pgettext_lazy("plan", "superseded")
    ABORTED = "ABORTED", pgettext_lazy("plan", "aborted")


class ExecutionPlan(models.Model):
    """The predicted runs of an OLT in an hour; after the hour, also how accurate the prediction was."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="plans", verbose_name=_("OLT"))
    # The hour excludes its start and includes its end.
    period_start = models.DateTimeField(_("from"))
    period_end = models.DateTimeField(_("until"))
    # Encoded by core.plan_data.
    plan_data = models.JSONField(_("plan"), default=dict)
    status = models.CharField(
        _("status"), max_length=10, choices=PlanStatus.choices, default=PlanStatus.ACTIVE
    )
    total_tasks = models.PositiveIntegerField(_("runs planned"), default=0)
    completed_tasks = models.PositiveIntegerField(pgettext_lazy("runs", "completed"), default=0)
    failed_tasks = models.PositiveIntegerField(pgettext_lazy("runs", "failed"), default=0)
    lost_slots = models.PositiveIntegerField(_("slots that will be lost"), default=0)
    waiting_runs = models.PositiveIntegerField(_("runs that wait for another"), default=0)
    # Minutes of SNMP work in an hour.
    load_p50_min = models.FloatField(_("minutes per hour"), default=0.0)
    load_p95_min = models.FloatField(_("minutes per hour, at most"), default=0.0)
    # None when everything fits; else the tasks at risk, and the change that would help.
    infeasible = models.JSONField(_("does not fit"), null=True, blank=True)
    # Identifies the tasks: while they are the same, the plan is updated instead of superseded.
    signature = models.CharField(max_length=64, editable=False)
    # The coordinator's next steps make it again.
    stale = models.BooleanField(default=False, editable=False)
    # Runs that were planned and began, and the error of their first predicted start.
    compared = models.PositiveIntegerField(_("runs compared"), default=0)
    median_error_s = models.FloatField(_("median error (s)"), null=True)
    near_pct = models.FloatField(_("started when predicted (%)"), null=True)
    created_at = models.DateTimeField(_("created at"))
    updated_at = models.DateTimeField(_("updated at"))

    class Meta:
        db_table = "execution_plans"
        ordering: ClassVar = ["-period_start", "olt_id", "-id"]
        verbose_name = _("execution plan")
        verbose_name_plural = _("execution plans")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["olt", "period_start"],
                condition=Q(status=PlanStatus.ACTIVE),
                name="execution_plans_one_active",
            ),
            models.CheckConstraint(
                condition=Q(status__in=PlanStatus.values), name="execution_plans_status_known"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["olt", "period_start"], name="execution_plans_of_olt"),
            models.Index(fields=["status", "period_start"], name="execution_plans_status"),
            models.Index(fields=["period_start"], name="execution_plans_period"),
            models.Index(fields=["olt"], name="execution_plans_stale", condition=Q(stale=True)),
        ]

    def __str__(self) -> str:
        return f"{date_and_minute(self.period_start)}"


class CoordinatorLog(models.Model):
    """An event of the coordinator log. The same sentence is in its file."""

    # None for an event that concerns all OLTs.
    olt = models.ForeignKey(
        Olt, models.SET_NULL, related_name="logs", null=True, blank=True, verbose_name=_("OLT")
    )
    event_type = models.CharField(
        _("event"), max_length=40, choices=[(event.value, event.value) for event in EventType]
    )
    level = models.CharField(
        _("level"), max_length=10, choices=[(level.value, level.value) for level in Level]
    )
    message = models.TextField(_("message"))
    details = models.JSONField(_("details"), default=dict)
    timestamp = models.DateTimeField(_("time"))

    class Meta:
        db_table = "coordinator_logs"
        ordering: ClassVar = ["-timestamp", "-id"]
        verbose_name = _("coordinator log")
        verbose_name_plural = _("coordinator logs")
        indexes: ClassVar = [
            models.Index(fields=["olt", "timestamp"], name="coordinator_logs_of_olt"),
            models.Index(fields=["event_type", "timestamp"], name="coordinator_logs_event"),
            models.Index(fields=["level", "timestamp"], name="coordinator_logs_level"),
            models.Index(fields=["timestamp"], name="coordinator_logs_time"),
        ]

    def __str__(self) -> str:
        return f"{date_and_time(self.timestamp)} {self.event_type}"


class OltConfiguration(models.Model):
    """The remembered configuration of an OLT; a difference to the present one is a change."""

    olt = models.OneToOneField(
        Olt, models.CASCADE, related_name="configuration", primary_key=True, verbose_name=_("OLT")
    )
    fingerprint = models.CharField("SHA-256", max_length=64)
    state = models.TextField(_("state"))
    changed_at = models.DateTimeField(_("changed at"))

    class Meta:
        db_table = "olt_configurations"
        verbose_name = _("configuration of an OLT")
        verbose_name_plural = _("configurations of OLTs")
        indexes: ClassVar = [
            models.Index(
                fields=["olt"], name="olt_configurations_changed", condition=models.Q(fingerprint="")
            )
        ]

    def __str__(self) -> str:
        return self.fingerprint[:12]


class CoordinatorState(models.Model):
    """The state that a loop stores for its next step, with the time of its last one."""

    name = models.CharField(_("name"), max_length=60, unique=True)
    value = models.JSONField(_("value"), default=dict)
    updated_at = models.DateTimeField(_("updated at"))

    class Meta:
        db_table = "coordinator_state"
        ordering: ClassVar = ["name"]
        verbose_name = _("state of a loop")
        verbose_name_plural = _("states of loops")

    def __str__(self) -> str:
        return self.name


class TaskForecast(models.Model):
    """The learned duration of a task on an OLT; `core.forecast` decodes the state."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="forecasts", verbose_name=_("OLT"))
    task_type = models.CharField(_("task type"), max_length=60)
    state = models.JSONField(_("state"), default=dict)
    # Used to guess the duration on similar OLTs where the task never ran.
    fixed_s = models.FloatField(_("fixed part (s)"), default=0.0)
    per_onu_s = models.FloatField(_("per ONU (s)"), default=0.0)
    samples = models.PositiveIntegerField(_("runs"), default=0)
    # Median error; None before the first prediction.
    error_pct = models.FloatField(_("error of the prediction (%)"), null=True)
    updated_at = models.DateTimeField(_("updated at"))

    class Meta:
        db_table = "task_forecasts"
        ordering: ClassVar = ["olt_id", "task_type"]
        verbose_name = _("forecast")
        verbose_name_plural = _("forecasts")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "task_type"], name="task_forecasts_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["task_type"], name="task_forecasts_task"),
            models.Index(fields=["updated_at"], name="task_forecasts_updated"),
        ]

    def __str__(self) -> str:
        return self.task_type


class StorageSample(models.Model):
    """The size of the database and the free space of its disk, once an hour."""

    at = models.DateTimeField(_("at"), unique=True)
    database_bytes = models.PositiveBigIntegerField(_("database (bytes)"))
    # None when the process that measured cannot see the disk of the database.
    free_bytes = models.PositiveBigIntegerField(_("free (bytes)"), null=True)

    class Meta:
        db_table = "storage_samples"
        ordering: ClassVar = ["-at"]
        verbose_name = _("size of the database")
        verbose_name_plural = _("sizes of the database")

    def __str__(self) -> str:
        return f"{date_and_time(self.at)}"
