"""Limits for clients that read too slowly or send too much."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

from django.utils.translation import gettext_noop

log = logging.getLogger(__name__)

Message = dict[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# The types of messages differ between servers and frameworks.
Application = Callable[[Any, Any, Any], Awaitable[None]]

_LENGTH: Final = b"content-length"
# For clients that still read an answer whose application has ended.
_CHECK_EVERY_S: Final = 1.0

TOO_LONG: Final = gettext_noop("the request is too long for this server")


class RequestTooLong(Exception):
    """The body of a request is longer than allowed."""


def cut_off_slow_clients(
    application: Application, *, write: timedelta, answer: timedelta, body_bytes: int
) -> Application:
    """Cut off clients that read nothing of an answer for `write`, or do not read all of it in `answer`.

    A server waits without end for a client that does not read. A body is kept on disk until all of it is
    there; one that is longer than `body_bytes` is refused with 413.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await application(scope, receive, send)
        sending = _ResponseSender(send, write.total_seconds(), answer.total_seconds())
        receiving = _BodyReader(receive, body_bytes)
        try:
            if _content_length(scope) > body_bytes:
                raise RequestTooLong
            await application(scope, receiving.receive, sending.send)
        except RequestTooLong:
            await _refuse(sending.send)
        finally:
            sending.watch_rest()

    return serve


class _ResponseSender:
    """Sends one answer on a connection.

    A server takes the last or only part of a body without waiting for the client to read it. `watch_rest`
    looks after that by timers of the loop: unlike a task, they keep no server from stopping.
    """

    def __init__(self, send: Send, write_s: float, answer_s: float) -> None:
        self._send, self._write_s, self._answer_s = send, write_s, answer_s
        # ASGI does not expose the transport; `send` is a method of the protocol of uvicorn.
        self._transport: Any = getattr(getattr(send, "__self__", None), "transport", None)
        self._until: float | None = None
        self._left, self._shrank_at = float("inf"), 0.0

    async def send(self, message: Message) -> None:
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + self._answer_s
            if self._transport is not None:
                _last_sender[self._transport] = self
        try:
            async with asyncio.timeout_at(min(now + self._write_s, self._until)):
                await self._send(message)
        except TimeoutError:
            self._cut_off()
            # The server learns of it in the next turn of the loop, and does not wait for the rest.
            await asyncio.sleep(0)
            # As Django expects when a client disconnects: it ends the answer and logs no error.
            raise asyncio.CancelledError from None

    def watch_rest(self) -> None:
        """Cut the client off if it does not read the buffered rest of the answer in time."""
        if self._until is None or _last_sender.get(self._transport) is not self:
            # Nothing was sent, or the next answer of the connection is being sent with its own limits.
            return
        left = self._transport.get_write_buffer_size()
        if not left:
            del _last_sender[self._transport]
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        if left < self._left:
            self._left, self._shrank_at = left, now
        over_at = min(self._shrank_at + self._write_s, self._until)
        if now < over_at:
            loop.call_at(min(now + _CHECK_EVERY_S, over_at), self.watch_rest)
            return
        self._cut_off()

    def _cut_off(self) -> None:
        """Abort the connection: a regular close would wait for the client to read the rest."""
        log.info("client reads too slowly, connection aborted", extra={"action": "client_cut_off"})
        if self._transport is not None:
            _last_sender.pop(self._transport, None)
            self._transport.abort()


# The last answer started on each transport. A connection has several, one after another.
_last_sender: Final[dict[Any, _ResponseSender]] = {}


class _BodyReader:
    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most, self._taken = receive, most, 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        if self._taken > self._most:
            raise RequestTooLong
        return message


def _content_length(scope: Scope) -> int:
    lengths = [value for name, value in scope.get("headers", ()) if name.lower() == _LENGTH]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0


async def _refuse(send: Send) -> None:
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    problem = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": TOO_LONG}
    headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(problem).encode()})
