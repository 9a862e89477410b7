"""How an OLT lets us in, written in a form and never shown by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordToggleWidget, UnfoldAdminSelectWidget

from facho.apps.hosts.credentials import Credentials, Unreadable
from facho.apps.hosts.models import Olt, SnmpVersion
from facho.snmp.usm import Auth, Priv, User
from facho.web.words import USER_MISTAKES

FIELDS: Final = (
    "community",
    "v3_user",
    "auth_protocol",
    "auth_password",
    "priv_protocol",
    "priv_password",
    "context",
)
_NONE: Final = "none"
_OF_USER: Final = {
    "v3_user": "name",
    "auth_protocol": "auth",
    "auth_password": "auth_password",
    "priv_protocol": "priv",
    "priv_password": "priv_password",
    "context": "context",
}

if TYPE_CHECKING:
    _Form = forms.ModelForm[Olt]
else:
    _Form = forms.ModelForm
_KEPT: Final = [("", _("as it is")), (_NONE, _("none"))]


def _secret(label: Any) -> forms.CharField:
    # "new-password" keeps browsers from filling in the person's own.
    widget = UnfoldAdminPasswordToggleWidget(attrs={"autocomplete": "new-password"})
    return forms.CharField(
        label=capfirst(label),
        required=False,
        strip=False,
        widget=widget,
    )


def _protocol(label: Any, protocols: type[Auth] | type[Priv]) -> forms.ChoiceField:
    choices = [*_KEPT, *_named(protocols)]
    return forms.ChoiceField(
        label=capfirst(label), required=False, choices=choices, widget=UnfoldAdminSelectWidget
    )


def _named(protocols: type[Auth] | type[Priv]) -> list[tuple[str, str]]:
    return [(each.name, each.label) for each in protocols]


class OltForm(_Form):
    community = _secret(_("community"))
    v3_user = _secret(_("SNMPv3 user"))
    auth_protocol = _protocol(_("authentication protocol"), Auth)
    auth_password = _secret(_("authentication password"))
    priv_protocol = _protocol(_("privacy protocol"), Priv)
    priv_password = _secret(_("privacy password"))
    context = _secret(_("SNMPv3 context"))

    class Meta:
        model = Olt
        fields = "__all__"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self._say_what_is_set()
        else:
            self._have_nothing_to_keep()

    def _say_what_is_set(self) -> None:
        stored = self.instance.credentials
        for name in FIELDS:
            if name in self.fields:
                self.fields[name].help_text = _help(stored, name)

    def _have_nothing_to_keep(self) -> None:
        for name, protocols in (("auth_protocol", Auth), ("priv_protocol", Priv)):
            self.fields[name].choices = [("", _("none")), *_named(protocols)]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if version := given.get("snmp_version"):
            self._take_credentials(version, given)
        self._check_model(given)
        return given

    def _take_credentials(self, version: str, given: dict[str, Any]) -> None:
        stored = self.instance.credentials if self.instance.pk else Credentials()
        if isinstance(stored, Unreadable):
            stored = Credentials()
        if version == SnmpVersion.V3:
            self._take_user(stored.user, given)
        elif given["community"]:
            self.instance.credentials = Credentials(community=given["community"])
        elif stored.user is not None or not stored.community:
            self.add_error("community", gettext("SNMP v1 and v2c need a community."))

    def _take_user(self, stored: User | None, given: dict[str, Any]) -> None:
        if stored is not None and not any(given[name] for name in FIELDS):
            return
        try:
            user = _user(stored, given)
        except ValueError as error:
            self.add_error(USER_MISTAKES.get(str(error), "v3_user"), gettext(str(error)))
        else:
            self.instance.credentials = Credentials(user=user)

    def _check_model(self, given: dict[str, Any]) -> None:
        model, brand = given.get("model"), given.get("brand")
        if model is not None and brand is not None and model.brand_id != brand.pk:
            self.add_error("model", gettext("This model is of another brand."))


def what_is_set(stored: Credentials) -> str:
    """Never what it is."""
    if isinstance(stored, Unreadable):
        return gettext("those that are stored cannot be opened: enter them again")
    return gettext("set") if stored.community or stored.user else gettext("not set")


def _help(stored: Credentials, field: str) -> str:
    if isinstance(stored, Unreadable):
        return what_is_set(stored)
    user = stored.user
    held: dict[str, Any] = {"community": stored.community}
    if user is not None:
        held |= {name: getattr(user, attribute) for name, attribute in _OF_USER.items()}
    return (
        gettext("Set. Leave empty to keep it, or write to replace it.")
        if held.get(field)
        else gettext("Not set.")
    )


def _user(stored: User | None, given: dict[str, Any]) -> User:
    """What was given, over what is stored. A protocol that goes takes its password with it."""
    kept = stored or User("nobody")
    auth = _chosen(Auth, given["auth_protocol"], kept.auth)
    priv = _chosen(Priv, given["priv_protocol"], kept.priv)
    return User(
        name=given["v3_user"] or (stored.name if stored else ""),
        auth=auth,
        auth_password=(given["auth_password"] or kept.auth_password) if auth else "",
        priv=priv,
        priv_password=(given["priv_password"] or kept.priv_password) if priv else "",
        context=given["context"] or kept.context,
    )


def _chosen(protocols: Any, name: str, stored: Any) -> Any:
    if not name:
        return stored
    return None if name == _NONE else protocols[name]
