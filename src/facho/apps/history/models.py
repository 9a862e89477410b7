from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_time


class Subject(models.TextChoices):
    ONU = "onu", "ONU"
    PORT = "port", _("port")
    # The OLT itself, its boards, fans and power supplies.
    PART = "part", _("part")
    # The columns that hold it have four characters.
    UPLINK = "link", _("uplink")


class HistoryFrame(models.Model):
    """The numbers of one collection of one OLT, until its hour is closed."""

    # The index below begins with it.
    olt = models.ForeignKey(Olt, models.CASCADE, related_name="+", db_index=False, verbose_name=_("OLT"))
    subject = models.CharField(_("of"), max_length=4, choices=Subject.choices)
    at = models.DateTimeField(_("at"))
    data = models.BinaryField(_("values"))

    class Meta:
        db_table = "onu_history_frames"
        ordering: ClassVar = ["olt_id", "at"]
        verbose_name = _("collection of an open hour")
        verbose_name_plural = _("collections of open hours")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(subject__in=Subject.values), name="onu_history_frames_subject")
        ]
        indexes: ClassVar = [
            models.Index(fields=["olt", "subject", "at"], name="onu_history_frames_of_olt"),
            models.Index(fields=["at"], name="onu_history_frames_at"),
        ]

    def __str__(self) -> str:
        return f"{self.olt_id} {self.subject} {date_and_time(self.at)}"


class HistoryHour(models.Model):
    """The numbers of the ONUs of a port in one hour, or those of all ports, parts or uplinks of an OLT."""

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="+", db_index=False, verbose_name=_("OLT"))
    subject = models.CharField(_("of"), max_length=4, choices=Subject.choices)
    # A port, as 0/1/7; # and a number for ONUs that have none; empty for the others.
    place = models.CharField(_("place"), max_length=40, blank=True)
    hour = models.DateTimeField(_("hour"))
    data = models.BinaryField(_("values"))

    class Meta:
        db_table = "onu_history"
        ordering: ClassVar = ["olt_id", "place", "hour"]
        verbose_name = _("hour of history")
        verbose_name_plural = _("hours of history")
        constraints: ClassVar = [
            # Charts read by this index too.
            models.UniqueConstraint(fields=["olt", "subject", "place", "hour"], name="onu_history_once"),
            models.CheckConstraint(condition=Q(subject__in=Subject.values), name="onu_history_subject"),
        ]
        indexes: ClassVar = [
            # Retention finds old hours by it.
            models.Index(fields=["hour"], name="onu_history_hour"),
        ]

    def __str__(self) -> str:
        return f"{self.olt_id} {self.subject} {self.place} {self.hour:%Y-%m-%d %H}"
