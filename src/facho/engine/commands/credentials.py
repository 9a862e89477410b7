"""Build the SNMP credentials of an OLT from the fields that a person filled in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from facho.apps.hosts.credentials import Credentials, Unreadable
from facho.apps.hosts.models import SnmpVersion
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import unknown_choice
from facho.snmp.usm import Auth, BadUser, Priv, User

# In a protocol's field, beside stored credentials: remove the protocol.
NO_PROTOCOL: Final = "none"
# The sentences of BadUser, for the catalogue of translations.
USER_MISTAKES: Final = (
    gettext_noop("an SNMPv3 user name has 1 to 32 octets"),
    gettext_noop("SNMPv3 privacy needs authentication: give an authentication protocol too"),
    gettext_noop("an SNMPv3 authentication password has at least 8 characters"),
    gettext_noop("an SNMPv3 privacy password has at least 8 characters"),
)
_Protocol = TypeVar("_Protocol", Auth, Priv)


@dataclass(frozen=True, slots=True)
class CredentialFields:
    """The fields of credentials as text. A protocol is its name (`SHA256`) or its label (`SHA-256`)."""

    community: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    auth: str = ""
    auth_password: str = field(default="", repr=False)
    priv: str = ""
    priv_password: str = field(default="", repr=False)
    context: str = field(default="", repr=False)


def build_credentials(
    version: str, given: CredentialFields, stored: Credentials | None = None
) -> Credentials:
    """Return the credentials for an SNMP version. Raises CommandError at the field that is wrong.

    A field that is empty keeps what is `stored`; NO_PROTOCOL removes a protocol with its password.
    """
    if stored is None or isinstance(stored, Unreadable):
        stored = Credentials()
    if check_version(version) == SnmpVersion.V3:
        return Credentials(user=_build_user(given, stored.user))
    return check_credentials(version, Credentials(community=given.community or stored.community))


def _build_user(given: CredentialFields, stored: User | None) -> User:
    kept = stored or User("nobody")
    auth = _protocol(Auth, given.auth, kept.auth, "auth")
    priv = _protocol(Priv, given.priv, kept.priv, "priv")
    try:
        return User(
            name=given.user or (stored.name if stored else ""),
            auth=auth,
            auth_password=(given.auth_password or kept.auth_password) if auth else "",
            priv=priv,
            priv_password=(given.priv_password or kept.priv_password) if priv else "",
            context=given.context or kept.context,
        )
    except BadUser as error:
        raise CommandError(error.field, _(str(error))) from None


def _protocol(
    protocols: type[_Protocol], text: str, stored: _Protocol | None, field: str
) -> _Protocol | None:
    if not text:
        return stored
    if text == NO_PROTOCOL:
        return None
    for each in protocols:
        if text in (each.name, each.label):
            return each
    raise unknown_choice(text, [each.label for each in protocols], field)


def check_version(version: str) -> str:
    if version not in SnmpVersion.values:
        values = {"version": version, "known": ", ".join(SnmpVersion.values)}
        raise CommandError("version", _("SNMP version '%(version)s' is none of %(known)s") % values)
    return version


def check_credentials(version: str, credentials: Credentials) -> Credentials:
    """Refuse credentials that cannot be decrypted, or that are not those of the SNMP version."""
    if isinstance(credentials, Unreadable):
        raise CommandError("credentials", unreadable_sentence())
    if version == SnmpVersion.V3:
        if credentials.user is None:
            raise CommandError("user", _("SNMPv3 needs a user"))
    elif not credentials.community:
        raise CommandError("community", _("SNMP v1 and v2c need a community"))
    return credentials


def unreadable_sentence() -> str:
    return _("the stored credentials cannot be decrypted: enter them again")
