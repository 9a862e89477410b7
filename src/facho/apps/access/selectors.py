"""Who somebody is: the role of a person, and the token that a program shows."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from facho.apps.access.models import ApiToken
from facho.core.roles import OF_PEOPLE, Role, role_named


def role_of(user: Any) -> Role | None:
    """The highest of the groups that bear a role's name. It is asked many times for one page."""
    if isinstance(user, AnonymousUser) or not user.is_active:
        return None
    if user.is_superuser:
        return Role.ADMINISTRATOR
    if not hasattr(user, "_facho_role"):
        user._facho_role = _highest(user)
    found: Role | None = user._facho_role
    return found


def _highest(user: User) -> Role | None:
    names = user.groups.values_list("name", flat=True)
    roles = (role_named(name) for name in names)
    return max((role for role in roles if role in OF_PEOPLE), default=None)


def digest_of(secret: str) -> str:
    """A token is long and random: it needs no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def token_shown(secret: str, now: datetime) -> ApiToken | None:
    """One that is valid now and whose owner is, too."""
    return (
        ApiToken.objects.filter(digest=digest_of(secret), revoked_at=None, expires_at__gt=now)
        .filter(owner__is_active=True)
        .select_related("owner")
        .first()
    )


def role_of_token(token: ApiToken) -> Role | None:
    """Never above its owner's, which may have sunk since."""
    own, owners = role_named(token.role), role_of(token.owner)
    return None if own is None or owners is None else min(own, owners)
