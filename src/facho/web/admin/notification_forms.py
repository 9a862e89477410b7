"""Forms of channels and rules: the address is never shown, times are written as `30m`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminPasswordToggleWidget

from facho.apps.notifications.models import NotificationChannel, NotificationKindChoices, NotificationRule
from facho.core.interval import format_interval
from facho.core.notifications import RULE_KINDS
from facho.web.admin.job_forms import IntervalField

if TYPE_CHECKING:
    _ChannelForm = forms.ModelForm[NotificationChannel]
    _RuleForm = forms.ModelForm[NotificationRule]
else:
    _ChannelForm = _RuleForm = forms.ModelForm


class ChannelForm(_ChannelForm):
    address = forms.CharField(
        label=capfirst(_("address")),
        required=False,
        # "new-password" keeps browsers from filling in the password of the person.
        widget=UnfoldAdminPasswordToggleWidget(attrs={"autocomplete": "new-password"}),
        help_text=_(
            "for example mailtos://user:password@host?to=noc@example.net; empty: keep the current one"
        ),
    )

    class Meta:
        model = NotificationChannel
        fields = ("name", "enabled", "language")


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
        help_text=_("for example 30m; empty: repeat at once"),
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
        "no_repeat": format_interval(timedelta(seconds=seconds)) if seconds else "",
    }
