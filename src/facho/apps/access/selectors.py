"""Read roles, tokens, log-in attempts and the changes of audit entries."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet
from django.utils.crypto import salted_hmac

from facho.apps.access.models import (
    ApiToken,
    AuditEntry,
    LoginAddress,
    LoginAttempt,
    TokenState,
    UserPreferences,
)
from facho.core.roles import OF_PEOPLE, Role, role_named


def role_of(user: Any) -> Role | None:
    """Return the role of a user; None for anonymous and disabled users."""
    return None if isinstance(user, AnonymousUser) or not user.is_active else role_of_account(user)


def role_of_account(user: User) -> Role | None:
    """Return the highest role of the user's groups. It is cached, because a page asks many times."""
    if user.is_superuser:
        return Role.ADMINISTRATOR
    if not hasattr(user, "_facho_role"):
        _keep_role(user, (group.name for group in user.groups.all()))
    found: Role | None = user._facho_role  # type: ignore[attr-defined]
    return found


def _keep_role(user: User, groups: Iterable[str]) -> None:
    roles = map(role_named, groups)
    user._facho_role = max((role for role in roles if role in OF_PEOPLE), default=None)  # type: ignore[attr-defined]


def read_account(user_id: int) -> User | None:
    """Return a user with role and time zone by one plain statement: every request of a session needs it."""
    rows: list[Any] = list(User.objects.raw(_ACCOUNT, [user_id]))
    if not rows:
        return None
    user: User = rows[0]
    _keep_role(user, (row.group_name for row in rows if row.group_name is not None))
    user._facho_time_zone = rows[0].time_zone or ""  # type: ignore[attr-defined]
    return user


def time_zone_of(user: Any) -> str:
    """Return the name of the time zone that a user chose, or nothing for the operator's.

    Users of a session have it from `read_account`.
    """
    if isinstance(user, AnonymousUser):
        return ""
    if not hasattr(user, "_facho_time_zone"):
        chosen = UserPreferences.objects.filter(user=user.pk).values_list("time_zone", flat=True).first()
        user._facho_time_zone = chosen or ""
    found: str = user._facho_time_zone
    return found


# One row for each group of the user.
_ACCOUNT: Final = (
    "SELECT auth_user.*, auth_group.name AS group_name, user_preferences.time_zone FROM auth_user"
    " LEFT JOIN user_preferences ON user_preferences.user_id = auth_user.id"
    " LEFT JOIN auth_user_groups ON auth_user_groups.user_id = auth_user.id"
    " LEFT JOIN auth_group ON auth_group.id = auth_user_groups.group_id"
    " WHERE auth_user.id = %s"
)


def administrators() -> QuerySet[User]:
    """Return the administrators that can log in."""
    by_role = Q(is_superuser=True) | Q(groups__name=Role.ADMINISTRATOR.slug)
    return User.objects.filter(by_role, is_active=True).distinct()


def tokens_seen_by(user: Any, role: Role | None) -> QuerySet[ApiToken]:
    """Return all tokens for administrators, and their own for others."""
    tokens = ApiToken.objects.select_related("owner")
    return tokens if role is Role.ADMINISTRATOR else tokens.filter(owner=user.pk)


def in_state(state: str, now: datetime) -> Q:
    over = Q(expires_at__lte=now)
    match state:
        case TokenState.REVOKED:
            return Q(revoked_at__isnull=False)
        case TokenState.EXPIRED:
            return Q(over, revoked_at=None)
        case _:
            return Q(~over, revoked_at=None)


def digest_of(secret: str) -> str:
    """Return the hash of a token. Tokens are long and random, so no slow hash is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def token_shown(secret: str, now: datetime) -> ApiToken | None:
    """Return the valid token of an active owner, if there is one."""
    return (
        ApiToken.objects.filter(digest=digest_of(secret), revoked_at=None, expires_at__gt=now)
        .filter(owner__is_active=True)
        .select_related("owner")
        .first()
    )


def role_of_token(token: ApiToken) -> Role | None:
    """Return the role of a token, never above the current role of its owner."""
    own, owners = role_named(token.role), role_of(token.owner)
    return None if own is None or owners is None else min(own, owners)


def account_named(name: str) -> str:
    """Return the key by which attempts of a name are counted, also for unknown names."""
    return salted_hmac("login_attempts", name.strip().lower(), algorithm="sha256").hexdigest()


def known_addresses(account: str, now: datetime, known_for: timedelta) -> list[str]:
    """Return the addresses from which somebody logged in to the account lately."""
    rows = LoginAddress.objects.filter(account=account, at__gt=now - known_for)
    return list(rows.values_list("address", flat=True))


def attempts_within(
    now: datetime, window: timedelta, *, except_from: Collection[str] = (), **of: str
) -> list[datetime]:
    """Return the times of attempts of an account or an address, oldest first."""
    rows = LoginAttempt.objects.filter(at__gt=now - window, **of).exclude(address__in=except_from)
    return list(rows.order_by("at").values_list("at", flat=True))


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one column. Of a secret only the fact of the change is known."""

    column: str
    old: Any = None
    new: Any = None
    # False for the details of an action, such as the execution that it queued.
    has_old: bool = True
    is_secret: bool = False


def changes_of(entry: AuditEntry) -> Iterator[Change]:
    for column, told in entry.changes.items():
        if "changed" in told:
            yield Change(column, is_secret=True)
        else:
            yield Change(column, _display_value(told.get("old")), _display_value(told["new"]), "old" in told)


def _display_value(value: Any) -> Any:
    """Return the name of a referenced row, and other values as they are."""
    return value["name"] if isinstance(value, dict) and value.keys() == {"id", "name"} else value
