"""Notification channels, rules and deliveries."""

from __future__ import annotations

from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import action

from facho.apps.db.database import database_now
from facho.apps.notifications.models import (
    DeliveryStatus,
    NotificationChannel,
    NotificationDelivery,
    NotificationKindChoices,
    NotificationNotice,
    NotificationRule,
)
from facho.apps.reason_words import reason_words
from facho.config import current
from facho.core.channel_services import Service, service_of
from facho.core.interval import format_interval
from facho.core.reasons import known_reason
from facho.engine.commands import notifications as commands
from facho.engine.commands.errors import CommandError
from facho.engine.events import outgoing_messages
from facho.web.admin.base import OltRowsAdmin, SwitchableAdmin, show_outcome, show_outcomes
from facho.web.admin.columns import choice_badge, display, readable_json
from facho.web.admin.filters import recent_filter
from facho.web.admin.notification_forms import (
    CONDITIONS,
    SERVICE_FIELDS,
    SERVICES,
    ChannelForm,
    RuleForm,
)
from facho.web.words.colours import SEVERITY_COLOURS

# The name that unfold gives the button of `send_test`.
_SEND_TEST = "notifications_notificationchannel_send_test"
_SERVICE_NAMES = dict(SERVICES)
_STATUS_COLOURS = {
    DeliveryStatus.WAITING: "info",
    DeliveryStatus.SENDING: "info",
    DeliveryStatus.SENT: "success",
    DeliveryStatus.FAILED: "danger",
    DeliveryStatus.SUPPRESSED: "default",
}


@admin.register(NotificationChannel)
class NotificationChannelAdmin(SwitchableAdmin[NotificationChannel]):
    right_to_enable = "change"
    form = ChannelForm
    fields_of_commands = MappingProxyType({"url": "service", "channel": "name"})
    list_display = ("name", "service", "sent_by", "language", "enabled")
    search_fields = ("name",)
    fields = ("name", "enabled", "service", *SERVICE_FIELDS, "language")
    conditional_fields = MappingProxyType(CONDITIONS)
    change_form_after_template = "facho_admin/channel_test.html"
    actions = ("send_test_to_each", "enable", "disable")
    actions_submit_line = ("send_test",)

    class Media:
        css = {"all": ("facho/pages.css",)}  # noqa: RUF012  # Django's way

    def get_fields(self, request: HttpRequest, obj: NotificationChannel | None = None) -> Any:
        """Offer the rule for important events while there is no rule."""
        fields = super().get_fields(request, obj)
        if obj is not None or NotificationRule.objects.exists():
            return fields
        return (*fields, "default_rule")

    def get_urls(self) -> list[URLPattern]:
        test = self.admin_site.admin_view(require_POST(self.test))
        return [
            path("test/", test, name="notifications_notificationchannel_test_new"),
            path("<int:channel_id>/test/", test, name="notifications_notificationchannel_test"),
            *super().get_urls(),
        ]

    def test(self, request: HttpRequest, channel_id: int | None = None) -> HttpResponse:
        """Send a test with the values of the form, and save nothing."""
        stored = get_object_or_404(NotificationChannel, pk=channel_id) if channel_id else None
        may_write = self.has_change_permission(request) if stored else self.has_add_permission(request)
        if not self.has_test_permission(request) or not may_write:
            raise PermissionDenied
        form = self.get_form(request, stored, change=stored is not None)(
            request.POST, instance=stored or NotificationChannel()
        )
        return render(request, "facho_admin/channel_test_result.html", {"tested": _test_form(form)})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if request.method == "POST":
            # The first import takes seconds: do it before the transaction, or other writers would wait.
            outgoing_messages.import_apprise()
        response = super().changeform_view(request, object_id, form_url, extra_context)
        # Send after the transaction, or other writers would wait.
        if _SEND_TEST in request.POST and response.status_code == HTTPStatus.FOUND:
            show_outcome(request, lambda: _send_test(request.POST["name"].strip()))
        return response

    def save_model(self, request: HttpRequest, obj: NotificationChannel, form: Any, change: bool) -> None:  # noqa: ARG002
        if not change:
            added = commands.add_channel(
                obj.name,
                form.composed,
                language=obj.language,
                enabled=obj.enabled,
                default_rule=form.cleaned_data["default_rule"],
            )
            obj.pk = added.pk
            return
        commands.update_channel(
            form.initial["name"],
            new_name=obj.name,
            url=form.composed,
            language=obj.language,
            enabled=obj.enabled if "enabled" in form.changed_data else None,
        )

    def has_delete_permission(self, request: HttpRequest, obj: NotificationChannel | None = None) -> bool:
        """Refuse to delete the only channel of a rule; so deletion from the list is not offered."""
        if obj is None or not super().has_delete_permission(request, obj):
            return False
        return not any(rule.channels.count() == 1 for rule in obj.rules.all())

    def delete_model(self, request: HttpRequest, obj: NotificationChannel) -> None:  # noqa: ARG002
        commands.remove_channel(obj.name)

    def get_queryset(self, request: HttpRequest) -> QuerySet[NotificationChannel]:
        return super().get_queryset(request).prefetch_related("rules")

    @display(description=_("service"))
    def service(self, channel: NotificationChannel) -> str:
        service = service_of(channel.kind)
        return channel.kind if service is Service.OTHER else str(_SERVICE_NAMES[service.value])

    @display(description=_("rules"))
    def sent_by(self, channel: NotificationChannel) -> str:
        """Name the rules that send to it. Without any it gets tests alone, which nobody would notice."""
        return ", ".join(rule.name for rule in channel.rules.all()) or gettext("none: nothing is sent")

    @admin.action(description=_("Send a test"), permissions=["test"])
    def send_test_to_each(self, request: HttpRequest, channels: QuerySet[NotificationChannel]) -> None:
        show_outcomes(request, channels.values_list("name", flat=True), _send_test)

    def set_enabled(self, rows: list[NotificationChannel], *, enabled: bool) -> None:
        for channel in rows:
            commands.set_channel_enabled(channel.name, enabled=enabled)

    @action(description=_("Save and send a test"), permissions=["change"])  # type: ignore[untyped-decorator]
    def send_test(self, request: HttpRequest, obj: NotificationChannel) -> None:
        """Do nothing: changeform_view sends the test after saving."""


