"""End sessions whose role has changed. Django ends them when the account or the password changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib.auth import logout
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest, HttpResponse

from facho.apps.access.selectors import role_of

_ROLE: Final = "role"


def same_role(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and request.session.get(_ROLE) != _named(request.user):
            logout(request)
        return get_response(request)

    return answer


def begin_with_role(request: HttpRequest, user: Any, **_: Any) -> None:
    request.session[_ROLE] = _named(user)


def _named(user: Any) -> str:
    role = role_of(user)
    return "" if role is None else role.slug


def connect() -> None:
    user_logged_in.connect(begin_with_role, dispatch_uid="begin_with_role")
