"""Rights of each role: the one table behind the admin, the pages and the API.

A right is a verb and the kind of thing that it is done to, named as Django names its models: `view` on
`hosts.olt`. A person or a token has one role; a role includes the rights of all lower ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class Role(IntEnum):
    # For tokens that may read /metrics and nothing else.
    METRICS = 0
    VIEWER = 1
    OPERATOR = 2
    ADMINISTRATOR = 3

    @property
    def slug(self) -> str:
        return self.name.lower()


# Roles of people; groups with these names are created with the database.
OF_PEOPLE: Final = (Role.VIEWER, Role.OPERATOR, Role.ADMINISTRATOR)

# The lowest role with each right, for models that the second table does not name.
_USUALLY: Final[Mapping[str, Role]] = {
    "view": Role.VIEWER,
    "run": Role.OPERATOR,
    "enable": Role.OPERATOR,
    "test": Role.OPERATOR,
    "acknowledge": Role.OPERATOR,
    "add": Role.ADMINISTRATOR,
    "change": Role.ADMINISTRATOR,
    "delete": Role.ADMINISTRATOR,
}
_EVERYTHING_FOR_ADMINISTRATORS: Final = dict.fromkeys(_USUALLY, Role.ADMINISTRATOR)
_EXCEPT: Final[Mapping[str, Mapping[str, Role]]] = {
    "auth.user": _EVERYTHING_FOR_ADMINISTRATORS,
    "auth.group": _EVERYTHING_FOR_ADMINISTRATORS,
    "access.auditentry": _EVERYTHING_FOR_ADMINISTRATORS,
    "access.loginattempt": _EVERYTHING_FOR_ADMINISTRATORS,
    "access.loginaddress": _EVERYTHING_FOR_ADMINISTRATORS,
    # Everybody manages only their own tokens; none has a higher role than its owner.
    "access.apitoken": {"add": Role.VIEWER, "delete": Role.VIEWER},
    # A maintenance window is like disabling an OLT for a while.
    "maintenance.maintenancewindow": {
        "add": Role.OPERATOR,
        "change": Role.OPERATOR,
        "delete": Role.OPERATOR,
    },
}

# A token that could change these could outlive its expiry or raise its own role.
_ACCESS: Final = ("auth.", "access.")


def needs_log_in(right: str, model: str) -> bool:
    """Return whether a right needs a logged-in person: tokens may only view accounts and tokens."""
    return right != "view" and model.startswith(_ACCESS)


def lowest_role(right: str, model: str) -> Role:
    """Raises KeyError for a right that there is not: a page that asks for it has a mistake."""
    return _EXCEPT.get(model, {}).get(right) or _USUALLY[right]


def may(role: Role | None, right: str, model: str) -> bool:
    """Return whether a role has a right. No role has no rights."""
    return role is not None and role >= lowest_role(right, model)


def role_named(slug: str) -> Role | None:
    return next((role for role in Role if role.slug == slug), None)