def _test_form(form: ChannelForm) -> commands.ChannelTest:
    form.is_valid()
    wrong = [
        f"{form[name].label}: {error}"
        for name in ("service", *SERVICE_FIELDS)
        for error in form.errors.get(name, ())
    ]
    if wrong:
        return commands.ChannelTest(False, "; ".join(wrong))
    now, config, given = database_now(), current(), form.cleaned_data
    if form.composed is None:
        return commands.try_channel(form.initial["name"], now, config)
    name, language = given.get("name", ""), given.get("language", "")
    return commands.try_address(form.composed, now, config, name=name, language=language)


def _send_test(name: str) -> str:
    tried = commands.try_channel(name, database_now(), current())
    if not tried.sent:
        raise CommandError("channel", tried.sentence)
    return tried.sentence


@admin.register(NotificationRule)
class NotificationRuleAdmin(SwitchableAdmin[NotificationRule]):
    right_to_enable = "change"
    form = RuleForm
    list_display = ("name", "what", "min_severity", "olt", "site", "silent", "to_whom", "enabled")
    list_filter = ("enabled", "channels")
    search_fields = ("name", "site", "olt__name")
    autocomplete_fields = ("olt", "channels")
    actions = ("enable", "disable")
    fieldsets = (
        (None, {"fields": ("name", "enabled", "channels")}),
        (_("Filter"), {"fields": ("notices", "min_severity", ("olt", "site"))}),
        (_("Silence"), {"fields": (("silent_from", "silent_to"), "no_repeat")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[NotificationRule]:
        rules = super().get_queryset(request).select_related("olt").defer("olt__credentials")
        return rules.prefetch_related(Prefetch("channels", NotificationChannel.objects.defer("url")))

    def save_model(self, request: HttpRequest, obj: NotificationRule, form: Any, change: bool) -> None:  # noqa: ARG002
        given = form.cleaned_data
        silent = (given["silent_from"], given["silent_to"]) if given["silent_from"] is not None else ()
        wanted = commands.RuleChanges(
            name=given["name"],
            channels=[channel.name for channel in given["channels"]],
            notices=given["notices"],
            min_severity=given["min_severity"],
            olt=given["olt"].name if given["olt"] else "",
            site=given["site"],
            silent=silent,
            no_repeat=format_interval(given["no_repeat"]) if given["no_repeat"] else "0",
            enabled=given["enabled"],
        )
        obj.pk = commands.save_rule(form.initial["name"] if change else None, wanted).pk

    def delete_model(self, request: HttpRequest, obj: NotificationRule) -> None:  # noqa: ARG002
        commands.remove_rule(obj.name)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: save_model saves a rule with its channels."""

    def set_enabled(self, rows: list[NotificationRule], *, enabled: bool) -> None:
        for rule in rows:
            commands.save_rule(rule.name, commands.RuleChanges(enabled=enabled))

    @display(description=_("notices"))
    def what(self, rule: NotificationRule) -> str:
        return ", ".join(str(NotificationKindChoices(each).label) for each in rule.notices) or gettext("all")

    @display(description=_("silent hours"))
    def silent(self, rule: NotificationRule) -> str:
        if rule.silent_from is None or rule.silent_to is None:
            return ""
        return f"{rule.silent_from:%H:%M}\N{EN DASH}{rule.silent_to:%H:%M}"

    @display(description=_("channels"))
    def to_whom(self, rule: NotificationRule) -> str:
        return ", ".join(channel.name for channel in rule.channels.all())


@admin.register(NotificationNotice)
class NotificationNoticeAdmin(OltRowsAdmin[NotificationNotice]):
    list_display = ("at", "notice", "severity_badge", "olt", "about", "taken")
    list_filter = (recent_filter("at", _("at")), "notice", "severity", ("olt", AutocompleteSelectFilter))
    search_fields = ("olt__name", "about")
    readonly_fields = ("as_json",)
    fields = (("notice", "severity"), ("olt", "about"), ("at", "taken"), "as_json")

    severity_badge = choice_badge("severity", _("severity"), SEVERITY_COLOURS)

    @display(description=_("details"))
    def as_json(self, notice: NotificationNotice) -> str:
        return readable_json(notice.details)


@admin.register(NotificationDelivery)
class NotificationDeliveryAdmin(OltRowsAdmin[NotificationDelivery]):
    list_display = (
        "created_at",
        "status_badge",
        "why_not",
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
    readonly_fields = ("problem",)
    fields = (
        ("status", "attempts"),
        "why_not",
        ("channel", "rule"),
        ("notice", "severity"),
        ("olt", "about"),
        "message",
        "problem",
        ("created_at", "first_try_at"),
        ("next_try_at", "sent_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[NotificationDelivery]:
        return super().get_queryset(request).select_related("channel", "rule").defer("channel__url")

    status_badge = choice_badge("status", _("status"), _STATUS_COLOURS)
    severity_badge = choice_badge("severity", _("severity"), SEVERITY_COLOURS)

    @display(description=_("error"))
    def problem(self, delivery: NotificationDelivery) -> str:
        return reason_words(known_reason(delivery.error))
