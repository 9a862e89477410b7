"""Errors of the API as RFC 9457 problems (`application/problem+json`), with the fields that are wrong."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from facho.engine.commands.errors import CommandError
from facho.web.access.error_pages import server_failed
from facho.web.api.throttling import count_refusal
from facho.web.server.query_limits import database_is_busy
from facho.web.server.refusals import (
    PROBLEM_TYPE,
    Refused,
    database_too_slow,
    problem_details,
    render_refusal,
)
from facho.web.server.slow_clients import TOO_LONG, RequestTooLong

log = logging.getLogger(__name__)

CONTENT_TYPE = PROBLEM_TYPE


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the answer to an error of the request; None for a bug, which Django logs."""
    if isinstance(error, Refused):
        return _refused_response(error)
    if isinstance(error, CommandError):
        error = exceptions.ValidationError({error.field: [error.message]})
    elif isinstance(error, Http404):
        # The sentence of Django names a class of this program.
        error = exceptions.NotFound()
    elif isinstance(error, RequestDataTooBig | RequestTooLong):
        error = exceptions.APIException(_(TOO_LONG))
        error.status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        error = count_refusal(context["request"], context["view"]) or error
    found = exception_handler(error, context)
    if found is None or not isinstance(error, exceptions.APIException):
        return None
    found.data = problem(found.status_code, error)
    found.content_type = CONTENT_TYPE
    return found


def _refused_response(error: Refused) -> Response:
    wait = {"Retry-After": str(error.wait_s)}
    return Response(error.problem(), error.status, headers=wait, content_type=CONTENT_TYPE)


def problem(status: int, error: exceptions.APIException) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        errors = [{"field": field, "message": message} for field, message in _field_errors(error.detail)]
        return {**problem_details(HTTPStatus(status), _("invalid input")), "errors": errors}
    return problem_details(HTTPStatus(status), str(error.detail))


def handle_server_error(request: HttpRequest) -> HttpResponse:
    """Answer an unexpected exception, which Django has logged."""
    error = sys.exc_info()[1]
    if database_is_busy(error):
        # The answer is marked as logged, so that Django does not log it as a bug.
        cut = {"action": "query_cut", "path": request.path, "error": str(error).strip()}
        log.warning("a query took too long and was cut", extra=cut)
        return render_refusal(request, database_too_slow())
    if not request.path.startswith("/api/"):
        return server_failed(request)
    found = problem(HTTPStatus.INTERNAL_SERVER_ERROR, exceptions.APIException(_("internal server error")))
    return JsonResponse(found, status=HTTPStatus.INTERNAL_SERVER_ERROR, content_type=CONTENT_TYPE)


def _field_errors(detail: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Return field and sentence of each error, from nested errors of any shape."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            named = "" if name == "non_field_errors" else str(name)
            yield from _field_errors(inner, ".".join(filter(None, (field, named))))
    elif isinstance(detail, list):
        for number, inner in enumerate(detail):
            yield from _field_errors(inner, f"{field}[{number}]" if isinstance(inner, dict) else field)
    else:
        yield field, str(detail)
