"""Whether the host itself says that nothing listens on the port.

The client's one socket serves all agents and is never told so: the system reports a refusal only to a socket
that is connected to the address. So this asks once more, on a socket of its own, for the commands with which
a person tries a connection.
"""

from __future__ import annotations

import asyncio
import socket

from facho.snmp.address import resolve
from facho.snmp.message import Community, PduType, Version, encode_names, encode_pdu
from facho.snmp.talk import SYS_UP_TIME


async def port_is_closed(host: str, port: int, wait: float = 1.0) -> bool:
    """True when the host refuses, False when it answers or says nothing within `wait` seconds."""
    family, address = await resolve(host, port)
    loop = asyncio.get_running_loop()
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        try:
            sock.connect(address)
            await loop.sock_sendall(sock, _any_request())
            async with asyncio.timeout(wait):
                await loop.sock_recv(sock, 65535)
        except ConnectionRefusedError:
            return True
        except (OSError, TimeoutError):
            return False
    return False


def _any_request() -> bytes:
    """Who listens need not understand it: a request in an unknown community is as good as any."""
    pdu = encode_pdu(PduType.GET, 1, 0, 0, encode_names((SYS_UP_TIME.content,)))
    return Community(Version.V2C, b"").wrap(pdu)
