"""Answers to requests that fail or are refused: a page for people, problem details for the API."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

PROBLEM_TYPE: Final = "application/problem+json"
_RETRY_AFTER_S: Final = 30


class Refused(Exception):
    """A refused request: the reason as a sentence, and after how many seconds to try again.

    0 seconds when trying again would change nothing.
    """

    def __init__(self, status: HTTPStatus, sentence: str, wait_s: int) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.wait_s = status, sentence, wait_s

    def problem(self) -> dict[str, object]:
        """Return the problem details of RFC 9457."""
        return problem_details(self.status, self.sentence)


def too_many_requests(wait_s: int) -> Refused:
    sentence = _("too many requests: try again in %(seconds)d seconds") % {"seconds": wait_s}
    return Refused(HTTPStatus.TOO_MANY_REQUESTS, sentence, wait_s)


def database_too_slow() -> Refused:
    sentence = _("the database took too long to answer: narrow the request, or try again later")
    return Refused(HTTPStatus.SERVICE_UNAVAILABLE, sentence, _RETRY_AFTER_S)


def problem_details(status: HTTPStatus, sentence: str) -> dict[str, object]:
    """Return the problem details of RFC 9457."""
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": sentence}


def error_answer(
    request: HttpRequest, status: HTTPStatus, title: str, sentence: str, *, again: str = ""
) -> HttpResponse:
    """Render a page for people, and problem details for the API, without a query."""
    answer: HttpResponse
    if request.path_info.startswith("/api/"):
        problem = problem_details(status, sentence)
        answer = JsonResponse(problem, status=status, content_type=PROBLEM_TYPE)
    else:
        shown = {"title": title, "sentence": sentence, "status": status.value, "again": again}
        answer = HttpResponse(render_to_string("components/error.html", shown), status=status)
    answer["Cache-Control"] = "no-store"
    return answer


def render_refusal(request: HttpRequest, refused: Refused) -> HttpResponse:
    title = _("Try again later") if refused.wait_s else _("Request refused")
    answer = error_answer(request, refused.status, title, refused.sentence)
    if refused.wait_s:
        answer["Retry-After"] = str(refused.wait_s)
    # The mark of Django: repeated requests must not fill the log.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def _explain_method(request: HttpRequest, refused: HttpResponseNotAllowed) -> HttpResponse:
    answer = error_answer(
        request,
        HTTPStatus.METHOD_NOT_ALLOWED,
        _("This address is not a page"),
        _("It belongs to a button of another page. Nothing was changed: open that page and try again."),
    )
    answer["Allow"] = refused["Allow"]
    # Django has logged it.
    answer._has_been_logged = True  # type: ignore[attr-defined]  # Django's mark
    return answer


class RefusalPages:
    """Middleware that renders the refusals of views, and explains a method that an address does not take."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self.get_response(request)
        if isinstance(answer, HttpResponseNotAllowed) and not answer.content:
            return _explain_method(request, answer)
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return render_refusal(request, error) if isinstance(error, Refused) else None
