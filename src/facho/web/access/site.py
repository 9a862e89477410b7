"""The admin site, for everybody who has a role; each page checks its own permissions."""

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
        """Redirect to the dashboard; the sidebar has the lists."""
        return redirect("dashboard")

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return the list of one app for its page only, because no other page shows it."""
        return super().get_app_list(request, app_label) if app_label else []

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Refuse users without a role, instead of asking them to log in again."""
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.is_authenticated:
                refuse_below(Role.VIEWER, request)
            answer: HttpResponse = inner(request, *args, **kwargs)
            return answer

        return guarded
