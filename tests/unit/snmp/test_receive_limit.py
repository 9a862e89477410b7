"""What one agent may send: an endless table and endless values end in an error with a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from facho.snmp import values
from facho.snmp.errors import TooMuch
from facho.snmp.get import get_many
from facho.snmp.message import (
    Community,
    Message,
    PduType,
    Version,
    decode_message,
    encode_binding,
    encode_pdu,
    iterate_bindings,
)
from facho.snmp.pacing import Learned, Limits
from facho.snmp.peer import Peer, ReceiveLimit, RequestSettings
from facho.snmp.requester import SYS_UP_TIME, Requester
from facho.snmp.transport import Endpoint, SocketAddress
from facho.snmp.values import Oid, TimeTicks, encode_value
from facho.snmp.walk import WalkResult, walk_table

PUBLIC = Community(Version.V2C, b"public")
COLUMN = Oid.parse("1.3.6.1.4.1.2011.6.1")
OTHER = Oid.parse("1.3.6.1.4.1.2011.6.2")
ROWS = 20


class Wire:
    """Answers every request with `bindings(name, request)`."""

    def __init__(self, bindings: Callable[[bytes, Message], bytes], receive_limit: ReceiveLimit) -> None:
        self.requests = 0
        self._bindings = bindings
        self._loop = asyncio.get_running_loop()
        self.peer = Peer(("192.0.2.1", 161), cast(Endpoint, self), self._loop)
        self.peer.window.configure(Limits(varbinds=ROWS), Learned(varbinds=ROWS))
        self.requester = Requester(
            self.peer, RequestSettings(3600.0, 0, 1, None, receive_limit), PUBLIC, bulk=True
        )

    def send(self, data: bytes, _address: SocketAddress) -> None:
        self.requests += 1
        assert self.requests < 2_000, "nobody ended it"
        asked = decode_message(data)
        names = [name for name, _, _ in iterate_bindings(asked.bindings)]
        bindings = b"".join(
            encode_binding(name, encode_value(TimeTicks(1)))
            if name == SYS_UP_TIME.content
            else self._bindings(name, asked)
            for name in names
        )
        pdu = encode_pdu(PduType.RESPONSE, asked.request_id, 0, 0, bindings)
        self._loop.call_soon(self.peer.received, PUBLIC.wrap(pdu))


def endless_rows(name: bytes, asked: Message) -> bytes:
    column = next(oid.content for oid in (COLUMN, OTHER) if name.startswith(oid.content))
    after = values.decode_arcs(name[len(column) :])
    first = after[0] + 1 if after else 1
    count = asked.error_index if asked.pdu_type == PduType.GETBULK else 1
    return b"".join(
        encode_binding(column + values.encode_arcs((first + n, 7)), encode_value(5)) for n in range(count)
    )


def walk(receive_limit: ReceiveLimit) -> tuple[WalkResult, Wire]:
    async def run() -> tuple[WalkResult, Wire]:
        wire = Wire(endless_rows, receive_limit)
        return await walk_table(wire.requester, [COLUMN, OTHER], None, None), wire

    return asyncio.run(run())


def test_an_endless_table_ends_in_an_error_that_says_how_many_rows_came() -> None:
    result, _ = walk(ReceiveLimit(rows=100))
    assert {type(error) for error in result.errors} == {TooMuch}
    assert result.reason is not None
    assert f"{COLUMN}: 192.0.2.1:161 gave more than 100 rows, and the walk was ended" in result.reason
    assert all(len(column.rows) <= 100 + ROWS for column in result.columns.values())


def test_endless_tables_end_when_the_agent_has_sent_too_many_octets() -> None:
    result, _ = walk(ReceiveLimit(rows=10**9, octets=30_000))
    assert {type(error) for error in result.errors} == {TooMuch}
    assert result.reason is not None
    assert "192.0.2.1:161 sent more than 30,000 octets, and was not asked for more" in result.reason


def test_an_agent_that_has_sent_too_much_is_not_asked_again() -> None:
    async def run() -> None:
        receive_limit = ReceiveLimit(octets=1_000)
        wire = Wire(endless_rows, receive_limit)
        await walk_table(wire.requester, [COLUMN], None, None)
        before = wire.requests
        assert isinstance((await walk_table(wire.requester, [COLUMN], None, None)).errors[0], TooMuch)
        assert isinstance((await get_many(wire.requester, [COLUMN], None)).error, TooMuch)
        assert wire.requests == before

    asyncio.run(run())


@pytest.mark.parametrize("size", [60_000])
def test_huge_values_of_a_get_count_too(size: int) -> None:
    async def run() -> None:
        receive_limit = ReceiveLimit(octets=10 * size)
        wire = Wire(lambda name, _: encode_binding(name, encode_value(b"x" * size)), receive_limit)
        wire.peer.window.configure(Limits(varbinds=1), Learned(varbinds=1))
        oids = [COLUMN.child(number) for number in range(1_000)]
        result = await get_many(wire.requester, oids, None)
        assert isinstance(result.error, TooMuch)
        assert len(result.values) <= 10
        assert len(result.unanswered) >= 990

    asyncio.run(run())
