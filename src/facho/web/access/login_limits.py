"""Limits of failed log-ins per account and per address, counted for all processes in the database.

An address from which somebody logged in to the account lately has its own count there, and no other:
guesses from elsewhere cannot lock out the owner.

An attempt is stored before the password is checked, so that simultaneous attempts are all counted.
"""

from __future__ import annotations

import logging
from datetime import datetime

from django.contrib.auth.models import User
from django.http import HttpRequest

from facho.apps.access.models import LoginAttempt
from facho.apps.access.selectors import attempts_within, known_addresses
from facho.apps.access.store import note_attempt, note_log_in
from facho.config import Config
from facho.core.addresses import client_address, throttle_key
from facho.core.login_limit import blocked_until

log = logging.getLogger(__name__)


class TooMany(Exception):
    def __init__(self, until: datetime) -> None:
        super().__init__("too many attempts")
        self.until = until


def address_of(request: HttpRequest, config: Config) -> str:
    """Return the address that a request came from, as the audit log has it."""
    peer, said = request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR", "")
    return client_address(peer, said, config.trusted_proxies)


def counted_address_of(request: HttpRequest, config: Config) -> str:
    """Return the address to count by: of IPv6 the /64, which one owner has."""
    return throttle_key(address_of(request, config))


def begin(name: str, address: str, now: datetime, config: Config) -> None:
    """Count an attempt. Raises TooMany; a refused attempt is not counted, so trying on extends no lock."""
    attempt = note_attempt(name, address, now)
    if until := _refused_until(attempt, now, config):
        attempt.delete()
        log.warning("too many log-ins", extra={"action": "login_refused", **_about(attempt)})
        raise TooMany(until)


def _refused_until(attempt: LoginAttempt, now: datetime, config: Config) -> datetime | None:
    window = config.login_window
    known = known_addresses(attempt.account, now, config.login_known_for)
    if attempt.address in known:
        of_pair = attempts_within(now, window, account=attempt.account, address=attempt.address)
        return blocked_until(of_pair, config.login_per_account, window)
    of_account = attempts_within(now, window, account=attempt.account, except_from=known)
    of_address = attempts_within(now, window, address=attempt.address)
    ends = (
        blocked_until(of_account, config.login_per_account, window),
        blocked_until(of_address, config.login_per_address, window),
    )
    return max((end for end in ends if end is not None), default=None)


def _about(attempt: LoginAttempt) -> dict[str, object]:
    """Return log fields without the typed name, which may be a password in the wrong field."""
    return {"address": attempt.address, "user_id": attempt.user_id}


def succeeded(name: str, user: User, address: str, now: datetime) -> None:
    note_log_in(name, user, address, now)


def failed(address: str) -> None:
    log.warning("a log-in failed", extra={"action": "login_failed", "address": address})
