from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from facho.apps.history.models import Subject
from facho.apps.hosts.models import Olt


class OltTraffic(models.Model):
    """The traffic of the ONUs, ports or uplinks of an OLT: now, at the last peak, and the last counters.

    What the OLT receives is `in`: of its ONUs, what they send.
    """

    olt = models.ForeignKey(Olt, models.CASCADE, related_name="+", db_index=False, verbose_name=_("OLT"))
    subject = models.CharField(_("of"), max_length=4, choices=Subject.choices)
    # When rates were last computed.
    at = models.DateTimeField(_("at"), null=True)
    # Of the job that reads the counters.
    interval_s = models.PositiveIntegerField(_("interval (s)"))
    # None when it is not known: nobody has a rate, or somebody with much traffic has none.
    in_bps = models.BigIntegerField(_("received (bit/s)"), null=True)
    out_bps = models.BigIntegerField(_("sent (bit/s)"), null=True)
    # The fewest bits of the last counters of octets.
    counter_bits = models.PositiveSmallIntegerField(_("bits of the counters"), default=64)
    # Since it was first collected: rates that were not stored.
    over = models.BigIntegerField(_("above the line rate"), default=0)
    resets = models.BigIntegerField(_("counters that started anew"), default=0)
    gaps = models.BigIntegerField(_("too long after the reading before"), default=0)
    # JSON: the highest rates now; the rates of all ports, by id; the peaks of the last day.
    top = models.TextField(_("highest rates"), default="[]")
    ports = models.TextField(_("rates of ports"), default="{}")
    peaks = models.TextField(_("peaks"), default="[]")
    # JSON: the last rates of those that had some lately and have none now.
    missing = models.TextField(_("missing rates"), default="[]")
    # JSON: for each hour of the last day, how many counters were read, and how many rates not stored.
    drops_by_hour = models.TextField(_("rates not stored in the last day"), default="[]")
    # Snapshots of counters. It comes last: whoever reads the columns before it does not read it.
    counters = models.BinaryField(_("counters"))

    class Meta:
        db_table = "olt_traffic"
        ordering: ClassVar = ["olt_id", "subject"]
        verbose_name = _("traffic of an OLT")
        verbose_name_plural = _("traffic of OLTs")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["olt", "subject"], name="olt_traffic_once"),
            models.CheckConstraint(condition=Q(subject__in=Subject.values), name="olt_traffic_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.olt_id} {self.subject}"
