"""Every error is a problem as RFC 9457 describes it: `application/problem+json`, with the fields to blame."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.defaults import server_error
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from facho.engine.commands.errors import CommandError
from facho.web.api.throttling import refusal_counted

CONTENT_TYPE = "application/problem+json"


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """None for what is nobody's input: it is a bug, and is answered and logged as one."""
    if isinstance(error, CommandError):
        error = exceptions.ValidationError({error.field: [error.message]})
    elif isinstance(error, Http404):
        # Django's own sentence names a class of ours.
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        error = refusal_counted(context["request"], context["view"]) or error
    found = exception_handler(error, context)
    if found is None or not isinstance(error, exceptions.APIException):
        return None
    found.data = problem(found.status_code, error)
    found.content_type = CONTENT_TYPE
    return found


def problem(status: int, error: exceptions.APIException) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if isinstance(error, exceptions.ValidationError):
        errors = [{"field": field, "message": message} for field, message in _sentences(error.detail)]
        return {**found, "detail": _("what was given cannot be used"), "errors": errors}
    return {**found, "detail": str(error.detail)}


def bug(request: HttpRequest) -> HttpResponse:
    """What Django answers when something raised that nobody expected; it is in the log."""
    if not request.path.startswith("/api/"):
        return server_error(request)
    found = problem(HTTPStatus.INTERNAL_SERVER_ERROR, exceptions.APIException(_("the server has failed")))
    return JsonResponse(found, status=HTTPStatus.INTERNAL_SERVER_ERROR, content_type=CONTENT_TYPE)


def _sentences(detail: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Of whatever shape the checks of nested fields and lists are."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            named = "" if name == "non_field_errors" else str(name)
            yield from _sentences(inner, ".".join(filter(None, (field, named))))
    elif isinstance(detail, list):
        for number, inner in enumerate(detail):
            yield from _sentences(inner, f"{field}[{number}]" if isinstance(inner, dict) else field)
    else:
        yield field, str(detail)
