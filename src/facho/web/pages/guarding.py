"""Who may open a page: asked of the one table of rights, before anything is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

View: TypeAlias = Callable[..., HttpResponse]


def page_for(right: str) -> Callable[[View], View]:
    """`right` as Django writes it: `hosts.view_olt`. Whoever is not logged in is asked to."""

    def guarded(view: View) -> View:
        allowed = permission_required(right, raise_exception=True)(view)
        found: View = require_safe(never_cache(login_required(allowed)))
        return found

    return guarded


def part_for(right: str) -> Callable[[View], View]:
    """A part of a page that is open: whoever was logged out meanwhile gets the login page as a whole."""

    def guarded(view: View) -> View:
        allowed = permission_required(right, raise_exception=True)(view)

        @wraps(view)
        def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return HttpResponseClientRefresh()
            return allowed(request, *args, **kwargs)

        found: View = require_safe(never_cache(show))
        return found

    return guarded


def act_for(right: str) -> Callable[[View], View]:
    """Something that a button does."""

    def guarded(view: View) -> View:
        found: View = require_POST(login_required(permission_required(right, raise_exception=True)(view)))
        return found

    return guarded
