"""The description in OpenAPI: what drf-spectacular finds by itself, and the problems there may be."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from facho.core.roles import needs_log_in
from facho.web.api.permissions import required_right
from facho.web.api.problems import CONTENT_TYPE

_PROBLEM: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
# What every operation may answer besides its own.
_ALWAYS: Final = {
    "400": "what was given cannot be used",
    "401": "nobody is logged in, or the token is not valid",
    "403": "the role does not allow it, or a token cannot do it",
    "404": "there is no such thing",
    "405": "it has no such method",
    "406": "it has no such form",
    "415": "it must be JSON",
    "429": "too many requests",
}


class Description(AutoSchema):
    """One for each operation."""

    def get_auth(self) -> Any:
        """Name the ways to authenticate; a token is none of them for what needs a log-in."""
        found: Any = super().get_auth()
        about = getattr(self.view, "about", "")
        if not needs_log_in(required_right(self.view), about):
            return found
        return [each for each in found if Bearer.name not in each]


class Bearer(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Found by drf-spectacular when this module is loaded."""

    target_class = "facho.web.api.authentication.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer"}


def with_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular, after all operations are described."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    for path in result["paths"].values():
        for operation in path.values():
            for status, what in _ALWAYS.items():
                operation["responses"].setdefault(status, _problem(what))
    return result


def _problem(what: str) -> dict[str, Any]:
    return {
        "description": what,
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
