"""Clients that do not read what they asked for, and such that send too much."""

from __future__ import annotations

import asyncio
import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from facho.web.server import slow_clients
from facho.web.server.slow_clients import cut_off_slow_clients
from tests.services.web_server import client_that_stops_reading, served
from tests.waiting import PATIENCE_S, wait_until

LONG = timedelta(hours=1)
SOON = timedelta(milliseconds=200)
# More than the machine keeps for two sockets.
MUCH = 2_000_000


@pytest.fixture(autouse=True)
def nothing_is_watched_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was stopped looks after its connections no more."""
    monkeypatch.setattr(slow_clients, "_last_sender", {})


class Endless:
    """An answer without end; it knows when it was broken off."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        except asyncio.CancelledError:
            self.ended.set()


@pytest.mark.parametrize(("write", "answer"), [(SOON, LONG), (LONG, SOON)])
def test_a_client_that_reads_nothing_is_cut_off(write: timedelta, answer: timedelta) -> None:
    endless = Endless()
    limited = cut_off_slow_clients(endless, write=write, answer=answer, body_bytes=1000)
    asked = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    with served(limited) as web, client_that_stops_reading(web.port, asked) as client:
        assert endless.ended.wait(60)
        # Also the server's own end of it, though the client still has not read what was on its way.
        wait_until(lambda: web.connections == 0, what="the connection is closed")
        rest = b"".join(iter(lambda: client.recv(65536), b""))
    assert not rest.endswith(b"0\r\n\r\n"), "the answer ends as if it were complete"


async def _one_body(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x" * MUCH})


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize(("write", "answer"), [(SOON, LONG), (LONG, SOON)])
@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"])
def test_a_client_that_does_not_read_the_last_part_of_an_answer_is_cut_off(
    loop: str, write: timedelta, answer: timedelta, header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "facho")
    limited = cut_off_slow_clients(_one_body, write=write, answer=answer, body_bytes=1000)
    asked = b"GET / HTTP/1.1\r\nHost: a\r\n" + header + b"\r\n"
    with served(limited, loop=loop) as web, client_that_stops_reading(web.port, asked):
        wait_until(lambda: web.connections == 0, what="the connection is closed")
    assert [each.__dict__["action"] for each in caplog.records] == ["client_cut_off"]
    assert not slow_clients._last_sender


def test_a_connection_is_used_again_after_an_answer_that_was_read_late() -> None:
    limited = cut_off_slow_clients(_one_body, write=LONG, answer=LONG, body_bytes=1000)
    with served(limited) as web:
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
        for _ in range(2):
            connection.request("GET", "/")
            wait_until(lambda: slow_clients._last_sender, what="the server has more than the client reads")
            assert len(connection.getresponse().read()) == MUCH
        connection.close()
        wait_until(lambda: not slow_clients._last_sender, what="the connection is forgotten")


class Transport:
    """The connection of a server; `left` is how much the server still has to send at each look."""

    def __init__(self, left: Iterator[int]) -> None:
        self._left, self.transport, self.aborted = left, self, False

    async def send(self, _message: Any) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0 if self.aborted else next(self._left)

    def abort(self) -> None:
        self.aborted = True


async def _until_nothing_is_watched() -> None:
    async with asyncio.timeout(PATIENCE_S):
        while slow_clients._last_sender:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def test_a_client_that_reads_slowly_is_not_cut_off() -> None:
    transport = Transport(iter([*range(10, 0, -1), 0]))
    limited = cut_off_slow_clients(_one_body, write=timedelta(milliseconds=1), answer=LONG, body_bytes=1000)

    async def answer() -> None:
        await limited({"type": "http"}, None, transport.send)
        await _until_nothing_is_watched()

    asyncio.run(answer())
    assert not transport.aborted


def test_an_answer_has_its_own_time_when_another_one_was_sent_before_it() -> None:
    """The client asked for two at once: the second one begins while the application of the first one ends."""
    transport = Transport(iter([2, 1, 1, 0]))
    second = cut_off_slow_clients(_one_body, write=LONG, answer=LONG, body_bytes=1000)

    async def first(scope: Any, receive: Any, send: Any) -> None:
        await _one_body(scope, receive, send)
        await second(scope, receive, transport.send)
        await asyncio.sleep(2 * SOON.total_seconds())

    async def answer() -> None:
        limited = cut_off_slow_clients(first, write=LONG, answer=SOON, body_bytes=1000)
        await limited({"type": "http"}, None, transport.send)
        await _until_nothing_is_watched()

    asyncio.run(answer())
    assert not transport.aborted


async def _echo(_scope: Any, receive: Any, send: Any) -> None:
    length = 0
    more = True
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(length).encode()})


def test_a_request_that_is_too_long_is_refused_whether_it_says_so_or_not() -> None:
    limited = cut_off_slow_clients(_echo, write=LONG, answer=LONG, body_bytes=1000)
    with served(limited) as web:

        def status(body: Any) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
            try:
                connection.request("POST", "/", body, encode_chunked=not isinstance(body, bytes))
                return connection.getresponse().status
            finally:
                connection.close()

        assert status(b"x" * 1000) == 200
        assert status(b"x" * 1001) == 413
        assert status(iter([b"x" * 600, b"x" * 600])) == 413


LIMITS = """
import django
import facho.web.server.query_limits as queries
import facho.web.server.slow_clients as slow
django.setup()
slow.cut_off_slow_clients = lambda _app, **limits: print(*(f"{k}={v}" for k, v in sorted(limits.items())))
queries.limit_queries = lambda longest: print(f"query={longest}")
import facho.asgi
"""


def test_the_server_is_given_the_limits_of_the_settings(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "facho.settings",
        "FACHO_HOME": str(tmp_path),
        "FACHO_DATABASE_URL": f"sqlite:///{tmp_path / 'facho.db'}",
        "FACHO_BODY_BYTES": "1234",
        "FACHO_WRITE_TIMEOUT": "7",
        "FACHO_ANSWER_TIMEOUT": "8",
        "FACHO_QUERY_TIMEOUT": "9",
    }
    argv = [sys.executable, "-c", LIMITS]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["query=0:00:09", "answer=0:00:08 body_bytes=1234 write=0:00:07"]
