"""The services that a notification channel can use, what each needs, and the address that follows from it.

Addresses are those of apprise. A plain web address is a webhook that gets JSON.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit


class Service(enum.StrEnum):
    WEBHOOK = "webhook"
    MAIL = "mail"
    TELEGRAM = "telegram"
    SLACK = "slack"
    TEAMS = "teams"
    DISCORD = "discord"
    # Any other service, by an address of apprise.
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ServiceField:
    name: str
    secret: bool = False
    required: bool = True


SECURITY: Final = ("starttls", "tls", "none")
# The first field of a service is that which errors of the whole address are shown at.
FIELDS: Final[Mapping[Service, tuple[ServiceField, ...]]] = {
    # A web address can have a token or a password in it.
    Service.WEBHOOK: (ServiceField("url", secret=True),),
    Service.MAIL: (
        ServiceField("server"),
        ServiceField("port", required=False),
        ServiceField("security", required=False),
        ServiceField("user", required=False),
        ServiceField("password", secret=True, required=False),
        ServiceField("sender"),
        ServiceField("to"),
    ),
    Service.TELEGRAM: (ServiceField("token", secret=True), ServiceField("chat")),
    Service.SLACK: (ServiceField("url", secret=True),),
    Service.TEAMS: (ServiceField("url", secret=True),),
    Service.DISCORD: (ServiceField("url", secret=True),),
    Service.OTHER: (ServiceField("address", secret=True),),
}


class Fault(enum.StrEnum):
    MISSING = "missing"
    UNKNOWN = "unknown"
    WEB_ADDRESS = "web address"
    SERVICE_ADDRESS = "address of another service"
    HOST = "host"
    PORT = "port"
    SECURITY = "security"
    MAIL_ADDRESS = "mail address"
    BOT_TOKEN = "bot token"  # noqa: S105 - the name of a mistake
    CHAT = "chat"


class BadServiceValue(Exception):
    def __init__(self, field: str, fault: Fault) -> None:
        super().__init__(f"{field}: {fault}")
        self.field = field
        self.fault = fault


def compose_address(service: Service, values: Mapping[str, str]) -> str:
    """Return the address for what was entered; raise BadServiceValue at the field that is wrong."""
    known = {field.name for field in FIELDS[service]}
    for name in values:
        if name not in known:
            raise BadServiceValue(name, Fault.UNKNOWN)
    given = {field.name: values.get(field.name, "").strip() for field in FIELDS[service]}
    for field in FIELDS[service]:
        if field.required and not given[field.name]:
            raise BadServiceValue(field.name, Fault.MISSING)
    match service:
        case Service.MAIL:
            return _mail_address(given)
        case Service.TELEGRAM:
            return _telegram_address(given)
        case Service.OTHER:
            return given["address"]
        case _:
            return _web_address(service, given["url"])


def as_webhook(url: str) -> str | None:
    """Return the address of apprise that posts JSON to a web address, None for any other address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme not in _JSON or not parts.hostname:
        return None
    # Apprise hands only options with this sign on to the host.
    options = urlencode(
        [(f"-{name}", value) for name, value in parse_qsl(parts.query, True)], quote_via=quote
    )
    return f"{_JSON[parts.scheme]}://{parts.netloc}{parts.path}{'?' + options if options else ''}"


_JSON: Final = {"https": "jsons", "http": "json"}


def service_of(scheme: str) -> Service:
    """Return the service of an address that begins so. A web address counts as a webhook."""
    return _SERVICES.get(scheme.lower(), Service.OTHER)


_SERVICES: Final = {
    **dict.fromkeys(("json", "jsons", "http", "https"), Service.WEBHOOK),
    **dict.fromkeys(("mailto", "mailtos"), Service.MAIL),
    "tgram": Service.TELEGRAM,
    "slack": Service.SLACK,
    "workflows": Service.TEAMS,
    "discord": Service.DISCORD,
}


# The beginnings, after the scheme, of the webhooks that these services give to people.
_WEBHOOKS: Final = {
    Service.SLACK: re.compile(r"hooks\.slack\.com/services/"),
    Service.TEAMS: re.compile(r"[^/]+/(powerautomate/automations/direct/)?workflows/"),
    Service.DISCORD: re.compile(r"(discord|discordapp)\.com/api/webhooks/"),
}


def _web_address(service: Service, url: str) -> str:
    if as_webhook(url) is None:
        raise BadServiceValue("url", Fault.WEB_ADDRESS)
    if service in _WEBHOOKS and not _WEBHOOKS[service].match(url.partition("://")[2]):
        raise BadServiceValue("url", Fault.SERVICE_ADDRESS)
    return url


def _mail_address(given: Mapping[str, str]) -> str:
    host, port, security = given["server"], given["port"], given["security"].lower() or SECURITY[0]
    if not re.fullmatch(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]", host):
        raise BadServiceValue("server", Fault.HOST)
    if port and not (re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 65536):
        raise BadServiceValue("port", Fault.PORT)
    if given["password"] and not given["user"]:
        raise BadServiceValue("user", Fault.MISSING)
    if security not in SECURITY:
        raise BadServiceValue("security", Fault.SECURITY)
    to = [each.strip() for each in given["to"].split(",") if each.strip()]
    for field, address in (("sender", given["sender"]), *(("to", each) for each in to or [""])):
        if not re.fullmatch(r"[^\s@<>,]+@[^\s@<>,]+", address):
            raise BadServiceValue(field, Fault.MAIL_ADDRESS)
    login = ":".join(quote(each, safe="") for each in (given["user"], given["password"]) if each)
    options = {"from": given["sender"], "to": ",".join(to)}
    if security != "none":
        options["mode"] = {"starttls": "starttls", "tls": "ssl"}[security]
    scheme = "mailto" if security == "none" else "mailtos"
    place = f"{login}@{host}" if login else host
    return f"{scheme}://{place}{':' + port if port else ''}?{urlencode(options)}"


def _telegram_address(given: Mapping[str, str]) -> str:
    token, chat = given["token"], given["chat"]
    if not re.fullmatch(r"[0-9]+:[A-Za-z0-9_-]+", token):
        raise BadServiceValue("token", Fault.BOT_TOKEN)
    if not re.fullmatch(r"-?[0-9]+|@[A-Za-z0-9_]+", chat):
        raise BadServiceValue("chat", Fault.CHAT)
    return f"tgram://{token}/{chat}/"
