from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.access.audit_recording import Audited, AuditedRows
from facho.apps.hosts.models import Olt
from facho.core.maintenance import LONGEST_WEEKLY, WEEKDAYS, Plan, Single, Weekly


class MaintenanceWindow(models.Model):
    """A time in which nothing is asked of an OLT or of a site: once, or every week."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    olt = models.ForeignKey(
        Olt,
        models.CASCADE,
        related_name="maintenance_windows",
        null=True,
        blank=True,
        verbose_name=_("OLT"),
    )
    site = models.CharField(_("site"), max_length=80, default="", blank=True)
    starts_at = models.DateTimeField(_("starts at"), null=True, blank=True)
    ends_at = models.DateTimeField(_("ends at"), null=True, blank=True)
    # Names of days, separated by commas; the time is in the operator's time zone.
    weekdays = models.CharField(_("weekdays"), max_length=30, default="", blank=True)
    start_time = models.TimeField(_("start time"), null=True, blank=True)
    duration_s = models.PositiveIntegerField(_("duration (s)"), null=True, blank=True)
    enabled = models.BooleanField(pgettext_lazy("window", "enabled"), default=True)
    created_at = models.DateTimeField(_("created at"))
    # When a person ended the running span of a weekly window early.
    ended_at = models.DateTimeField(_("ended at"), null=True, editable=False)
    # The start of the span whose beginning was reported and whose end was not.
    noted_at = models.DateTimeField(null=True, editable=False)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(
        (
            "name", "olt", "site", "starts_at", "ends_at", "weekdays", "start_time", "duration_s", "enabled",
            "ended_at",
        )
    )  # fmt: skip

    class Meta:
        db_table = "maintenance_windows"
        ordering: ClassVar = ["name"]
        verbose_name = _("maintenance window")
        verbose_name_plural = _("maintenance windows")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(olt__isnull=False, site="") | (Q(olt__isnull=True) & ~Q(site="")),
                name="maintenance_windows_of_an_olt_or_a_site",
            ),
            models.CheckConstraint(
                condition=Q(weekdays="", starts_at__isnull=False, ends_at__gt=models.F("starts_at"))
                | (
                    ~Q(weekdays="")
                    & Q(starts_at__isnull=True, ends_at__isnull=True, start_time__isnull=False)
                    & Q(duration_s__gte=1, duration_s__lte=int(LONGEST_WEEKLY.total_seconds()))
                ),
                name="maintenance_windows_once_or_weekly",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["ends_at"], name="maintenance_windows_ends_at")]

    def __str__(self) -> str:
        return self.name

    @property
    def plan(self) -> Plan:
        if self.starts_at is not None and self.ends_at is not None:
            return Single(self.starts_at, self.ends_at)
        assert self.start_time is not None
        assert self.duration_s is not None
        days = frozenset(map(WEEKDAYS.index, self.weekdays.split(",")))
        return Weekly(days, self.start_time, timedelta(seconds=self.duration_s), self.ended_at)

    @property
    def target(self) -> str:
        return self.site or (self.olt.name if self.olt else "")
