from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from facho.apps.localized_times import date_and_time
from facho.apps.snmp_jobs.models import SnmpJobHost


class Worker(models.Model):
    """A process with pollers, as long as it sends heartbeats."""

    name = models.CharField(_("name"), max_length=120, unique=True)
    pollers = models.PositiveIntegerField(_("pollers"))
    # Their names with commas; empty for all.
    queues = models.CharField(_("queues"), max_length=120, blank=True, default="")
    # The digest of the operator's own profiles, as the worker read them; empty without any.
    profiles = models.CharField(_("profiles"), max_length=64, blank=True, default="")
    started_at = models.DateTimeField(_("started at"))
    seen_at = models.DateTimeField(_("seen at"))

    class Meta:
        db_table = "workers"
        ordering: ClassVar = ["name"]
        verbose_name = _("worker")
        verbose_name_plural = _("workers")

    def __str__(self) -> str:
        return self.name


class PollerStatus(models.TextChoices):
    FREE = "FREE", _("free")
    BUSY = "BUSY", _("busy")


class Poller(models.Model):
    """One slot of a worker, for people to look at: what is free is counted from executions."""

    poller_id = models.PositiveIntegerField(_("poller"))
    worker = models.CharField(_("worker"), max_length=120)
    status = models.CharField(
        _("status"), max_length=4, choices=PollerStatus.choices, default=PollerStatus.FREE
    )
    current_node = models.ForeignKey(
        SnmpJobHost, models.SET_NULL, related_name="+", null=True, verbose_name=_("current node")
    )
    busy_time = models.FloatField(_("busy time (s)"), default=0)
    total_time = models.FloatField(_("total time (s)"), default=0)
    tasks_completed = models.PositiveBigIntegerField(_("completed"), default=0)
    tasks_delayed = models.PositiveBigIntegerField(_("delayed"), default=0)
    heartbeat = models.DateTimeField(_("heartbeat"))

    class Meta:
        db_table = "pollers"
        ordering: ClassVar = ["worker", "poller_id"]
        verbose_name = _("poller")
        verbose_name_plural = _("pollers")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["worker", "poller_id"], name="pollers_numbered"),
            models.CheckConstraint(condition=Q(status__in=PollerStatus.values), name="pollers_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.worker} #{self.poller_id}"


class PollerStats(models.Model):
    timestamp = models.DateTimeField(_("time"), unique=True)
    total_pollers = models.PositiveIntegerField(_("pollers"))
    free_pollers = models.PositiveIntegerField(_("free"))
    busy_pollers = models.PositiveIntegerField(_("busy"))
    busy_percentage = models.FloatField(_("busy (%)"))
    queue_size = models.PositiveIntegerField(_("queue"))
    is_saturated = models.BooleanField(_("saturated"))
    total_tasks_completed = models.PositiveBigIntegerField(_("completed"))
    total_tasks_delayed = models.PositiveBigIntegerField(_("delayed"))

    class Meta:
        db_table = "poller_stats"
        ordering: ClassVar = ["-timestamp"]
        verbose_name = _("poller statistics")
        verbose_name_plural = _("poller statistics")

    def __str__(self) -> str:
        return f"{date_and_time(self.timestamp)}"
