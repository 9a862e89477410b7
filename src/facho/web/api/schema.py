"""The OpenAPI description: what drf-spectacular derives, and the problem answers."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.authentication import SessionScheme
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
# Answers that every operation may give.
_COMMON_PROBLEMS: Final = {
    "400": "the input is invalid",
    "401": "not logged in, or the token is not valid",
    "403": "the role does not allow it, or it needs a log-in instead of a token",
    "404": "not found",
    "405": "method not allowed",
    "406": "format not available",
    "415": "the body must be JSON",
    "429": "too many requests",
}


class Description(AutoSchema):
    """The description of one operation."""

    def get_auth(self) -> Any:
        """Return the ways to authenticate, without tokens where a log-in is needed."""
        found: Any = super().get_auth()
        about = getattr(self.view, "about", "")
        if not needs_log_in(required_right(self.view), about):
            return found
        return [each for each in found if Bearer.name not in each]


class Bearer(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The bearer token. drf-spectacular finds this class when the module is loaded."""

    target_class = "facho.web.api.authentication.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer"}


class Session(SessionScheme):  # type: ignore[no-untyped-call]
    target_class = "facho.web.api.authentication.BrowserSession"


def with_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the problem answers to all operations. A postprocessing hook of drf-spectacular."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    for path in result["paths"].values():
        for operation in path.values():
            for status, what in _COMMON_PROBLEMS.items():
                operation["responses"].setdefault(status, _problem_response(what))
    return result


def _problem_response(what: str) -> dict[str, Any]:
    return {
        "description": what,
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
