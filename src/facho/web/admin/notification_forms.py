"""Forms of channels and rules: the address is never shown, times are written as `30m`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminPasswordToggleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from facho.apps.notifications.models import NotificationChannel, NotificationKindChoices, NotificationRule
from facho.core.channel_services import FIELDS, Service, service_of
from facho.core.interval import interval_words
from facho.core.notifications import RULE_KINDS
from facho.engine.commands.channel_addresses import compose_address
from facho.engine.commands.errors import CommandError
from facho.web.admin.job_forms import IntervalField

if TYPE_CHECKING:
    _ChannelForm = forms.ModelForm[NotificationChannel]
    _RuleForm = forms.ModelForm[NotificationRule]
else:
    _ChannelForm = _RuleForm = forms.ModelForm


def _secret_field(label: Any, help_text: Any = "") -> forms.CharField:
    # "new-password" keeps browsers from filling in the password of the person.
    widget = UnfoldAdminPasswordToggleWidget(attrs={"autocomplete": "new-password"})
    return forms.CharField(label=capfirst(label), required=False, widget=widget, help_text=help_text)


def _text_field(label: Any, help_text: Any = "") -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"})
    return forms.CharField(label=capfirst(label), required=False, widget=widget, help_text=help_text)


SERVICES: Final = (
    (Service.WEBHOOK.value, _("Webhook (JSON)")),
    (Service.MAIL.value, _("Mail")),
    (Service.TELEGRAM.value, "Telegram"),
    (Service.SLACK.value, "Slack"),
    (Service.TEAMS.value, "Microsoft Teams"),
    (Service.DISCORD.value, "Discord"),
    (Service.OTHER.value, _("Other, by its address")),
)
_SECURITY: Final = (("starttls", "STARTTLS"), ("tls", "TLS"), ("none", _("none")))
_FIRST_SECURITY: Final = ("security", _SECURITY[0][0])
# Fields of the form by fields of a service, where the names differ: `url` is the column with the secrets.
_FORM_FIELDS: Final = {"url": "web_address"}


def form_field(name: str) -> str:
    return _FORM_FIELDS.get(name, name)


SERVICE_FIELDS: Final = tuple(
    dict.fromkeys(form_field(field.name) for fields in FIELDS.values() for field in fields)
)
# Fields are shown for the services that have them.
CONDITIONS: Final = {
    name: " || ".join(
        f"service == '{service.value}'"
        for service, fields in FIELDS.items()
        if name in [form_field(field.name) for field in fields]
    )
    for name in SERVICE_FIELDS
}


class ChannelForm(_ChannelForm):
    service = forms.ChoiceField(
        label=capfirst(_("service")),
        choices=SERVICES,
        required=False,
        initial=Service.WEBHOOK.value,
        widget=UnfoldAdminSelectWidget,
    )
    web_address = _secret_field(_("web address"), _("for example https://host/path, as the service gives it"))
    server = _text_field(_("mail server"), _("for example mail.example.net"))
    port = _text_field(_("port"), _("empty: the usual one"))
    security = forms.ChoiceField(
        label=capfirst(_("encryption")), choices=_SECURITY, required=False, widget=UnfoldAdminSelectWidget
    )
    user = _text_field(_("user"))
    password = _secret_field(_("password"))
    sender = _text_field(_("sender"), _("for example facho@example.net"))
    to = _text_field(_("recipients"), _("mail addresses, separated by commas"))
    token = _secret_field(_("token of the bot"), _("as @BotFather gives it, like 123456789:ABCdef"))
    chat = _text_field(_("chat"), _("its number, or a name such as @noc"))
    address = _secret_field(
        _("address"),
        _("as apprise writes it, for example ntfys://host/topic or matrixs://user:password@host"),
    )

    default_rule = forms.BooleanField(
        label=capfirst(_("rule for important events")),
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget,
        help_text=_(
            "Adds a rule that sends outages, violated quotas and other important events here. "
            "It can be changed or removed under notification rules."
        ),
    )

    class Meta:
        model = NotificationChannel
        fields = ("name", "enabled", "language")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The address to store; None keeps the stored one.
        self.composed: str | None = None
        if self.instance.pk and "service" in self.fields:
            self.initial["service"] = service_of(self.instance.kind).value
            self.fields["service"].help_text = gettext(
                "Addresses and passwords are never shown. Leave the fields empty to keep the current address."
            )

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        service = self._service(given)
        names = {field.name: form_field(field.name) for field in FIELDS[service]}
        values = {name: given.get(field) or "" for name, field in names.items()}
        # The form always has an encryption; another one than it first shows was chosen.
        untouched = not any(value for field, value in values.items() if (field, value) != _FIRST_SECURITY)
        if self.instance.pk and untouched and service is service_of(self.instance.kind):
            return given
        try:
            self.composed = compose_address(service, values)
        except CommandError as refused:
            self.add_error(form_field(refused.field), refused.message)
        return given

    def _service(self, given: dict[str, Any]) -> Service:
        if given.get("service"):
            return Service(given["service"])
        keeps = self.instance.pk and not given.get("address")
        return service_of(self.instance.kind) if keeps else Service.OTHER


class RuleForm(_RuleForm):
    notices = forms.MultipleChoiceField(
        label=capfirst(_("notices")),
        required=False,
        choices=[(each.value, NotificationKindChoices(each.value).label) for each in RULE_KINDS],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("none selected: all"),
    )
    no_repeat = IntervalField(
        label=capfirst(_("no repeat within")),
        required=False,
        initial="30m",
        help_text=_("for example 30 min; empty: repeat at once"),
    )

    class Meta:
        model = NotificationRule
        fields = ("name", "enabled", "min_severity", "olt", "site", "silent_from", "silent_to", "channels")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        rule = kwargs.get("instance")
        written = _initial_values(rule) if rule is not None and rule.pk else {}
        super().__init__(*args, **{**kwargs, "initial": {**written, **(kwargs.get("initial") or {})}})

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if (given.get("silent_from") is None) != (given.get("silent_to") is None):
            self.add_error("silent_to", gettext("Silent hours need a start and an end."))
        return given


def _initial_values(rule: NotificationRule) -> dict[str, Any]:
    seconds = rule.no_repeat_s
    return {
        "notices": rule.notices,
        "no_repeat": interval_words(timedelta(seconds=seconds)) if seconds else "",
    }
