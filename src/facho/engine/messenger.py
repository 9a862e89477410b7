"""Hands a message to a channel. The only place that talks to apprise, and through it to the network.

It is imported when it is first needed: with all that it can reach it takes seconds, and nobody who collects
has a use for it.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from facho.masking import know, know_urls, masked

log = logging.getLogger(__name__)

_MOST_LETTERS: Final = 500
# Of tokens; what is shorter, and without a digit, is part of a name.
_SHORTEST_TOKEN: Final = 8


class BadAddress(Exception):
    """Nothing that a message can be sent to."""


@dataclass(frozen=True, slots=True)
class Letter:
    url: str
    title: str
    body: str

    def __repr__(self) -> str:
        return f"Letter({self.title!r})"


Send = Callable[[Letter, timedelta], str]
"""Why it was not taken; nothing when it was."""


def make_ready() -> None:
    """Imports it now: for who must not wait for that later."""
    _asset()


def check(url: str) -> str:
    """What kind of channel it is an address of. Nothing is sent."""
    return str(_channel(url).service_name)


def send(letter: Letter, timeout: timedelta) -> str:
    try:
        channel = _channel(letter.url)
    except BadAddress as bad:
        return str(bad)
    # Of each step on the way; who calls has an eye on the whole.
    channel.socket_connect_timeout = channel.socket_read_timeout = timeout.total_seconds() / 3
    post = _apprise().Apprise([channel], asset=_asset())
    result = post.notify(title=letter.title, body=letter.body, body_format="text")
    if result:
        return ""
    said = [entry.message for each in result.results for entry in each.logs()]
    return masked("; ".join(said) or "the channel did not take it")[:_MOST_LETTERS]


def _channel(url: str) -> Any:
    know_address(url)
    channel = _apprise().Apprise.instantiate(url, asset=_asset(), suppress_exceptions=True)
    if channel is None:
        raise BadAddress("apprise knows no channel with such an address")
    return channel


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


class Flight:
    """A letter on its way, in a thread of its own: whoever waits for it may stop waiting."""

    def __init__(self, letter: Letter, timeout: timedelta, send: Send = send) -> None:
        self.error: str | None = None
        self._landed = threading.Event()
        # A daemon, so that one that hangs does not keep the process from ending.
        threading.Thread(target=self._fly, args=(letter, timeout, send), name="notify", daemon=True).start()

    def _fly(self, letter: Letter, timeout: timedelta, send: Send) -> None:
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
