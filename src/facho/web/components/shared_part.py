"""Parts of pages that many people poll: rendered at most once a second, and answered with 304 if unchanged.

A part is shared by those who would see the same: by address, language, time zone and role. It is rendered
without the request, so that nothing of the person who happened to ask first can get into it. A page that
shows such a part has the same one as its polls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final, NamedTuple

from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.cache import get_conditional_response
from django.utils.safestring import SafeString, mark_safe

from facho.apps.access.selectors import role_of
from facho.web.server.answer_cache import AnswerBusy, AnswerCache
from facho.web.server.refusals import database_too_slow

_SAFE: Final = ("GET", "HEAD", "OPTIONS")
# So much older is the part that everybody gets while a new one is rendered.
_STALE_FOR: Final = timedelta(seconds=2)
_cache: Final = AnswerCache("facho.parts")
# Parts are rendered here if there is a previous one for those who ask.
_renderers: Final = ThreadPoolExecutor(2, thread_name_prefix="parts")


class SharedPart(NamedTuple):
    """A template, and how its data is read."""

    template: str
    read: Callable[[], Mapping[str, Any]]
    # What `read` depends on, such as the query of the request.
    about: str = ""
    max_age: timedelta = timedelta(seconds=1)


class RenderedPart(NamedTuple):
    content: bytes
    etag: str

    @property
    def html(self) -> SafeString:
        """Return the part for a template of a whole page."""
        return mark_safe(self.content.decode())  # noqa: S308  # a template has rendered it


def answer_part(request: HttpRequest, part: SharedPart) -> HttpResponse:
    """Answer a poll: with the part, or with 304 if the browser has it."""
    rendered = rendered_part(request, part)
    answer = HttpResponse(rendered.content, headers={"ETag": rendered.etag})
    return get_conditional_response(request, rendered.etag, response=answer) or answer


def rendered_part(request: HttpRequest, part: SharedPart) -> RenderedPart:
    """Return the part as those see it who share it with the person of the request."""
    language, zone = translation.get_language(), timezone.get_current_timezone()
    shared_by = (part.template, part.about, language, str(zone), role_of(request.user))
    # A hash, because a query may have characters that names of answers may not.
    name = hashlib.sha256(repr(shared_by).encode()).hexdigest()

    def render() -> RenderedPart:
        with translation.override(language), timezone.override(zone):
            content = render_to_string(part.template, dict(part.read())).encode()
        return RenderedPart(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')

    try:
        return _cache.get(name, part.max_age, render, _STALE_FOR, _run_later)
    except AnswerBusy:
        raise database_too_slow() from None


def _run_later(refresh: Callable[[], None]) -> None:
    def run() -> None:
        try:
            refresh()
        finally:
            # No request ends here.
            close_old_connections()

    _renderers.submit(run)


def forget_after_changes(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Let people see at once what they changed: no part from before is shown any more. A middleware."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if request.method not in _SAFE and request.user.is_authenticated:
            _cache.forget()
        return response

    return answer
