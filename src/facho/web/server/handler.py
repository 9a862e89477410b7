"""Django's handler of requests, with one thread for each request, and a few threads that stay for polls.

All of our middleware and views are synchronous. Django's own handler goes from the event loop to a thread for
the middleware, back to the loop to find the view, and to a thread again for the view. A poll that is answered
with a shared part needs less time than that.
"""

from __future__ import annotations

import asyncio
import io
import re
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from asgiref.sync import sync_to_async
from django.core import signals
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from facho.web.server.slow_clients import Scope

# The parts of pages that refresh by themselves. Their answers are small and never streamed.
_POLLED: Final = re.compile(
    r"/coordinator/dashboard/(live|overview|timeline)/|/olts/(\d+/(live|facts|[a-z]+/part)|rows)/|/plans/rows/"
    r"|/traffic/tops/|/banner/(olts/\d+/)?"
)
# Mostly they wait for the database.
_POLL_THREADS: Final = 8
# Polls that wait for a thread. More are refused: their pages ask again after two seconds.
_MOST_POLLS: Final = 500


class RenderedAnswer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


_BUSY: Final = RenderedAnswer(HTTPStatus.SERVICE_UNAVAILABLE, [(b"Retry-After", b"2")], b"")


class OneThreadHandler(ASGIHandler):
    """Runs the middleware and the view of a request in one thread."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._poll_threads = ThreadPoolExecutor(_POLL_THREADS, thread_name_prefix="poll")
        # Only the thread of the event loop counts.
        self._polls = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if is_poll(scope):
            answer = await self._answer_poll(scope)
            await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
            await send({"type": "http.response.body", "body": answer.body})
        else:
            await super().__call__(scope, receive, send)

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        response = await sync_to_async(self.get_response)(request)
        response._handler_class = self.__class__  # type: ignore[attr-defined]
        return response

    async def _answer_poll(self, scope: Scope) -> RenderedAnswer:
        if self._polls >= _MOST_POLLS:
            return _BUSY
        self._polls += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._poll_threads, self._render_answer, scope
            )
        finally:
            self._polls -= 1

    def _render_answer(self, scope: Scope) -> RenderedAnswer:
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        response: Any = self.get_response(ASGIRequest(scope, io.BytesIO()))
        response._handler_class = self.__class__
        try:
            headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
            cookies = (each.output(header="").strip() for each in response.cookies.values())
            headers += [(b"Set-Cookie", cookie.encode("ascii")) for cookie in cookies]
            return RenderedAnswer(response.status_code, headers, response.content)
        finally:
            # Signals the end of the request too.
            response.close()


def is_poll(scope: Scope) -> bool:
    return (
        scope["type"] == "http" and scope["method"] == "GET" and _POLLED.fullmatch(scope["path"]) is not None
    )
