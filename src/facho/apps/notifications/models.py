from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.access.audit_recording import Audited, AuditedRows
from facho.apps.db.fields import EncryptedTextField, PresetKeyField, SecretText
from facho.apps.execution_coordinator.models import ViolationSeverity
from facho.apps.hosts.models import Olt
from facho.core.notifications import HoldReason, NotificationKind


class NotificationKindChoices(models.TextChoices):
    QUOTA_VIOLATION = NotificationKind.QUOTA_VIOLATION.value, _("quota not met")
    OLT_DOWN = NotificationKind.OLT_DOWN.value, _("OLT down")
    OLT_UP = NotificationKind.OLT_UP.value, _("OLT up again")
    NODE_SUSPENDED = NotificationKind.NODE_SUSPENDED.value, _("node suspended")
    NODE_BACK = NotificationKind.NODE_BACK.value, _("node back")
    SATURATION_BEGINS = NotificationKind.SATURATION_BEGINS.value, _("pollers saturated")
    SATURATION_ENDS = NotificationKind.SATURATION_ENDS.value, _("pollers no longer saturated")
    PLAN_INFEASIBLE = NotificationKind.PLAN_INFEASIBLE.value, _("more work than fits in an hour")
    ONU_UNPROVISIONED = NotificationKind.ONU_UNPROVISIONED.value, _("new unprovisioned ONU")
    OPTICAL_WEAK = NotificationKind.OPTICAL_WEAK.value, _("weak optical power")
    OPTICAL_FALLING = NotificationKind.OPTICAL_FALLING.value, _("falling optical power")
    OPTICAL_RECOVERED = NotificationKind.OPTICAL_RECOVERED.value, _("optical power recovered")
    PORT_OUTAGE = NotificationKind.PORT_OUTAGE.value, _("outage of a port")
    PORT_OUTAGE_ENDED = NotificationKind.PORT_OUTAGE_ENDED.value, _("end of a port's outage")
    UNREADABLE_ROWS = NotificationKind.UNREADABLE_ROWS.value, _("rows that cannot be read")
    TEST = NotificationKind.TEST.value, pgettext_lazy("notice", "test")


class Language(models.TextChoices):
    THE_SETTING = "", _("default from the settings")
    SPANISH = "es", "Español"
    ENGLISH = "en", "English"


class NotificationChannel(models.Model):
    """A destination of messages: an address as apprise writes it, which contains secrets."""

    id = PresetKeyField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
    name = models.CharField(_("name"), max_length=80, unique=True)
    url: EncryptedTextField = EncryptedTextField(_("address"), default=SecretText)
    enabled = models.BooleanField(_("enabled"), default=True)
    language = models.CharField(_("language"), max_length=2, choices=Language.choices, default="", blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(("name", "enabled", "language"), secrets=("url",))

    class Meta:
        db_table = "notification_channels"
        ordering: ClassVar = ["name"]
        verbose_name = _("notification channel")
        verbose_name_plural = _("notification channels")
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(name=""), name="notification_channels_have_a_name")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> str:
        """Return the scheme of the address, which is no secret: mailtos, tgram."""
        url: SecretText = self.url
        return url.text.partition("://")[0]


