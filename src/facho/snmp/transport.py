"""Addresses of agents, and one UDP socket per process and address family for all of them.

The socket is never connected, so that a thousand agents cost one descriptor. The client matches answers by
the address that they came from.

From time to time another socket replaces it, so that an attacker does not have unlimited time to find the
port. The one before stays open for as long, because answers to it are under way.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Final, cast

from facho.core.reasons import Reason
from facho.snmp.errors import AddressError

DEFAULT_PORT: Final = 161


def parse_address(text: str, default_port: int = DEFAULT_PORT) -> tuple[str, int]:
    """Return (host, port) of `10.0.0.1`, `10.0.0.1:1161`, `olt-7.example` or `[2001:db8::1]:1161`."""
    text = text.strip()
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise AddressError(f"'{text}' is not an address: write [ADDRESS]:PORT")
        port = rest[1:]
    elif text.count(":") > 1:
        host, port = text, ""
    else:
        host, colon, port = text.partition(":")
        if colon and not port:
            raise AddressError(f"'{text}' has no port after the colon")
    if not host or any(letter.isspace() for letter in host):
        raise AddressError(f"'{text}' is not an address: write ADDRESS or ADDRESS:PORT")
    return host, _parse_port(port) if port else default_port


def _parse_port(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise AddressError(f"'{text}' is not a port number")
    return check_port(int(text))


def check_port(port: int) -> int:
    if not 1 <= port <= 65535:
        raise AddressError(f"port {port} is not between 1 and 65535")
    return port


async def resolve(host: str, port: int) -> tuple[socket.AddressFamily, SocketAddress]:
    """Return the first address of a name that the system prefers. Numbers need no look-up."""
    check_port(port)
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        if literal.version == 4:
            return socket.AF_INET, (str(literal), port)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise AddressError(Reason.of("name_not_resolved", name=host)) from error
    family, _, _, _, address = found[0]
    return family, cast(SocketAddress, address)


def address_name(address: SocketAddress) -> str:
    host, port = address[0], address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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
