"""An ASGI application behind a real uvicorn, in a thread of the test; and clients that read nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn


class Served(NamedTuple):
    port: int
    server: uvicorn.Server

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)


@contextmanager
def served(application: Any, loop: Any = "auto") -> Iterator[Served]:
    """What the server may keep for a client that does not read is little."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(
            uvicorn.Config(
                application, lifespan="off", log_config=None, access_log=False, http="h11", loop=loop
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield Served(listening.getsockname()[1], server)
        finally:
            server.force_exit = server.should_exit = True
            thread.join(30)


@contextmanager
def client_that_stops_reading(port: int, request: bytes) -> Iterator[socket.socket]:
    """It has read the first bytes of the answer when it is given, and nothing more."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect(("127.0.0.1", port))
        client.sendall(request)
        assert client.recv(12).startswith(b"HTTP/1.1 200")
        yield client
