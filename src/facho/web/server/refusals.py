"""Refused requests: the status, the reason, and when to try again, as a page or as JSON."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
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
        return {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.sentence,
        }


def too_many_requests(wait_s: int) -> Refused:
    sentence = _("too many requests: try again in %(seconds)d seconds") % {"seconds": wait_s}
    return Refused(HTTPStatus.TOO_MANY_REQUESTS, sentence, wait_s)


def database_too_slow() -> Refused:
    sentence = _("the database took too long to answer: narrow the request, or try again later")
    return Refused(HTTPStatus.SERVICE_UNAVAILABLE, sentence, _RETRY_AFTER_S)


def render_refusal(request: HttpRequest, refused: Refused) -> HttpResponse:
    """Render problem details for the API and a page for people, without a query."""
    answer: HttpResponse
    if request.path_info.startswith("/api/"):
        answer = JsonResponse(refused.problem(), status=refused.status, content_type=PROBLEM_TYPE)
    else:
        page = render_to_string("components/refused.html", {"refused": refused})
        answer = HttpResponse(page, status=refused.status)
    if refused.wait_s:
        answer["Retry-After"] = str(refused.wait_s)
    answer["Cache-Control"] = "no-store"
    # The mark of Django: repeated requests must not fill the log.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


class RefusalPages:
    """Middleware that renders the refusals of views."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return render_refusal(request, error) if isinstance(error, Refused) else None
