"""Addresses of agents: parsed from text, and resolved for the socket."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Final, cast

from facho.core.reasons import Reason
from facho.snmp.errors import AddressError
from facho.snmp.transport import SocketAddress

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
