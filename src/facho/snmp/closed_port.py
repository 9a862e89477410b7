"""Tests whether a host refuses datagrams to the port of its agent.

The socket of the client serves all agents and never learns that: the system reports a refusal only to a
socket that is connected to the address. So this asks once more on a socket of its own, for the commands with
which a person tests a connection.
"""

from __future__ import annotations

import asyncio
import socket
import time

from facho.snmp.client import Target
from facho.snmp.message import Community, PduType, encode_names, encode_pdu
from facho.snmp.requester import SYS_UP_TIME
from facho.snmp.transport import resolve
from facho.snmp.v3 import Discovery, Engine


async def port_is_closed(target: Target, wait: float = 1.0) -> bool:
    """Return True when the host refuses, False when it answers or is silent for `wait` seconds."""
    family, address = await resolve(target.host, target.port)
    loop = asyncio.get_running_loop()
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        try:
            sock.connect(address)
            await loop.sock_sendall(sock, _request(target))
            async with asyncio.timeout(wait):
                await loop.sock_recv(sock, 65535)
        except ConnectionRefusedError:
            return True
        except (OSError, TimeoutError):
            return False
    return False


def _request(target: Target) -> bytes:
    """Return a request with valid credentials: another one may raise an alarm at the agent."""
    if target.user is not None:
        return Discovery(Engine(time.monotonic)).seal(1, encode_pdu(PduType.GET, 1, 0, 0, b""))
    pdu = encode_pdu(PduType.GET, 1, 0, 0, encode_names((SYS_UP_TIME.content,)))
    return Community(target.version, target.community.encode("utf-8", "surrogateescape")).seal(1, pdu)
