"""The addresses of notification channels: composed of what people enter for a service, and checked."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _

from facho.apps.db.fields import SecretText
from facho.config import current
from facho.core import channel_services
from facho.core.channel_services import FIELDS, SECURITY, BadServiceValue, Fault, Service
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_choice
from facho.engine.events import outgoing_messages
from facho.engine.events.outgoing_messages import BadAddress, Refusal


def compose_address(service: str, values: Mapping[str, str]) -> str:
    """Return the address of what was entered for a service; raise CommandError at the field that is wrong."""
    chosen = Service(check_choice(service, [each.value for each in Service], "service"))
    try:
        address = channel_services.compose_address(chosen, values)
    except BadServiceValue as bad:
        raise CommandError(bad.field, _explain_fault(bad.fault)) from None
    try:
        check_address(address)
    except CommandError as refused:
        raise CommandError(FIELDS[chosen][0].name, refused.message) from None
    return address


def check_address(url: str) -> SecretText:
    try:
        outgoing_messages.check_address(url.strip(), local_targets=current().notify_local_targets)
    except BadAddress as bad:
        raise CommandError("url", _explain_refusal(bad.refusal)) from None
    return SecretText(url.strip())


def _explain_fault(fault: Fault) -> str:
    match fault:
        case Fault.MISSING:
            return _("a value is needed")
        case Fault.UNKNOWN:
            return _("this service has no such value")
        case Fault.WEB_ADDRESS:
            return _("a web address is needed, as https://host/path")
        case Fault.SERVICE_ADDRESS:
            return _("this is no address of a webhook of this service; copy it from there")
        case Fault.HOST:
            return _("this is no name or address of a host")
        case Fault.PORT:
            return _("a port is a number from 1 to 65535")
        case Fault.SECURITY:
            return _("none of these: %(known)s") % {"known": ", ".join(SECURITY)}
        case Fault.MAIL_ADDRESS:
            return _("this is no mail address")
        case Fault.BOT_TOKEN:
            return _("the token of a bot is like 123456789:ABCdef")
        case Fault.CHAT:
            return _("a chat is a number, or a name such as @noc")


def _explain_refusal(refusal: Refusal) -> str:
    match refusal:
        case Refusal.UNKNOWN:
            return _(
                "messages cannot be sent to this address; examples are https://host/path, "
                "mailtos://user:password@host?to=noc@example.net or tgram://token/chat"
            )
        case Refusal.KIND:
            known = ", ".join(sorted(outgoing_messages.KINDS))
            return _("channels of this kind are not supported; these are: %(known)s") % {"known": known}
        case Refusal.FILE:
            return _("an address must not refer to files of this machine")
        case Refusal.LOCAL:
            return _(
                "messages are not sent to this machine itself, its link or a multicast group, "
                "unless FACHO_NOTIFY_LOCAL_TARGETS allows it"
            )
