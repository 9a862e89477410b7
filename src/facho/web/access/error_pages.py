"""The pages of errors, in the language of the reader and without a query."""

from __future__ import annotations

from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from facho.web.server.refusals import error_answer


class NotFoundError(Http404):
    """Nothing is there, for a reason that the reader is told: `sentence` is in their language."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    return error_answer(
        request,
        HTTPStatus.BAD_REQUEST,
        _("This request cannot be understood"),
        _("The address or the form holds something that is not allowed. Go back and try again."),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_answer(
        request,
        HTTPStatus.NOT_FOUND,
        _("This page does not exist"),
        exception.sentence
        if isinstance(exception, NotFoundError)
        else _("It may have been removed, or the address has a mistake."),
    )


def server_failed(request: HttpRequest) -> HttpResponse:
    return error_answer(
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
    return error_answer(
        request,
        HTTPStatus.FORBIDDEN,
        _("The form has expired"),
        _("Nothing was changed. Open the page again and repeat what you did; cookies must be allowed."),
    )
