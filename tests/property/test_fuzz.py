"""Damaged datagrams: everything that reads the network raises BerError or nothing, is quick, and never lies.

FUZZ_CASES says how many datagrams each test damages. What fails names the seed that makes it again.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address
from typing import cast

import pytest

from facho.snmp.errors import BerError, CorruptAnswer
from facho.snmp.message import (
    Community,
    ErrorStatus,
    PduType,
    Version,
    decode_bindings,
    decode_message,
    encode_binding,
    encode_names,
    encode_pdu,
    peek_request_id,
)
from facho.snmp.page import ColumnReader
from facho.snmp.peer import MAX_TAG, TAG_SHIFT, Answer, Load, Peer, RequestSettings
from facho.snmp.transport import Endpoint, SocketAddress
from facho.snmp.values import (
    Counter32,
    Counter64,
    Gauge32,
    Missing,
    Oid,
    OpaqueDouble,
    OpaqueFloat,
    TimeTicks,
    Unknown,
    Value,
    encode_value,
)
from tests.property.damage import damaged, random_damages
from tests.property.loop_time import run_in_time
from tests.property.strict_page import outcome, read_strictly

CASES = int(os.environ.get("FUZZ_CASES", "50000"))
PARTS = 8
SEEDS = range(1, PARTS + 1)

V2C = Community(Version.V2C, b"public")
COLUMN = Oid.parse("1.3.6.1.2.1.2.2.1.10")
# As long on the wire as any that Peer makes under its largest tag.
REQUEST_ID = MAX_TAG << TAG_SHIFT | 0x1234
ONE_OF_EACH: list[Value] = [
    -1,
    2**31 - 1,
    b"",
    b"ONU 0001",
    bytes(range(200)),
    None,
    COLUMN,
    IPv4Address("192.0.2.1"),
    Counter32(2**32 - 1),
    Gauge32(0),
    TimeTicks(123_456),
    Counter64(2**64 - 1),
    OpaqueFloat(-21.5),
    OpaqueDouble(1e300),
    Unknown(0x44, b"raw"),
    *Missing,
]


def bindings_of_answers() -> list[bytes]:
    """Pages of a walk with each kind of value alone, then all kinds, then ends, repetitions and nothing."""

    def page(values: list[Value], column: Oid = COLUMN) -> bytes:
        rows = [
            encode_binding(column.child(n).content, encode_value(value)) for n, value in enumerate(values)
        ]
        return b"".join(rows)

    def deep(value: Value) -> bytes:
        return encode_binding(COLUMN.child(4_194_304_000, 128, 0).content, encode_value(value))

    alike = [page([value] * 6) for value in ONE_OF_EACH]
    rows = page([n - 3 for n in range(8)])
    names = page([b"ONU %04d" % n for n in range(8)])
    other = page([1, 2], Oid.parse("1.3.6.1.2.1.2.2.1.11")), page([1, 2], Oid.parse("1.3.6.1.2.1.2.2.1.9"))
    inside = page([rows[:60], names[:60], rows[:17]])
    return [
        *alike,
        page(ONE_OF_EACH),
        *(rows + end for end in other),
        *(names + end for end in other),
        rows + deep(1) + deep(b"x"),
        rows + rows,
        rows + page([Missing.END_OF_MIB_VIEW] * 2),
        inside,
        b"",
    ]


def datagrams() -> list[bytes]:
    """Valid messages of every sort that is sent or answered."""
    answers = [
        Community(version, b"public").wrap(encode_pdu(PduType.RESPONSE, REQUEST_ID, 0, 0, bindings))
        for bindings in bindings_of_answers()
        for version in (Version.V1, Version.V2C)
    ]
    names = encode_names([COLUMN.content, COLUMN.child(4_194_304_000).content])
    v2c = Community(Version.V2C, b"c" * 130)
    failures = [
        v2c.wrap(encode_pdu(PduType.RESPONSE, REQUEST_ID, status, 1, names)) for status in ErrorStatus
    ]
    requests = [v2c.wrap(encode_pdu(pdu, REQUEST_ID, 0, 50, names)) for pdu in PduType]
    return [*answers, *failures, *requests]


def say_how_to_repeat(seed: int, case: int, data: bytes) -> str:
    return f"seed {seed}, case {case} (FUZZ_CASES={CASES}): {data.hex()}"


def damaged_ones(seed: int, originals: list[bytes]) -> Iterator[tuple[int, bytes]]:
    chance = random.Random(seed)
    for case in range(-(-CASES // PARTS)):
        yield case, damaged(originals[int(chance.random() * len(originals))], random_damages(chance))


def read_everything(data: bytes, reader: ColumnReader) -> None:
    peek_request_id(data)
    with suppress(BerError):
        message = decode_message(data)
        with suppress(BerError):
            reader.read(message.bindings)
        decode_bindings(message.bindings)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_damaged_datagram_is_refused_in_order(seed: int) -> None:
    reader = ColumnReader(COLUMN.content)
    for case, data in damaged_ones(seed, datagrams()):
        try:
            run_in_time(partial(read_everything, data, reader))
        except Exception as error:
            error.add_note(say_how_to_repeat(seed, case, data))
            raise


@pytest.mark.parametrize("seed", SEEDS)
def test_a_damaged_page_is_read_or_refused_as_the_strict_decoder_does(seed: int) -> None:
    reader = ColumnReader(COLUMN.content)
    for case, data in damaged_ones(seed, bindings_of_answers()):
        try:
            fast = outcome(reader.read, data)
            strict = outcome(partial(read_strictly, COLUMN.content), data)
        except Exception as error:
            error.add_note(say_how_to_repeat(seed, case, data))
            raise
        assert fast == strict, say_how_to_repeat(seed, case, data)


class SilentEndpoint:
    """Takes what is sent and sends it nowhere."""

    def send(self, data: bytes, address: SocketAddress) -> None:
        pass


class Question:
    """A question to a peer that stays open until something answers it."""

    def __init__(self, peer: Peer) -> None:
        self.request_id = 0
        settings = RequestSettings(timeout=3600.0, retries=0, tag=MAX_TAG, guard=None)
        self.task = asyncio.ensure_future(peer.ask(V2C, self._build, settings, Load()))

    def _build(self, request_id: int, _attempt: int) -> bytes:
        self.request_id = request_id
        return b""

    def addressed(self, data: bytes) -> bytes:
        """The datagram as an answer to this question."""
        return data.replace(REQUEST_ID.to_bytes(4, "big"), self.request_id.to_bytes(4, "big"), 1)


async def bombard_peer(seed: int) -> Answer:
    peer = Peer(("192.0.2.1", 161), cast(Endpoint, SilentEndpoint()), asyncio.get_running_loop())
    originals = datagrams()
    question = Question(peer)
    for case, data in damaged_ones(seed, originals):
        if question.task.done():
            assert isinstance(question.task.exception(), CorruptAnswer | None)
            question = Question(peer)
        # Datagrams come in bursts: sometimes the next one is there before the question has ended.
        if case % 3 or not question.request_id:
            await asyncio.sleep(0)
        try:
            run_in_time(partial(peer.received, question.addressed(data)))
        except Exception as error:
            error.add_note(say_how_to_repeat(seed, case, data))
            raise
    await asyncio.sleep(0)
    question = Question(peer) if question.task.done() else question
    await asyncio.sleep(0)
    peer.received(question.addressed(originals[1]))
    return await question.task


@pytest.mark.parametrize("seed", SEEDS)
def test_an_agent_that_sends_rubbish_stops_nothing_and_is_heard_when_it_recovers(seed: int) -> None:
    answer = asyncio.run(bombard_peer(seed))
    assert decode_bindings(answer.message.bindings) == [(COLUMN.child(n).content, -1) for n in range(6)]


def test_the_undamaged_datagrams_are_all_accepted() -> None:
    for data in datagrams():
        decode_bindings(decode_message(data).bindings)
