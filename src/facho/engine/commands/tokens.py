"""API tokens: created for a user, shown once, revoked."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from facho.apps.access.models import ApiToken
from facho.apps.access.selectors import digest_of, role_of
from facho.config import current
from facho.core.interval import interval_words
from facho.core.roles import Role, role_named
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_free_name, find_named
from facho.engine.process.command_transaction import command
from facho.masking import add_secrets

_PREFIX: Final = "fd_"
_BYTES: Final = 32
# Characters that are shown later, with the prefix: enough to tell tokens apart.
_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class NewToken:
    token: ApiToken
    # Stored nowhere: it is shown once.
    secret: str


@command
def create_token(
    owner: User,
    name: str,
    role: str,
    now: datetime,
    *,
    expires_at: datetime | None = None,
    asked_by: Role | None = None,
) -> NewToken:
    """Create a token. Its role is at most the owner's, and that of `asked_by`, who creates it."""
    secret = _PREFIX + secrets.token_urlsafe(_BYTES)
    add_secrets(secret)
    token = ApiToken.objects.create(
        owner=owner,
        name=check_free_name(owner.api_tokens.filter(revoked_at=None), name),
        role=_check_role(owner, role, asked_by).slug,
        begins=secret[:_SHOWN],
        digest=digest_of(secret),
        created_at=now,
        expires_at=_check_end(expires_at, now),
    )
    return NewToken(token, secret)


@command
def revoke_tokens(ids: list[int], now: datetime) -> int:
    """Revoke tokens and return how many were not revoked before."""
    return ApiToken.objects.filter(id__in=ids, revoked_at=None).update(revoked_at=now)


def token_named(owner: User, name: str) -> ApiToken:
    return find_named(owner.api_tokens.filter(revoked_at=None), name, _("token"), "name")


def _check_role(owner: User, slug: str, asked_by: Role | None) -> Role:
    wanted, owners = role_named(slug), role_of(owner)
    if wanted is None:
        raise CommandError("role", _("'%(role)s' is not a role") % {"role": slug})
    if owners is None:
        raise CommandError("owner", _("%(owner)s has no role") % {"owner": owner.username})
    most = owners if asked_by is None else min(owners, asked_by)
    if wanted > most:
        values = {"role": most.slug, "owner": owner.username}
        raise CommandError("role", _("a token of %(owner)s can be %(role)s at most") % values)
    return wanted


def _check_end(wanted: datetime | None, now: datetime) -> datetime:
    if wanted is None:
        return now + current().token_lasts
    if wanted <= now:
        raise CommandError("expires_at", _("that is in the past"))
    longest = current().token_longest
    if wanted > now + longest:
        values = {"longest": interval_words(longest)}
        raise CommandError("expires_at", _("a token is valid for %(longest)s at most") % values)
    return wanted
