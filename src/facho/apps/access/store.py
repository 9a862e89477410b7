"""Writes of log-ins, attempts and the use of tokens."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User
from django.db.models import Q

from facho.apps.access.models import ApiToken, LoginAddress, LoginAttempt
from facho.apps.access.selectors import account_named

_WORTH_A_WRITE: Final = timedelta(minutes=1)


def note_use(token: ApiToken, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at >= _WORTH_A_WRITE:
        long_ago = Q(last_used_at=None) | Q(last_used_at__lte=now - _WORTH_A_WRITE)
        ApiToken.objects.filter(long_ago, id=token.id).update(last_used_at=now)


def note_attempt(name: str, address: str, now: datetime) -> LoginAttempt:
    user = User.objects.filter(username__iexact=name.strip()).first()
    return LoginAttempt.objects.create(account=account_named(name), user=user, address=address, at=now)


def forget_attempts(name: str) -> None:
    LoginAttempt.objects.filter(account=account_named(name)).delete()


def note_log_in(name: str, user: User, address: str, now: datetime) -> None:
    """Remember the address. Attempts from elsewhere stay: they may be somebody else's guesses."""
    account = account_named(name)
    LoginAttempt.objects.filter(account=account, address=address).delete()
    LoginAddress.objects.update_or_create(
        account=account, address=address, defaults={"user": user, "at": now}
    )
