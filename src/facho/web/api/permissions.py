"""Permissions of the API, by role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from facho.apps.access.models import ApiToken
from facho.core.roles import Role, may, needs_log_in
from facho.web.api.authentication import role_of_request

if TYPE_CHECKING:
    # rest_framework.views imports this module while it is loaded.
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
    """Permission by role: `about` of a view is its model, `rights` has the rights of extra actions."""

    def has_permission(self, request: Request, view: Any) -> bool:
        right = required_right(view)
        if isinstance(request.auth, ApiToken) and needs_log_in(right, view.about):
            raise PermissionDenied(
                _("a token cannot manage tokens or accounts: log in to the pages, or use the command line")
            )
        return may(role_of_request(request), right, view.about)


def required_right(view: Any) -> str:
    """Return the right that the view's current action needs.

    An action that changes something and names no right needs the one to change, which is the highest.
    """
    # None for a method that the view lacks: who may see the rest gets 405.
    action = getattr(view, "action", None) or "list"
    rights = {**_RIGHTS, **getattr(view, "rights", {})}
    found: str = rights.get(action) or ("change" if _changes_something(view, action) else "view")
    return found


def _changes_something(view: Any, action: str) -> bool:
    methods = [method for method, named in (view.action_map or {}).items() if named == action]
    return any(method.upper() not in SAFE_METHODS for method in methods)


class AnyRole(BasePermission):
    """Permission for everybody who has a role."""

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
        role = role_of_request(request)
        return role is not None and role >= Role.VIEWER
