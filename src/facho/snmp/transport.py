"""One UDP socket per process and address family, for all agents.

The socket is never connected, so that a thousand agents cost one descriptor. The client matches answers by
the address that they came from.

From time to time another socket replaces it, so that an attacker does not have unlimited time to find the
port. The one before stays open for as long, because answers to it are under way.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Final

SocketAddress = tuple[str, int] | tuple[str, int, int, int]

# Larger than any UDP payload, so that nothing is cut off here.
_LARGEST_DATAGRAM: Final = 65_535
# Answers come in bursts from many agents at once; the default of 200 kB loses them before we look.
_RECEIVE_BUFFER: Final = 8 * 1024 * 1024
# Yield to the loop after so many datagrams or seconds.
_BURST: Final = 64
_BURST_S: Final = 0.005
# The time for which a port is used. Its socket is read for as long again, longer than any request waits.
PORT_CHANGES_AFTER_S: Final = 600.0
# SO_RCVBUFFORCE, which the socket module does not name: exceeds the limit of the system where permitted.
_SO_RCVBUFFORCE: Final = 33


class Endpoint:
    """The sockets of one address family: one to send from, and the one before, which still gets answers."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        family: socket.AddressFamily,
        received: Callable[[bytes, SocketAddress], None],
    ) -> None:
        self._loop = loop
        self._family = family
        self._received = received
        self._current = _Socket(loop, family, received)
        self._before: _Socket | None = None
        self._change_at = loop.time() + PORT_CHANGES_AFTER_S

    def send(self, data: bytes, address: SocketAddress) -> None:
        """Send a datagram. Raises OSError when the system refuses (no route, not permitted)."""
        now = self._loop.time()
        if now >= self._change_at:
            self._change_at = now + PORT_CHANGES_AFTER_S
            self._change_port()
        self._current.send(data, address)

    @property
    def port(self) -> int:
        return self._current.port

    def close(self) -> None:
        for each in (self._current, self._before):
            if each is not None:
                each.close()

    def _change_port(self) -> None:
        try:
            fresh = _Socket(self._loop, self._family, self._received)
        except OSError:
            # No socket to be had, as with too many open files. Keep the old one until the next time.
            return
        if self._before is not None:
            self._before.close()
        self._before, self._current = self._current, fresh


class _Socket:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        family: socket.AddressFamily,
        received: Callable[[bytes, SocketAddress], None],
    ) -> None:
        self._loop = loop
        self._received = received
        self._unsent: deque[tuple[bytes, SocketAddress]] = deque()
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        _enlarge_receive_buffer(self._socket)
        loop.add_reader(self._socket, self._read)

    @property
    def port(self) -> int:
        """Return the local port; 0 before the first datagram was sent."""
        return int(self._socket.getsockname()[1])

    def send(self, data: bytes, address: SocketAddress) -> None:
        """Send a datagram. Raises OSError when the system refuses (no route, not permitted)."""
        if self._unsent:
            self._unsent.append((data, address))
            return
        try:
            self._socket.sendto(data, address)
        except BlockingIOError:
            self._unsent.append((data, address))
            self._loop.add_writer(self._socket, self._write)

    def close(self) -> None:
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._unsent.clear()
        self._socket.close()

    def _read(self) -> None:
        receive, received, now = self._socket.recvfrom, self._received, time.monotonic
        until = now() + _BURST_S
        with contextlib.suppress(BlockingIOError):
            for _ in range(_BURST):
                try:
                    data, address = receive(_LARGEST_DATAGRAM)
                except OSError as error:
                    if isinstance(error, BlockingIOError):
                        raise
                    # An ICMP error about an earlier datagram, whose request will time out.
                    continue
                received(data, address)
                if now() > until:
                    # The rest is read in the next turn of the loop.
                    return

    def _write(self) -> None:
        while self._unsent:
            data, address = self._unsent[0]
            try:
                self._socket.sendto(data, address)
            except BlockingIOError:
                return
            except OSError:
                # The caller has returned; its request times out.
                pass
            self._unsent.popleft()
        self._loop.remove_writer(self._socket)


def _enlarge_receive_buffer(sock: socket.socket) -> None:
    for option in (_SO_RCVBUFFORCE, socket.SO_RCVBUF):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, option, _RECEIVE_BUFFER)
            return
