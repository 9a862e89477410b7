"""The admin, for everybody who has a role: what each one sees there is asked page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest

from facho.apps.access.selectors import role_of

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite as _Site
else:
    from unfold.sites import UnfoldAdminSite as _Site


class FachoAdminSite(_Site):
    def has_permission(self, request: HttpRequest) -> bool:
        return role_of(request.user) is not None
