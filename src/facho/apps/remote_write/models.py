from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_time


class RemoteWriteCursor(models.Model):
    """How far the samples of an OLT have been sent, and who sends them now."""

    olt = models.OneToOneField(Olt, models.CASCADE, related_name="+", verbose_name=_("OLT"))
    # All numbers collected until then were sent, or dropped.
    sent_to = models.DateTimeField(_("sent until"))
    # So were the states.
    states_sent_to = models.DateTimeField(_("states sent until"))
    # When more is to be sent. Whoever sends moves it ahead, so that nobody else does meanwhile.
    due_at = models.DateTimeField(_("due at"))
    # Of the sender that holds it; empty for none.
    claim = models.CharField(_("claim"), max_length=32, default="", blank=True)

    class Meta:
        db_table = "remote_write_cursors"
        ordering: ClassVar = ["olt_id"]
        verbose_name = _("position of remote write")
        verbose_name_plural = _("positions of remote write")
        indexes: ClassVar = [models.Index(fields=["due_at"], name="remote_write_cursors_due")]

    def __str__(self) -> str:
        return f"{self.olt_id} {date_and_time(self.sent_to)}"


class RemoteWriteTotals(models.Model):
    """What became of all samples since the first one, and how the receiver is: one row."""

    sent = models.BigIntegerField(_("samples sent"), default=0)
    # Samples that waited longer than they may.
    too_old = models.BigIntegerField(_("too old"), default=0)
    # Samples that the receiver did not take.
    refused = models.BigIntegerField(_("refused by the receiver"), default=0)
    # Collections whose stored numbers cannot be read.
    unreadable = models.BigIntegerField(_("unreadable"), default=0)
    last_success_at = models.DateTimeField(_("last accepted at"), null=True)
    failing_since = models.DateTimeField(_("failing since"), null=True)
    # Why the receiver took nothing, the last time; and why it last refused samples.
    problem = models.CharField(_("problem"), max_length=300, default="", blank=True)
    refusal = models.CharField(_("reason of the last refusal"), max_length=300, default="", blank=True)
    refused_at = models.DateTimeField(_("last refused at"), null=True)

    class Meta:
        db_table = "remote_write_totals"
        verbose_name = _("totals of remote write")
        verbose_name_plural = _("totals of remote write")

    def __str__(self) -> str:
        return f"{self.sent}"
