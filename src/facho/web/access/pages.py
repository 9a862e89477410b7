"""Restrict pages to roles. Others are redirected to the log-in page, or told why not."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRefresh

from facho.apps.access.selectors import role_of
from facho.core.roles import Role

View = Callable[..., HttpResponse]


def for_role(lowest: Role) -> Callable[[View], View]:
    return _guarded(lowest, lambda request: redirect_to_login(request.get_full_path()))


def part_for_role(lowest: Role) -> Callable[[View], View]:
    """Restrict a part of an open page. After a log-out the page is loaded again, which asks to log in."""
    return _guarded(lowest, lambda _request: HttpResponseClientRefresh())


def _guarded(lowest: Role, log_in: Callable[[HttpRequest], HttpResponse]) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return log_in(request)
            refuse_below(lowest, request)
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def refuse_below(lowest: Role, request: HttpRequest) -> None:
    role = role_of(request.user)
    if role is None:
        raise PermissionDenied(_("This account has no role yet. An administrator can give it one."))
    if role < lowest:
        raise PermissionDenied


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Show the page for a refused permission."""
    context = {
        **admin.site.each_context(request),
        "title": _("Not allowed"),
        "sentence": str(exception) or _("Your role does not allow this."),
    }
    return render(request, "components/forbidden.html", context, status=403)
