"""Hands a message to a channel. The only place that talks to apprise, and through it to the network.

It is imported when it is first needed: with all that it can reach it takes seconds, and nobody who collects
has a use for it.
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
from facho.engine.events.connection_guard import refuse_local_targets
from facho.masking import know, know_urls, masked

log = logging.getLogger(__name__)

_MOST_LETTERS: Final = 500
# Of tokens; what is shorter, and without a digit, is part of a name.
_SHORTEST_TOKEN: Final = 8


# Mail, webhooks, chats, telephones and services for who is on call. Other kinds of apprise run programs of
# this machine, write its logs, or speak to devices that show no message.
KINDS: Final = frozenset((
    "mailto", "mailtos", "json", "jsons", "xml", "xmls", "form", "forms", "tgram", "slack", "workflows",
    "discord", "ntfy", "ntfys", "gotify", "gotifys", "matrix", "matrixs", "rocket", "rockets", "mmost",
    "mmosts", "wxteams", "gchat", "zulip", "zoom", "flock", "nctalk", "nctalks", "pagerduty", "opsgenie",
    "splunk", "victorops", "incidentio", "ilert", "signl4", "squadcast", "goalert", "pover", "pbul",
    "signal", "signals", "whatsapp", "twilio", "vonage", "sendgrid", "mailgun", "ses", "azure",
))  # fmt: skip


class Refusal(StrEnum):
    UNKNOWN = "apprise knows no channel with such an address"
    KIND = "messages are not sent to channels of this kind"
    FILE = "an address must not name files of this machine"
    LOCAL = "messages are not sent to this machine itself (FACHO_NOTIFY_LOCAL_TARGETS)"


class BadAddress(Exception):
    """Nothing that a message can be sent to, and why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    url: str
    title: str
    body: str
    # Whether it may go to this machine itself, its link or a multicast group.
    local_targets: bool = False

    def __repr__(self) -> str:
        return f"Letter({self.title!r})"


Send = Callable[[OutgoingMessage, timedelta], str]
"""Why it was not taken; nothing when it was."""


def import_apprise() -> None:
    """Imports it now: for who must not wait for that later."""
    _asset()


def check_address(url: str, *, local_targets: bool = False) -> str:
    """What kind of channel it is an address of. Sends nothing, resolves no name. Raises BadAddress."""
    return str(_channel(url, local_targets=local_targets).service_name)


def send(letter: OutgoingMessage, timeout: timedelta) -> str:
    try:
        channel = _channel(letter.url, local_targets=letter.local_targets)
    except BadAddress as bad:
        return str(bad)
    if letter.local_targets:
        return _post(channel, letter, timeout)
    with refuse_local_targets() as refused:
        error = _post(channel, letter, timeout)
    return f"{refused[0]}: {Refusal.LOCAL}" if error and refused else error


def _post(channel: Any, letter: OutgoingMessage, timeout: timedelta) -> str:
    # A redirect would turn the message into a question, and leads wherever the other side likes.
    channel.redirects = False
    # Of each step on the way; who calls has an eye on the whole.
    channel.socket_connect_timeout = channel.socket_read_timeout = timeout.total_seconds() / 3
    post = _apprise().Apprise([channel], asset=_asset())
    result = post.notify(title=letter.title, body=letter.body, body_format="text")
    if result:
        return ""
    said = [entry.message for each in result.results for entry in each.logs()]
    return masked("; ".join(said) or "the channel did not take it")[:_MOST_LETTERS]


def _channel(url: str, *, local_targets: bool) -> Any:
    know_address(url)
    channel = _apprise().Apprise.instantiate(url, asset=_asset(), suppress_exceptions=True)
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


def _schemes(channel: Any) -> Iterator[str]:
    """Yield what its addresses begin with; some services are known by their own web addresses too."""
    for schemes in (channel.protocol, channel.secure_protocol):
        yield from [schemes] if isinstance(schemes, str) else schemes or ()


def _names_a_file(channel: Any) -> bool:
    template = getattr(channel, "template", None)
    if isinstance(template, _apprise().AppriseAttachment) and len(template):
        return True
    return any(getattr(channel, name, None) for name in ("pgp_key", "pgp_privkey"))


def know_address(url: str) -> None:
    """Its tokens may be anywhere: where others have a password, a host or a path."""
    know(url)
    know_urls(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    options = [value for _, value in parse_qsl(parts.query)]
    user, _, host = parts.netloc.rpartition("@")
    places = [*user.split(":"), *host.split(":"), *parts.path.split("/"), *options]
    know(*(unquote(place) for place in places if _may_be_a_token(unquote(place))))


def _may_be_a_token(place: str) -> bool:
    if len(place) < _SHORTEST_TOKEN or "." in place or "@" in place:
        return False
    return any(letter.isdigit() for letter in place) and any(letter.isalpha() for letter in place)


@cache
def _apprise() -> Any:
    with warnings.catch_warnings():
        # What its parts use is its own business.
        warnings.simplefilter("ignore", DeprecationWarning)
        import apprise

        apprise.Apprise.instantiate("json://localhost")
    return apprise


@cache
def _asset() -> Any:
    # Without these two it sends in a pool, and a thread that hangs there keeps the process from ending.
    alone = {"async_mode": False, "service_timeout": 0}
    return _apprise().AppriseAsset(app_id="Facho", app_desc="Facho Deluxe", **alone)


class MessageInTransit:
    """A letter on its way, in a thread of its own: whoever waits for it may stop waiting."""

    def __init__(self, letter: OutgoingMessage, timeout: timedelta, send: Send = send) -> None:
        self.error: str | None = None
        self._landed = threading.Event()
        # A daemon, so that one that hangs does not keep the process from ending.
        threading.Thread(target=self._fly, args=(letter, timeout, send), name="notify", daemon=True).start()

    def _fly(self, letter: OutgoingMessage, timeout: timedelta, send: Send) -> None:
        try:
            self.error = send(letter, timeout)
        except Exception as error:
            log.exception("a message was not sent by a bug", extra={"action": "bug"})
            self.error = masked(f"{type(error).__name__}: {error}")[:_MOST_LETTERS]
        finally:
            self._landed.set()

    def wait(self, timeout: timedelta = timedelta()) -> bool:
        """Whether it has landed by then."""
        return self._landed.wait(timeout.total_seconds())
