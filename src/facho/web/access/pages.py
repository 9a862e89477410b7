"""Restrict pages to roles. Others are redirected to the log-in page, or told why not."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRefresh

from facho.apps.access.selectors import role_of
from facho.core.roles import Role

View = Callable[..., HttpResponseBase]


def for_role(lowest: Role) -> Callable[[View], View]:
    return _guarded(lowest, _ask_to_log_in)


def part_for_role(lowest: Role) -> Callable[[View], View]:
    """Restrict a part of an open page. After a log-out the page is loaded again, which asks to log in."""
    return _guarded(lowest, lambda _request: HttpResponseClientRefresh())


def _ask_to_log_in(request: HttpRequest) -> HttpResponse:
    if is_part(request):
        return HttpResponseClientRefresh()
    if request.method in ("GET", "HEAD"):
        return redirect_to_login(request.get_full_path())
    # The address of a form is not a page: people come back to the page that had it.
    page = urlsplit(request.headers.get("Referer", ""))
    return redirect_to_login(page.path if page.netloc == request.get_host() else "")


def is_part(request: HttpRequest) -> bool:
    """Return whether htmx asks, for a part of an open page."""
    return "HX-Request" in request.headers


def _guarded(lowest: Role, log_in: Callable[[HttpRequest], HttpResponse]) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
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
    sentence = str(exception) or _("Your role does not allow this.")
    context = {"title": _("Not allowed"), "sentence": sentence, "status": HTTPStatus.FORBIDDEN.value}
    return render(request, "components/forbidden.html", context, status=HTTPStatus.FORBIDDEN)
