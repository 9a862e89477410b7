"""The pages of errors, in the language of the reader and without a query."""

from __future__ import annotations

from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from facho.web.server.refusals import PROBLEM_TYPE


class NotFoundError(Http404):
    """Nothing is there, for a reason that the reader is told: `sentence` is in their language."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def error_page(
    request: HttpRequest, status: HTTPStatus, title: str, sentence: str, *, again: str = ""
) -> HttpResponse:
    """Render a page for people, and problem details for the API."""
    answer: HttpResponse
    if request.path_info.startswith("/api/"):
        problem = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": sentence}
        answer = JsonResponse(problem, status=status, content_type=PROBLEM_TYPE)
    else:
        shown = {"title": title, "sentence": sentence, "status": status.value, "again": again}
        answer = HttpResponse(render_to_string("components/error.html", shown), status=status)
    answer["Cache-Control"] = "no-store"
    return answer


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    return error_page(
        request,
        HTTPStatus.BAD_REQUEST,
        _("This request cannot be understood"),
        _("The address or the form holds something that is not allowed. Go back and try again."),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(
        request,
        HTTPStatus.NOT_FOUND,
        _("This page does not exist"),
        exception.sentence
        if isinstance(exception, NotFoundError)
        else _("It may have been removed, or the address has a mistake."),
    )


def server_failed(request: HttpRequest) -> HttpResponse:
    return error_page(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        _("Something went wrong"),
        _(
            "The error was logged. Try again; if it happens again, "
            "tell the administrator the time and the page."
        ),
        again=request.get_full_path() if request.method == "GET" else "",
    )


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    return error_page(
        request,
        HTTPStatus.FORBIDDEN,
        _("The form has expired"),
        _("Nothing was changed. Open the page again and repeat what you did; cookies must be allowed."),
    )
