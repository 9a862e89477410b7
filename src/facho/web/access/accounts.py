"""Permissions by role. Django's stored permissions are not used."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend

from facho.apps.access.selectors import read_account, role_of
from facho.core.roles import may


class Accounts(ModelBackend):
    def get_user(self, user_id: int) -> Any:
        """Return the account of a session, or None if it may not log in any more."""
        user = read_account(user_id)
        return user if user is not None and self.user_can_authenticate(user) else None

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:  # noqa: ARG002
        """Check a permission in Django's form: `hosts.view_olt`."""
        app, _dot, name = perm.partition(".")
        right, _underscore, model = name.partition("_")
        return may(role_of(user_obj), right, f"{app}.{model}")

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:  # noqa: ARG002
        """Allow every app to every role: each list checks its own permission."""
        return role_of(user_obj) is not None

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:  # noqa: ARG002
        return set()
