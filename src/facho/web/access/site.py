"""The admin site, for everybody who has a role; each page checks its own permissions."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import get_script_prefix
from django.utils.timezone import get_current_timezone, now
from django.utils.translation import get_language
from django_htmx.http import HttpResponseClientRefresh

from facho.apps.access.selectors import role_of
from facho.core.roles import Role
from facho.core.time_zones import offset_text, zone_text
from facho.web.access.pages import is_part, refuse_below
from facho.web.navigation import links_in

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite as _Site
else:
    from unfold.sites import UnfoldAdminSite as _Site

# Far more than there are entries, roles and languages. A path can have any number of links in it.
_MOST_SIDEBARS: Final = 500


class FachoAdminSite(_Site):
    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self._sidebars: dict[tuple[Any, ...], str] = {}

    def has_permission(self, request: HttpRequest) -> bool:
        return role_of(request.user) is not None

    def index(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:  # type: ignore[override]  # noqa: ARG002
        """Redirect to the dashboard; the sidebar has the lists."""
        return redirect("dashboard")

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Add the time zone of the page, which its frame names."""
        zone = get_current_timezone()
        named = {"time_zone": zone_text(now(), zone), "time_zone_offset": offset_text(now(), zone)}
        return {**super().each_context(request), **named}

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return the list of one app for its page only, because no other page shows it."""
        return super().get_app_list(request, app_label) if app_label else []

    def get_sidebar_list(self, request: HttpRequest) -> list[str]:
        """Return the whole sidebar, rendered once for all who have the same: a page would take longer for it
        than for everything else of its frame.
        """
        seen_by = (role_of(request.user), request.user.is_superuser, get_language())
        key = (get_script_prefix(), links_in(request.path), *seen_by)
        found = self._sidebars.get(key)
        if found is None:
            groups = super().get_sidebar_list(request)  # type: ignore[misc]  # unfold's
            found = render_to_string("components/sidebar.html", {"groups": groups})
            if len(self._sidebars) >= _MOST_SIDEBARS:
                self._sidebars.clear()
            self._sidebars[key] = found
        return [found]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Refuse users without a role, instead of asking them to log in again."""
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.is_authenticated:
                refuse_below(Role.VIEWER, request)
            elif is_part(request):
                # The page is loaded again, which asks to log in.
                return HttpResponseClientRefresh()
            answer: HttpResponse = inner(request, *args, **kwargs)
            return answer

        return guarded
