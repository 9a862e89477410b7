"""Who is told what, and what became of each message."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from facho.apps.notifications.models import (
    DeliveryStatus,
    NotificationChannel,
    NotificationDelivery,
    NotificationNotice,
    NotificationRule,
)
from facho.web.admin.base import M, ReadOnlyAdmin, UpToPaginator, display, readable_json, recent_filter
from facho.web.words import SEVERITY_COLOURS

_STATUS_COLOURS = {
    DeliveryStatus.WAITING: "info",
    DeliveryStatus.SENDING: "info",
    DeliveryStatus.SENT: "success",
    DeliveryStatus.FAILED: "danger",
    DeliveryStatus.SUPPRESSED: "default",
}


@admin.register(NotificationChannel)
class NotificationChannelAdmin(ReadOnlyAdmin[NotificationChannel]):
    list_display = ("name", "language", "enabled")
    search_fields = ("name",)


@admin.register(NotificationRule)
class NotificationRuleAdmin(ReadOnlyAdmin[NotificationRule]):
    list_display = ("name", "min_severity", "olt", "site", "enabled")
    search_fields = ("name", "site")

    def get_queryset(self, request: HttpRequest) -> QuerySet[NotificationRule]:
        return super().get_queryset(request).select_related("olt").defer("olt__credentials")


class _OfNotices(ReadOnlyAdmin[M]):
    show_full_result_count = False
    paginator = UpToPaginator

    @display(description=_("severity"), ordering="severity", label=SEVERITY_COLOURS)
    def severity_badge(self, row: NotificationNotice | NotificationDelivery) -> tuple[str, str]:
        return row.severity, row.get_severity_display()


@admin.register(NotificationNotice)
class NotificationNoticeAdmin(_OfNotices[NotificationNotice]):
    list_display = ("at", "notice", "severity_badge", "olt", "about", "taken")
    list_filter = (recent_filter("at", _("at")), "notice", "severity", ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name", "about")
    readonly_fields = ("as_json",)
    fields = (("notice", "severity"), ("olt", "about"), ("at", "taken"), "as_json")

    def get_queryset(self, request: HttpRequest) -> QuerySet[NotificationNotice]:
        return super().get_queryset(request).select_related("olt").defer("olt__credentials")

    @display(description=_("details"))
    def as_json(self, notice: NotificationNotice) -> str:
        return readable_json(notice.details)


@admin.register(NotificationDelivery)
class NotificationDeliveryAdmin(_OfNotices[NotificationDelivery]):
    list_display = (
        "created_at",
        "status_badge",
        "channel",
        "notice",
        "severity_badge",
        "olt",
        "about",
        "attempts",
        "sent_at",
    )
    list_filter = (
        "status",
        recent_filter("created_at", _("created at")),
        ("channel", AutocompleteSelectFilter),
        "notice",
        ("olt", AutocompleteSelectFilter),
    )
    search_fields = ("olt__name", "about", "message")
    fields = (
        ("status", "attempts"),
        ("channel", "rule"),
        ("notice", "severity"),
        ("olt", "about"),
        "message",
        "error",
        ("created_at", "first_try_at"),
        ("next_try_at", "sent_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[NotificationDelivery]:
        rows = super().get_queryset(request).select_related("olt", "channel", "rule")
        return rows.defer("olt__credentials", "channel__url")

    @display(description=_("status"), ordering="status", label=_STATUS_COLOURS)
    def status_badge(self, delivery: NotificationDelivery) -> tuple[str, str]:
        return delivery.status, delivery.get_status_display()
