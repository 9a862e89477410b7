"""What the doctor says of secrets that are about to end or that everybody knows: tokens and communities."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from facho.apps.access.models import ApiToken, TokenState
from facho.apps.access.selectors import in_state
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Olt
from facho.cli.acting.checkup import Finding, named, ok, warning
from facho.config import Config
from facho.keys import KeyProblem

_SOON: Final = timedelta(days=14)
# What devices are delivered with.
_KNOWN_TO_ALL: Final = "public"


def expiring_tokens(now: datetime, config: Config) -> Finding:
    valid = ApiToken.objects.filter(in_state(TokenState.VALID, now), owner__is_active=True)
    soon = valid.filter(expires_at__lte=now + _SOON).select_related("owner").order_by("expires_at")
    if names := [_described(token, config) for token in soon]:
        told = f"{len(names)} end within {_SOON.days} days: {named(names)}"
        return warning("tokens", told, "make new ones (facho token add), and revoke those")
    return ok("tokens", f"none ends within {_SOON.days} days")


def _described(token: ApiToken, config: Config) -> str:
    ends = token.expires_at.astimezone(config.time_zone)
    return f"{token.name} of {token.owner.get_username()} ({ends:%Y-%m-%d})"


def default_communities(_now: datetime, _config: Config) -> Finding:
    """Names OLTs, and no community but the one that is no secret."""
    olts = Olt.objects.filter(removed_at=None).order_by("name").only("name", "credentials")
    if names := [olt.name for olt in olts if _is_known_to_all(olt.credentials)]:
        told = f"{len(names)} OLTs have '{_KNOWN_TO_ALL}': {named(names)}"
        return warning("communities", told, "give the OLTs another one, or SNMPv3, and enter it in the admin")
    return ok("communities", f"no OLT has '{_KNOWN_TO_ALL}'")


def _is_known_to_all(credentials: Credentials) -> bool:
    try:
        return credentials.community == _KNOWN_TO_ALL
    except KeyProblem:
        # Told by the look at credentials.
        return False
