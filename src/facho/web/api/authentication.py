"""Authentication by token (`Authorization: Bearer fd_...`), or by the session of a browser."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.authentication import (
    BaseAuthentication,
    SessionAuthentication,
    get_authorization_header,
)
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from facho.apps.access.models import ApiToken
from facho.apps.access.selectors import role_of, role_of_token, token_shown
from facho.apps.access.store import note_use
from facho.apps.db.database import database_now
from facho.core.roles import Role

_SCHEME = b"bearer"


class BearerToken(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        scheme, _space, secret = get_authorization_header(request).partition(b" ")
        if scheme.lower() != _SCHEME:
            return None
        now = database_now()
        token = token_shown(secret.strip().decode("latin-1"), now)
        if token is None:
            raise AuthenticationFailed(_("the token is unknown, revoked or expired"))
        note_use(token, now)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return 'Bearer realm="api"'


class BrowserSession(SessionAuthentication):
    def enforce_csrf(self, request: Request) -> None:
        """Refuse in the language of the reader."""
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            sentence = _("the token of the session is missing or wrong: send it in the header X-CSRFToken")
            raise PermissionDenied(sentence) from None


def role_of_request(request: Request) -> Role | None:
    """Return the role of a request. A token may have a lower role than its owner."""
    if isinstance(request.auth, ApiToken):
        return role_of_token(request.auth)
    return role_of(request.user)
