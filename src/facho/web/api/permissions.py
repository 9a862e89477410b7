"""What a request may do, by the role of who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from facho.apps.access.models import ApiToken
from facho.core.roles import Role, may, needs_log_in
from facho.web.api.authentication import role_of_request

if TYPE_CHECKING:
    # Which asks for this module while it is loaded.
    from rest_framework.views import APIView

_RIGHTS: Final = {
    "list": "view",
    "retrieve": "view",
    "create": "add",
    "update": "change",
    "partial_update": "change",
    "destroy": "delete",
}


class ByRole(BasePermission):
    """A view says what it is about in `about` ("hosts.olt"), and in `rights` what its own actions need."""

    def has_permission(self, request: Request, view: Any) -> bool:
        right = required_right(view)
        if isinstance(request.auth, ApiToken) and needs_log_in(right, view.about):
            raise PermissionDenied(
                _("a token cannot manage tokens or accounts: log in to the pages, or use the command line")
            )
        return may(role_of_request(request), right, view.about)


def required_right(view: Any) -> str:
    """Return the right that the view's current action needs."""
    # None for a method that the view has not: it is answered as such, to who may see the rest.
    action = getattr(view, "action", None) or "list"
    found: str = {**_RIGHTS, **getattr(view, "rights", {})}.get(action, "view")
    return found


class AnyRole(BasePermission):
    """For what everybody may see who can see anything."""

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
        role = role_of_request(request)
        return role is not None and role >= Role.VIEWER
