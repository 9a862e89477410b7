"""The form of an OLT: its credentials are written in it and never shown by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordToggleWidget, UnfoldAdminSelectWidget

from facho.apps.hosts.credentials import Credentials, Unreadable
from facho.apps.hosts.models import Olt
from facho.engine.commands.credentials import (
    NO_PROTOCOL,
    CredentialFields,
    build_credentials,
    unreadable_sentence,
)
from facho.engine.commands.errors import CommandError
from facho.snmp.usm import Auth, Priv
from facho.web.admin.job_forms import SecondsField

# The field of CredentialFields that each field of the form gives.
_COMMAND_FIELDS: Final = {
    "community": "community",
    "v3_user": "user",
    "auth_protocol": "auth",
    "auth_password": "auth_password",
    "priv_protocol": "priv",
    "priv_password": "priv_password",
    "context": "context",
}
FIELDS: Final = tuple(_COMMAND_FIELDS)
FORM_FIELDS: Final = {name: field for field, name in _COMMAND_FIELDS.items()}

if TYPE_CHECKING:
    _Form = forms.ModelForm[Olt]
else:
    _Form = forms.ModelForm
_KEPT: Final = [("", _("unchanged")), (NO_PROTOCOL, _("none"))]


def _secret_field(label: Any) -> forms.CharField:
    # "new-password" keeps browsers from filling in the password of the person.
    widget = UnfoldAdminPasswordToggleWidget(attrs={"autocomplete": "new-password"})
    return forms.CharField(
        label=capfirst(label),
        required=False,
        strip=False,
        widget=widget,
    )


def _protocol_field(label: Any, protocols: type[Auth] | type[Priv]) -> forms.ChoiceField:
    choices = [*_KEPT, *_protocol_choices(protocols)]
    return forms.ChoiceField(
        label=capfirst(label), required=False, choices=choices, widget=UnfoldAdminSelectWidget
    )


def _protocol_choices(protocols: type[Auth] | type[Priv]) -> list[tuple[str, str]]:
    return [(each.name, each.label) for each in protocols]


def build_form_credentials(
    form: forms.BaseForm, version: str, stored: Credentials | None = None
) -> Credentials | None:
    """Return the credentials that the fields of the form give; None after an error was added to a field."""
    given = form.cleaned_data
    fields = CredentialFields(**{name: given.get(field) or "" for field, name in _COMMAND_FIELDS.items()})
    try:
        return build_credentials(version, fields, stored)
    except CommandError as refused:
        form.add_error(FORM_FIELDS.get(refused.field, refused.field), refused.message)
        return None


class OltForm(_Form):
    community = _secret_field(_("community"))
    v3_user = _secret_field(_("SNMPv3 user"))
    auth_protocol = _protocol_field(_("authentication protocol"), Auth)
    auth_password = _secret_field(_("authentication password"))
    priv_protocol = _protocol_field(_("privacy protocol"), Priv)
    priv_password = _secret_field(_("privacy password"))
    context = _secret_field(_("SNMPv3 context"))
    shortest_interval_s = SecondsField(
        label=capfirst(_("shortest interval")), required=False, help_text=_("for example 2 min")
    )

    class Meta:
        model = Olt
        fields = "__all__"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self._explain_stored_fields()
        else:
            self._offer_no_stored_protocol()

    def _explain_stored_fields(self) -> None:
        stored = self.instance.credentials
        for name in FIELDS:
            if name in self.fields:
                self.fields[name].help_text = _help(stored, name)

    def _offer_no_stored_protocol(self) -> None:
        for name, protocols in (("auth_protocol", Auth), ("priv_protocol", Priv)):
            self.fields[name].choices = [("", _("none")), *_protocol_choices(protocols)]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if version := given.get("snmp_version"):
            stored = self.instance.credentials if self.instance.pk else None
            credentials = build_form_credentials(self, version, stored)
            if credentials is not None:
                self.instance.credentials = credentials
        self._check_model(given)
        return given

    def _check_model(self, given: dict[str, Any]) -> None:
        model, brand = given.get("model"), given.get("brand")
        if model is not None and brand is not None and model.brand_id != brand.pk:
            self.add_error("model", gettext("This model belongs to another brand."))


def describe_credentials(stored: Credentials) -> str:
    """Return whether credentials are set, and never what they are."""
    if isinstance(stored, Unreadable):
        return unreadable_sentence()
    return gettext("set") if stored.community or stored.user else gettext("not set")


def _help(stored: Credentials, field: str) -> str:
    if isinstance(stored, Unreadable):
        return describe_credentials(stored)
    user = stored.user
    held: dict[str, Any] = {"community": stored.community}
    if user is not None:
        names = {**_COMMAND_FIELDS, "v3_user": "name"}
        held |= {field: getattr(user, names[field]) for field in FIELDS if field != "community"}
    return (
        gettext("Set. Leave empty to keep it, or write to replace it.")
        if held.get(field)
        else gettext("Not set.")
    )