class NotificationRule(models.Model):
    """Selects events for channels, and the hours in which nothing is sent."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    enabled = models.BooleanField(pgettext_lazy("rule", "enabled"), default=True)
    # Kinds of events; an empty list selects all.
    notices = models.JSONField(_("notices"), default=list, blank=True)
    min_severity = models.CharField(
        _("from severity"), max_length=10, choices=ViolationSeverity.choices, default=ViolationSeverity.LOW
    )
    olt = models.ForeignKey(
        Olt,
        models.CASCADE,
        related_name="notification_rules",
        null=True,
        blank=True,
        verbose_name=_("OLT"),
    )
    site = models.CharField(_("site"), max_length=80, blank=True, default="")
    silent_from = models.TimeField(_("silent from"), null=True, blank=True)
    silent_to = models.TimeField(_("silent until"), null=True, blank=True)
    no_repeat_s = models.PositiveIntegerField(_("no repeat within (s)"), default=1800)
    channels = models.ManyToManyField(
        NotificationChannel,
        related_name="rules",
        verbose_name=_("channels"),
        db_table="notification_rule_channels",
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = AuditedRows.as_manager()
    audited: ClassVar = Audited(
        (
            "name", "enabled", "notices", "min_severity", "olt", "site", "silent_from", "silent_to",
            "no_repeat_s",
        ),
        ties=("channels",),
    )  # fmt: skip

    class Meta:
        db_table = "notification_rules"
        ordering: ClassVar = ["name"]
        verbose_name = _("notification rule")
        verbose_name_plural = _("notification rules")
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(name=""), name="notification_rules_have_a_name"),
            models.CheckConstraint(
                condition=Q(min_severity__in=ViolationSeverity.values), name="notification_rules_severity"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class NotificationNotice(models.Model):
    """An event in the queue of notifications, written in the transaction in which it happened."""

    notice = models.CharField(_("notice"), max_length=30, choices=NotificationKindChoices.choices)
    severity = models.CharField(_("severity"), max_length=10, choices=ViolationSeverity.choices)
    olt = models.ForeignKey(
        Olt, models.CASCADE, related_name="notices", null=True, blank=True, verbose_name=_("OLT")
    )
    about = models.CharField(_("about"), max_length=200, default="", blank=True)
    details = models.JSONField(_("details"), default=dict)
    at = models.DateTimeField(_("at"))
    taken = models.BooleanField(_("taken"), default=False)

    class Meta:
        db_table = "notification_notices"
        ordering: ClassVar = ["-at", "-id"]
        verbose_name = _("notice")
        verbose_name_plural = _("notices")
        indexes: ClassVar = [
            models.Index(fields=["at"], name="notification_notices_at"),
            models.Index(fields=["id"], name="notification_notices_new", condition=Q(taken=False)),
        ]

    def __str__(self) -> str:
        return f"{self.notice} {self.about}".rstrip()


class DeliveryStatus(models.TextChoices):
    WAITING = "WAITING", pgettext_lazy("delivery", "waiting")
    SENDING = "SENDING", _("being sent")
    SENT = "SENT", pgettext_lazy("delivery", "sent")
    FAILED = "FAILED", pgettext_lazy("delivery", "given up")
    SUPPRESSED = "SUPPRESSED", _("not sent")


class HoldReasonChoices(models.TextChoices):
    SILENT = HoldReason.SILENT.value, _("silent hours")
    REPEAT = HoldReason.REPEAT.value, _("sent a short time ago")
    MAINTENANCE = HoldReason.MAINTENANCE.value, _("maintenance")
    OVER = HoldReason.OVER.value, _("ended before it was sent")
    CHANNEL_OFF = HoldReason.CHANNEL_OFF.value, _("channel disabled")


class NotificationDelivery(models.Model):
    """One sending of an event to a channel, and its state."""

    # The columns repeat what the message is about, because channels, rules and events can be deleted.
    told = models.ForeignKey(
        NotificationNotice, models.SET_NULL, related_name="deliveries", null=True, verbose_name=_("notice")
    )
    channel = models.ForeignKey(
        NotificationChannel,
        models.SET_NULL,
        related_name="deliveries",
        null=True,
        verbose_name=_("channel"),
    )
    rule = models.ForeignKey(
        NotificationRule, models.SET_NULL, related_name="deliveries", null=True, verbose_name=_("rule")
    )
    olt = models.ForeignKey(Olt, models.SET_NULL, related_name="deliveries", null=True, verbose_name=_("OLT"))
    notice = models.CharField(_("notice"), max_length=30, choices=NotificationKindChoices.choices)
    severity = models.CharField(_("severity"), max_length=10, choices=ViolationSeverity.choices)
    about = models.CharField(_("about"), max_length=200, default="", blank=True)
    message = models.TextField(_("message"), default="", blank=True)
    status = models.CharField(
        _("status"), max_length=10, choices=DeliveryStatus.choices, default=DeliveryStatus.WAITING
    )
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    # When it is due; while it is being sent, the end of its sender's claim.
    next_try_at = models.DateTimeField(_("next attempt"), null=True)
    first_try_at = models.DateTimeField(_("first attempt"), null=True)
    # The reason why it is not sent, or not at once.
    why_not = models.CharField(
        _("why not at once"), max_length=20, choices=HoldReasonChoices.choices, default="", blank=True
    )
    # The error of the last attempt.
    error = models.TextField(_("error"), default="", blank=True)
    # The time of the event.
    created_at = models.DateTimeField(_("created at"))
    sent_at = models.DateTimeField(_("sent at"), null=True)

    class Meta:
        db_table = "notification_deliveries"
        ordering: ClassVar = ["-created_at", "-id"]
        verbose_name = _("notification delivery")
        verbose_name_plural = _("notification deliveries")
        constraints: ClassVar = [
            # However many rules select it.
            models.UniqueConstraint(
                fields=["told", "channel"], name="notification_deliveries_once_a_channel"
            ),
            models.CheckConstraint(
                condition=Q(status__in=DeliveryStatus.values), name="notification_deliveries_status"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_try_at"],
                name="notification_deliveries_due",
                condition=Q(status__in=("WAITING", "SENDING")),
            ),
            models.Index(fields=["rule", "notice", "olt", "created_at"], name="notification_deliveries_same"),
            models.Index(fields=["status", "created_at"], name="notification_deliveries_of"),
            models.Index(fields=["created_at"], name="notification_deliveries_at"),
        ]

    def __str__(self) -> str:
        return f"{self.notice} {self.status}"
