"""Set the actor of a request for the audit log, and record log-ins and log-outs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest, HttpResponse

from facho.apps.access.actors import Actor, acting
from facho.apps.access.audit_actions import Action, How
from facho.apps.access.audit_recording import note
from facho.apps.access.models import ApiToken
from facho.config import current
from facho.web.access.login_limits import address_of

_WAYS: Final = {"/admin/": How.ADMIN, "/api/": How.API}


class Recording:
    """Set the actor of each request. The user is read late, because the API checks tokens in its views."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting(lambda: actor_of(request)):
            return self.get_response(request)


def actor_of(request: HttpRequest) -> Actor:
    shown = getattr(request, "auth", None)
    token = shown.name if isinstance(shown, ApiToken) else ""
    ways = (how for path, how in _WAYS.items() if request.path_info.startswith(path))
    address = address_of(request, current())
    how = next(ways, How.PAGES)
    # An anonymous user has neither a name nor an id.
    return Actor(request.user.get_username(), how, request.user.pk, address, token)


def connect() -> None:
    user_logged_in.connect(_logged_in)
    user_logged_out.connect(_logged_out)
    user_login_failed.connect(_failed)


def _logged_in(user: User, **_: Any) -> None:
    note(Action.LOG_IN, User, user.pk, user.get_username())


def _logged_out(user: User | None, **_: Any) -> None:
    if user is not None:
        note(Action.LOG_OUT, User, user.pk, user.get_username())


def _failed(credentials: dict[str, Any], **_: Any) -> None:
    """Record a failed log-in. An unknown name is not stored: it may be a password in the wrong field."""
    user = User.objects.filter(username=credentials.get("username")).first()
    note(Action.LOG_IN_FAILED, User, user.pk if user else None, user.get_username() if user else "")
