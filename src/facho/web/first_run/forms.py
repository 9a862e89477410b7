"""The forms of the first run: the OLT, and which of the usual jobs it gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import BASE_INPUT_CLASSES

from facho.apps.hosts.models import SnmpVersion
from facho.core.interval import interval_words, parse_interval
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import LONGEST_NAME
from facho.engine.commands.olts import NewOlt
from facho.engine.commands.usual_jobs import Usual
from facho.snmp.usm import Auth, Priv
from facho.web.admin.credentials import FORM_FIELDS, build_form_credentials
from facho.web.admin.job_forms import IntervalField
from facho.web.words.refusals import refusal_words

_FORM_FIELDS: Final = {**FORM_FIELDS, "brand": "address", "limits": "address"}
JOB_TEXTS: Final[Mapping[str, Any]] = {
    "discovery": _("list of ONUs, by serial or MAC"),
    "state": _("state of each ONU, and why it is offline"),
    "optics": _("optical power of each ONU"),
    "description": _("customer names stored in the OLT"),
    "model": _("the model of each ONU"),
    "details": _("versions, profiles and addresses of each ONU"),
    "traffic": _("traffic of each ONU and port"),
    "uplinks": _("state, optics, traffic and errors of each uplink"),
    "health": _("CPU, memory and temperature of the OLT and its boards"),
    "ports": _("state and optics of each PON port"),
    "autofind": _("connected ONUs that are not provisioned"),
}


def _secret(label: Any) -> forms.CharField:
    # "new-password" keeps browsers from filling in the person's own.
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    return forms.CharField(label=capfirst(label), required=False, strip=False, max_length=255, widget=widget)


def _protocol(label: Any, protocols: type[Auth] | type[Priv]) -> forms.ChoiceField:
    choices = [("", _("none")), *((each.name, each.label) for each in protocols)]
    return forms.ChoiceField(label=capfirst(label), required=False, choices=choices)


class FirstOltForm(forms.Form):
    name = forms.CharField(label=capfirst(_("name")), max_length=LONGEST_NAME)
    address = forms.CharField(
        label=capfirst(_("address")), max_length=253, help_text=_("an IP address or a name")
    )
    port = forms.IntegerField(label=capfirst(_("port")), min_value=1, max_value=65_535)
    site = forms.CharField(
        label=capfirst(_("site")), max_length=LONGEST_NAME, required=False, help_text=_("optional")
    )
    version = forms.ChoiceField(
        label=capfirst(_("SNMP version")), choices=SnmpVersion.choices, widget=forms.RadioSelect, initial="2c"
    )
    community = _secret(_("community"))
    v3_user = forms.CharField(label=_("SNMPv3 user"), required=False, max_length=32)
    auth_protocol = _protocol(_("authentication protocol"), Auth)
    auth_password = _secret(_("authentication password"))
    priv_protocol = _protocol(_("privacy protocol"), Priv)
    priv_password = _secret(_("privacy password"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _style_inputs(self)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if version := given.get("version"):
            given["credentials"] = build_form_credentials(self, version)
        return given

    def new_olt(self) -> NewOlt:
        given = self.cleaned_data
        same = {name: given[name] for name in ("name", "address", "port", "version", "credentials", "site")}
        return NewOlt(**same)

    def refuse(self, refused: CommandError) -> None:
        field = _FORM_FIELDS.get(refused.field, refused.field)
        self.add_error(field if field in self.fields else None, refusal_words(refused))


class UsualJobsForm(forms.Form):
    """A checkbox and an interval for each usual job; an existing job keeps its interval."""

    def __init__(self, usual: Iterable[Usual], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.usual = list(usual)
        for each in self.usual:
            self.fields[_take_field(each)] = forms.BooleanField(
                label=each.job.name, required=False, initial=True
            )
            self.fields[_interval_field(each)] = IntervalField(
                label=gettext("interval of %(job)s") % {"job": each.job.name},
                initial=_default_interval(each),
                disabled=each.is_there,
            )
        _style_inputs(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        for each in self.usual:
            take, every = self[_take_field(each)], self[_interval_field(each)]
            yield {"usual": each, "what": JOB_TEXTS[each.offer], "take": take, "every": every}

    def chosen(self) -> dict[str, str | timedelta]:
        given = self.cleaned_data
        return {each.offer: given[_interval_field(each)] for each in self.usual if given[_take_field(each)]}

    def refuse(self, refused: CommandError) -> None:
        field = f"every_{refused.field}"
        self.add_error(field if field in self.fields else None, refused.message)


def offered_data(usual: Iterable[Usual]) -> dict[str, Any]:
    """Return the form data of a person who changes nothing: all jobs with their intervals."""
    return {name: field.initial for name, field in UsualJobsForm(usual).fields.items()}


def _take_field(usual: Usual) -> str:
    return f"take_{usual.offer}"


def _interval_field(usual: Usual) -> str:
    return f"every_{usual.offer}"


def _default_interval(usual: Usual) -> str:
    interval = usual.job.interval
    return interval_words(parse_interval(interval) if isinstance(interval, str) else interval)


def _style_inputs(form: forms.Form) -> None:
    """Style the inputs like those of the admin, and let screen readers read the error of each."""
    for name, field in form.fields.items():
        if not isinstance(field.widget, forms.CheckboxInput | forms.RadioSelect):
            field.widget.attrs["class"] = " ".join(BASE_INPUT_CLASSES)
        field.widget.attrs["aria-describedby"] = f"error_{name}"
