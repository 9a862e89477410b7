"""What programs get in with: made for somebody, shown once, revoked."""

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
from facho.core.interval import format_interval
from facho.core.roles import Role, role_named
from facho.engine.commands.checks import name_of, no_such
from facho.engine.commands.errors import CommandError
from facho.engine.process.command_transaction import command
from facho.masking import know

_PREFIX: Final = "fd_"
_BYTES: Final = 32
# With the prefix. Enough to tell one from another, and nothing to guess the rest by.
_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class NewToken:
    token: ApiToken
    # Kept nowhere: who does not write it down makes another one.
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
    """`asked_by` is the role of who asks, which may be below the owner's: nobody gives what they lack."""
    secret = _PREFIX + secrets.token_urlsafe(_BYTES)
    know(secret)
    token = ApiToken.objects.create(
        owner=owner,
        name=_free_name(owner, name),
        role=_allowed(owner, role, asked_by).slug,
        begins=secret[:_SHOWN],
        digest=digest_of(secret),
        created_at=now,
        expires_at=_end(expires_at, now),
    )
    return NewToken(token, secret)


@command
def revoke_tokens(ids: list[int], now: datetime) -> int:
    """How many were valid until now."""
    return ApiToken.objects.filter(id__in=ids, revoked_at=None).update(revoked_at=now)


def token_named(owner: User, name: str) -> ApiToken:
    valid = owner.api_tokens.filter(revoked_at=None)
    found = valid.filter(name=name).first()
    if found is None:
        known = valid.values_list("name", flat=True)
        raise CommandError("name", no_such(_("token"), name, known))
    return found


def _free_name(owner: User, name: str) -> str:
    name = name_of(name)
    if owner.api_tokens.filter(name=name, revoked_at=None).exists():
        said = {"name": name, "owner": owner.username}
        raise CommandError("name", _("%(owner)s has a token named '%(name)s' already") % said)
    return name


def _allowed(owner: User, slug: str, asked_by: Role | None) -> Role:
    wanted, owners = role_named(slug), role_of(owner)
    if wanted is None:
        raise CommandError("role", _("'%(role)s' is no role") % {"role": slug})
    if owners is None:
        raise CommandError("owner", _("%(owner)s has no role") % {"owner": owner.username})
    most = owners if asked_by is None else min(owners, asked_by)
    if wanted > most:
        said = {"role": most.slug, "owner": owner.username}
        raise CommandError("role", _("a token of %(owner)s can be %(role)s at most") % said)
    return wanted


def _end(wanted: datetime | None, now: datetime) -> datetime:
    if wanted is None:
        return now + current().token_lasts
    if wanted <= now:
        raise CommandError("expires_at", _("that is over already"))
    longest = current().token_longest
    if wanted > now + longest:
        said = {"longest": format_interval(longest)}
        raise CommandError("expires_at", _("a token is good for %(longest)s at most") % said)
    return wanted
