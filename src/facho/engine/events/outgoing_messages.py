"""Sends a message to the address of a channel. The only module that uses apprise.

Apprise is imported when it is first needed: that takes seconds, and processes that collect do not need it.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from facho.core.addresses import is_local_target
from facho.core.channel_services import as_webhook
from facho.core.notifications import MessageType
from facho.core.reason_texts import (
    CHANNEL_IS_LOCAL,
    CHANNEL_KIND_REFUSED,
    CHANNEL_NAMES_A_FILE,
    CHANNEL_TOOK_NOTHING,
    CHANNEL_UNKNOWN,
    TEMPLATES,
)
from facho.engine.events.connection_guard import refuse_local_targets
from facho.masking import add_secrets, add_url_secrets, mask_secrets

log = logging.getLogger(__name__)

_MAX_ERROR_LENGTH: Final = 500
# Shorter parts of an address, and those without a digit, are names.
_SHORTEST_TOKEN: Final = 8

# Mail, webhooks, chats, telephones and on-call services. Other kinds of apprise run local programs, write
# local logs, or address devices that show no message.
KINDS: Final = frozenset((
    "mailto", "mailtos", "json", "jsons", "xml", "xmls", "form", "forms", "tgram", "slack", "workflows",
    "discord", "ntfy", "ntfys", "gotify", "gotifys", "matrix", "matrixs", "rocket", "rockets", "mmost",
    "mmosts", "wxteams", "gchat", "zulip", "zoom", "flock", "nctalk", "nctalks", "pagerduty", "opsgenie",
    "splunk", "victorops", "incidentio", "ilert", "signl4", "squadcast", "goalert", "pover", "pbul",
    "signal", "signals", "whatsapp", "twilio", "vonage", "sendgrid", "mailgun", "ses", "azure",
))  # fmt: skip


class Refusal(StrEnum):
    UNKNOWN = TEMPLATES[CHANNEL_UNKNOWN].text
    KIND = TEMPLATES[CHANNEL_KIND_REFUSED].text
    FILE = TEMPLATES[CHANNEL_NAMES_A_FILE].text
    LOCAL = TEMPLATES[CHANNEL_IS_LOCAL].text


class BadAddress(Exception):
    """An address to which no message can be sent."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    url: str
    title: str
    body: str
    # True allows this machine itself, its link and multicast groups.
    local_targets: bool = False
    type: MessageType = MessageType.INFO

    def __repr__(self) -> str:
        return f"OutgoingMessage({self.title!r})"


Send = Callable[[OutgoingMessage, timedelta], str]
"""Send a message, and return the error, or nothing when the channel accepted it."""


def import_apprise() -> None:
    """Import apprise now, so that the first message does not wait for it."""
    _asset()


def check_address(url: str, *, local_targets: bool = False) -> str:
    """Return the kind of channel of an address; raise BadAddress. Sends nothing and resolves no name."""
    return str(_channel(url, local_targets=local_targets).service_name)


def send(message: OutgoingMessage, timeout: timedelta) -> str:
    try:
        channel = _channel(message.url, local_targets=message.local_targets)
    except BadAddress as bad:
        return str(bad)
    if message.local_targets:
        return _post(channel, message, timeout)
    with refuse_local_targets() as refused:
        error = _post(channel, message, timeout)
    return f"{refused[0]}: {Refusal.LOCAL}" if error and refused else error


def _post(channel: Any, message: OutgoingMessage, timeout: timedelta) -> str:
    # A redirect would turn the POST into a GET, and can lead to any address.
    channel.redirects = False
    # For each step; the caller limits the whole.
    channel.socket_connect_timeout = channel.socket_read_timeout = timeout.total_seconds() / 3
    sender = _apprise().Apprise([channel], asset=_asset())
    result = sender.notify(
        title=message.title, body=message.body, notify_type=message.type.value, body_format="text"
    )
    if result:
        return ""
    errors = [entry.message for each in result.results for entry in each.logs()]
    return mask_secrets("; ".join(errors) or TEMPLATES[CHANNEL_TOOK_NOTHING].text)[:_MAX_ERROR_LENGTH]


def _channel(url: str, *, local_targets: bool) -> Any:
    register_secrets(url)
    channel = _instantiate(url)
    if channel is None and (webhook := as_webhook(url)):
        # No web address of a service that apprise knows.
        channel = _instantiate(webhook)
    if channel is None:
        raise BadAddress(Refusal.UNKNOWN)
    if not KINDS.intersection(_schemes(channel)):
        raise BadAddress(Refusal.KIND)
    if _names_a_file(channel):
        raise BadAddress(Refusal.FILE)
    hosts = (getattr(channel, name, None) for name in ("host", "smtp_host"))
    if not local_targets and any(is_local_target(host) for host in hosts if isinstance(host, str)):
        raise BadAddress(Refusal.LOCAL)
    return channel


def _instantiate(url: str) -> Any:
    return _apprise().Apprise.instantiate(url, asset=_asset(), suppress_exceptions=True)


def _schemes(channel: Any) -> Iterator[str]:
    """Yield the schemes of its addresses; some services have web addresses too."""
    for schemes in (channel.protocol, channel.secure_protocol):
        yield from [schemes] if isinstance(schemes, str) else schemes or ()


def _names_a_file(channel: Any) -> bool:
    template = getattr(channel, "template", None)
    if isinstance(template, _apprise().AppriseAttachment) and len(template):
        return True
    return any(getattr(channel, name, None) for name in ("pgp_key", "pgp_privkey"))


def register_secrets(url: str) -> None:
    """Register the secrets of an address for masking. A token may be in any part of it."""
    add_secrets(url)
    add_url_secrets(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    options = [value for _, value in parse_qsl(parts.query)]
    user, _, host = parts.netloc.rpartition("@")
    places = [*user.split(":"), *host.split(":"), *parts.path.split("/"), *options]
    add_secrets(*(unquote(place) for place in places if _is_token(unquote(place))))


def _is_token(place: str) -> bool:
    if len(place) < _SHORTEST_TOKEN or "." in place or "@" in place:
        return False
    return any(letter.isdigit() for letter in place) and any(letter.isalpha() for letter in place)


@cache
def _apprise() -> Any:
    with warnings.catch_warnings():
        # Its dependencies cause these.
        warnings.simplefilter("ignore", DeprecationWarning)
        import apprise

        apprise.Apprise.instantiate("json://localhost")
    return apprise


@cache
def _asset() -> Any:
    # Otherwise apprise sends in a pool, where a thread that hangs keeps the process from ending.
    no_pool = {"async_mode": False, "service_timeout": 0}
    return _apprise().AppriseAsset(app_id="Facho", app_desc="Facho Deluxe", **no_pool)


class BackgroundSend:
    """Sends a message in a thread of its own: the caller can stop waiting for it."""

    def __init__(self, message: OutgoingMessage, timeout: timedelta, send: Send = send) -> None:
        self.error: str | None = None
        self._done = threading.Event()
        # A daemon, so that one that hangs does not keep the process from ending.
        threading.Thread(target=self._run, args=(message, timeout, send), name="notify", daemon=True).start()

    def _run(self, message: OutgoingMessage, timeout: timedelta, send: Send) -> None:
        try:
            self.error = send(message, timeout)
        except Exception as error:
            log.exception("message not sent because of a bug", extra={"action": "bug"})
            self.error = mask_secrets(f"{type(error).__name__}: {error}")[:_MAX_ERROR_LENGTH]
        finally:
            self._done.set()

    def wait(self, timeout: timedelta = timedelta()) -> bool:
        """Return True when it has ended."""
        return self._done.wait(timeout.total_seconds())
