"""Our own machine is too busy to look in time: what has arrived meanwhile still counts."""

from __future__ import annotations

import asyncio
from typing import cast

from facho.snmp.message import Community, PduType, Version, decode_message, encode_pdu
from facho.snmp.peer import Load, Peer, RequestSettings
from facho.snmp.transport import Endpoint, SocketAddress
from tests import virtual_time
from tests.virtual_time import VirtualTimeLoop

PUBLIC = Community(Version.V2C, b"public")


class Wire:
    def __init__(self) -> None:
        self.ids: list[int] = []

    def send(self, data: bytes, address: SocketAddress) -> None:
        self.ids.append(decode_message(data).request_id)


def request(request_id: int, _attempt: int) -> bytes:
    return PUBLIC.wrap(encode_pdu(PduType.GET, request_id, 0, 0, b""))


def test_an_answer_seen_in_the_same_turn_as_its_time_out_is_taken() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        wire, load = Wire(), Load()
        peer = Peer(("192.0.2.1", 161), cast(Endpoint, wire), loop)
        settings = RequestSettings(timeout=0.02, retries=0, tag=0, guard=None)
        asked = asyncio.ensure_future(peer.ask(PUBLIC, request, settings, load))
        await asyncio.sleep(0)
        (request_id,) = wire.ids
        answer = PUBLIC.wrap(encode_pdu(PduType.RESPONSE, request_id, 0, 0, b""))
        loop.call_later(0.03, peer.received, answer)
        # Both the time-out and the answer are due when the loop has its next turn.
        loop.call_soon(loop.advance, 0.06)
        assert (await asked).message.request_id == request_id
        assert (load.requests, load.timeouts, peer.pending) == (1, 0, 0)

    virtual_time.run(run())
