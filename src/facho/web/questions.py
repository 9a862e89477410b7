"""Questions that no page can answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.core.exceptions import BadRequest
from django.http import HttpRequest

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    Answer = Callable[[HttpRequest], HttpResponseBase]


def without_nul(answer: Answer) -> Answer:
    """PostgreSQL has no text with a NUL, and lists are filtered as was asked. The API names the field."""

    def look(request: HttpRequest) -> HttpResponseBase:
        if "%00" in request.META["QUERY_STRING"] and not request.path.startswith("/api/"):
            raise BadRequest("there is a NUL in the address")
        return answer(request)

    return look
