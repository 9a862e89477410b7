"""The admin, for everybody who has a role: what each one sees there is asked page by page."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from facho.apps.access.selectors import role_of
from facho.core.roles import Role
from facho.web.access.pages import refuse_below

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite as _Site
else:
    from unfold.sites import UnfoldAdminSite as _Site


class FachoAdminSite(_Site):
    def has_permission(self, request: HttpRequest) -> bool:
        return role_of(request.user) is not None

    def index(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:  # type: ignore[override]  # noqa: ARG002
        """The lists are in the sidebar; who opens the admin wants to see how things are."""
        return redirect("dashboard")

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Of one app, for its page. Every page would be given all of them, and none shows them."""
        return super().get_app_list(request, app_label) if app_label else []

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Who is logged in and has no role is told so, and not sent to log in again."""
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.is_authenticated:
                refuse_below(Role.VIEWER, request)
            answer: HttpResponse = inner(request, *args, **kwargs)
            return answer

        return guarded
