"""The dashboard, and the page at which everybody logs in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRefresh
from unfold.widgets import BASE_INPUT_CLASSES

from facho.apps.hosts.health import Health
from facho.config import current
from facho.engine.clock import database_now
from facho.web.pages.frame import page_context
from facho.web.selectors import live, overview
from facho.web.timeline_rows import BACK, timeline, wanted_of


@require_safe
@never_cache
@login_required
def dashboard(request: HttpRequest) -> HttpResponse:
    wall = "wall" in request.GET
    context = {**page_context(request, _("Dashboard")), **_live(), **_overview(), "wall": wall}
    return render(request, "facho/wall.html" if wall else "facho/dashboard.html", context)


@require_safe
@never_cache
def live_part(request: HttpRequest) -> HttpResponse:
    """What changes by the second. Whoever is logged out meanwhile is sent to the login page."""
    if not request.user.is_authenticated:
        return HttpResponseClientRefresh()
    return render(request, "facho/live.html", _live())


@require_safe
@never_cache
def overview_part(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return HttpResponseClientRefresh()
    return render(request, "facho/overview.html", _overview())


def _live() -> dict[str, Any]:
    return {"board": live(database_now(), current())}


def _overview() -> dict[str, Any]:
    return {"overview": overview(database_now(), current())}


@require_safe
@never_cache
def timeline_part(request: HttpRequest) -> HttpResponse:
    """The page of OLTs that was asked for, and again by itself."""
    if not request.user.is_authenticated:
        return HttpResponseClientRefresh()
    wanted = wanted_of(request.GET)
    found = timeline(wanted, database_now(), current())
    context = {
        "timeline": found,
        "wanted": wanted,
        "ticks": found.window.ticks(current().time_zone),
        "hours": BACK,
        "healths": Health.choices,
    }
    return render(request, "facho/live/timeline.html", context)


@require_safe
def root(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    return redirect(settings.LOGIN_REDIRECT_URL)


@never_cache
@login_required
def password_change(request: HttpRequest) -> HttpResponse:
    return admin.site.password_change(request, page_context(request, _("Password change")))


@never_cache
@login_required
def password_change_done(request: HttpRequest) -> HttpResponse:
    return admin.site.password_change_done(request, page_context(request, _("Password change successful")))


class LoginForm(AuthenticationForm):
    """Everybody who has an account: the admin asks for more by itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = " ".join(BASE_INPUT_CLASSES)


class Login(LoginView):
    """In the admin's dress."""

    template_name = "facho/login.html"
    authentication_form = LoginForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        frame = admin.site.each_context(self.request)
        return {
            **frame,
            **super().get_context_data(**kwargs),
            "title": _("Log in"),
            "app_path": self.request.get_full_path(),
            "username": self.request.user.get_username(),
            # There is nothing to return to before the login.
            "site_url": None,
        }
