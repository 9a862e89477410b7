"""Parts of pages that many people poll: rendered at most once a second, and answered with 304 if unchanged.

A part is shared by those who would see the same: by address, language, time zone and role. It is rendered
without the request, so that nothing of the person who happened to ask first can get into it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import get_language

from facho.apps.access.selectors import role_of
from facho.web.server.answer_cache import AnswerBusy, AnswerCache
from facho.web.server.refusals import database_too_slow

_MAX_AGE: Final = timedelta(seconds=1)
# While a new one is rendered, the others get the previous one.
_STALE_FOR: Final = timedelta(seconds=4)
_cache: Final = AnswerCache("facho.parts")


class Part(NamedTuple):
    content: bytes
    etag: str


def render_shared(
    request: HttpRequest, template: str, read: Callable[[], Mapping[str, Any]], about: str = ""
) -> HttpResponse:
    """Render a template with what `read` returns, or answer with the part that was rendered just before.

    `about` is what `read` depends on, such as the query of the request.
    """
    part = shared_part(request, template, read, about)
    answer = HttpResponse(part.content, headers={"ETag": part.etag})
    return get_conditional_response(request, part.etag, response=answer) or answer


def shared_part(
    request: HttpRequest, template: str, read: Callable[[], Mapping[str, Any]], about: str = ""
) -> Part:
    """Return the part as those see it who share it with the person of the request."""
    shared_by = (template, about, get_language(), get_current_timezone_name(), role_of(request.user))
    # A hash, because a query may have characters that names of answers may not.
    name = hashlib.sha256(repr(shared_by).encode()).hexdigest()
    try:
        return _cache.get(name, _MAX_AGE, lambda: _render(template, read()), _STALE_FOR)
    except AnswerBusy:
        raise database_too_slow() from None


def _render(template: str, context: Mapping[str, Any]) -> Part:
    content = render_to_string(template, dict(context)).encode()
    return Part(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
