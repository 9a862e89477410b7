"""Query strings that no page can use: they are refused before any query."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.utils.translation import gettext as _

from facho.web.server.refusals import Refused, render_refusal

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    Answer = Callable[[HttpRequest], HttpResponseBase]

# No page makes a query string that comes near to this.
LONGEST_QUERY: Final = 8_000
MOST_PARAMETERS: Final = 200


def refuse_nul(answer: Answer) -> Answer:
    """Refuse a NUL in a query string: PostgreSQL has no text with one. The API names the field."""

    def look(request: HttpRequest) -> HttpResponseBase:
        if "%00" in request.META["QUERY_STRING"] and not request.path.startswith("/api/"):
            raise BadRequest("there is a NUL in the address")
        return answer(request)

    return look


def refuse_long_queries(answer: Answer) -> Answer:
    """Refuse long query strings: thousands of parameters take seconds to read, and no list needs them."""

    def look(request: HttpRequest) -> HttpResponseBase:
        query = request.META["QUERY_STRING"]
        if len(query) <= LONGEST_QUERY and query.count("&") < MOST_PARAMETERS:
            return answer(request)
        sentence = _(
            "the address is too long: %(length)d characters and %(parameters)d parameters at most"
        ) % {
            "length": LONGEST_QUERY,
            "parameters": MOST_PARAMETERS,
        }
        return render_refusal(request, Refused(HTTPStatus.REQUEST_URI_TOO_LONG, sentence, 0))

    return look
