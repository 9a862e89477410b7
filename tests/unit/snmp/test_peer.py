"""One agent behind the socket: which answers count, and which are dropped under which name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import pytest

from facho.core.reasons import text_reason
from facho.snmp.errors import CorruptAnswer, NoAnswer
from facho.snmp.message import Community, Message, PduType, Received, Version, decode_message, encode_pdu
from facho.snmp.pacing import Learned, Limits
from facho.snmp.peer import Answer, Dropped, Load, Peer, RequestSettings
from facho.snmp.transport import Endpoint, SocketAddress

PUBLIC = Community(Version.V2C, b"public")
PATIENT = RequestSettings(timeout=3600.0, retries=0, tag=0, guard=None)


class Wire:
    """Keeps what is sent; the tests answer it, or not."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.after_send: Callable[[], None] = lambda: None

    def send(self, data: bytes, address: SocketAddress) -> None:
        self.sent.append(data)
        self.after_send()

    def ids(self) -> list[int]:
        return [decode_message(data).request_id for data in self.sent]


class Line:
    """A peer, the wire behind it, and turns that the test gives."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.peer = Peer(("192.0.2.1", 161), cast(Endpoint, self.wire), asyncio.get_running_loop())
        self.load = Load()

    def ask(self, settings: RequestSettings = PATIENT) -> asyncio.Task[Answer]:
        return asyncio.ensure_future(self.peer.ask(PUBLIC, question, settings, self.load))


def question(request_id: int, _attempt: int) -> bytes:
    return PUBLIC.wrap(encode_pdu(PduType.GET, request_id, 0, 0, b""))


def answer(
    request_id: int,
    *,
    version: Version = Version.V2C,
    pdu: PduType = PduType.RESPONSE,
    community: bytes = b"public",
) -> bytes:
    return Community(version, community).wrap(encode_pdu(pdu, request_id, 0, 0, b""))


async def settle() -> None:
    """Lets everything happen that can happen now, timers of no time included."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_an_answer_reaches_whoever_asked() -> None:
    async def run() -> None:
        line = Line()
        line.peer.window.configure(Limits(), Learned(in_flight=2))
        first, second = line.ask(), line.ask()
        await settle()
        one, other = line.wire.ids()
        line.peer.received(answer(other))
        assert (await second).message.request_id == other
        assert not first.done()
        line.peer.received(answer(one))
        assert (await first).message.request_id == one
        assert line.peer.pending == 0

    asyncio.run(run())


def test_each_repetition_has_its_own_id_and_the_answer_to_any_of_them_counts() -> None:
    async def run() -> None:
        line = Line()

        def answer_the_first_after_the_second() -> None:
            if len(line.wire.sent) == 2:
                line.peer.received(answer(line.wire.ids()[0]))

        line.wire.after_send = answer_the_first_after_the_second
        given = await line.ask(RequestSettings(timeout=0.0, retries=2, tag=0, guard=None))
        first, second = line.wire.ids()
        assert (given.message.request_id, given.attempt) == (first, 0)
        assert second != first

    asyncio.run(run())


def test_an_answer_that_comes_while_the_repetition_waits_for_its_turn_is_taken() -> None:
    """Under a rate of few requests a second that wait is long, and the agent is spared the repetition."""

    async def run() -> None:
        line = Line()
        turns: asyncio.Queue[None] = asyncio.Queue()
        turns.put_nowait(None)
        line.peer.window.wait_for_turn = turns.get  # type: ignore[method-assign]
        task = line.ask(RequestSettings(timeout=0.0, retries=1, tag=0, guard=None))
        await settle()
        assert line.load.timeouts == 1
        line.peer.received(answer(line.wire.ids()[0]))
        turns.put_nowait(None)
        assert (await task).message.request_id == line.wire.ids()[0]
        assert len(line.wire.sent) == 1

    asyncio.run(run())


def test_silence_through_every_repetition_is_said() -> None:
    async def run() -> None:
        line = Line()
        with pytest.raises(NoAnswer, match=r"no answer from 192\.0\.2\.1:161 to 3 requests"):
            await line.ask(RequestSettings(timeout=0.0, retries=2, tag=0, guard=None))
        assert (line.load.requests, line.load.timeouts) == (3, 3)
        line.peer.received(answer(line.wire.ids()[0]))
        assert line.peer.dropped == Dropped(late=1)

    asyncio.run(run())


def test_an_answer_given_twice_is_counted_and_changes_nothing() -> None:
    async def run() -> None:
        line = Line()
        task = line.ask()
        await settle()
        for _ in range(2):
            line.peer.received(answer(line.wire.ids()[0]))
        await task
        assert line.peer.dropped == Dropped(duplicate=1)

    asyncio.run(run())


def test_what_was_not_asked_is_no_answer() -> None:
    async def run() -> None:
        line = Line()
        task = line.ask()
        await settle()
        (request_id,) = line.wire.ids()
        line.peer.received(answer(request_id + 1))
        line.peer.received(answer(request_id, version=Version.V1))
        line.peer.received(answer(request_id, pdu=PduType.GET))
        await settle()
        assert not task.done()
        assert line.peer.dropped == Dropped(stray=1, untrusted=2)
        line.peer.received(answer(request_id))
        await task

    asyncio.run(run())


def test_a_broken_answer_ends_the_question_at_once_however_often_it_comes() -> None:
    async def run() -> None:
        line = Line()
        task = line.ask()
        await settle()
        for _ in range(2):
            line.peer.received(answer(line.wire.ids()[0])[:-1])
        with pytest.raises(CorruptAnswer, match=r"192\.0\.2\.1:161 answered with a broken message"):
            await task
        assert line.peer.dropped == Dropped(malformed=2)

    asyncio.run(run())


@pytest.mark.parametrize(
    "forged", [{"community": b"private"}, {"version": Version.V1}], ids=["other community", "other version"]
)
def test_a_broken_message_that_shows_another_sender_ends_nothing(forged: dict[str, Any]) -> None:
    async def run() -> None:
        line = Line()
        task = line.ask()
        await settle()
        (asked,) = line.wire.ids()
        line.peer.received(answer(asked, **forged)[:-1])
        await settle()
        line.peer.received(answer(asked))
        assert (await task).message.request_id == asked
        assert line.peer.dropped == Dropped(malformed=1)

    asyncio.run(run())


class SignedByUser:
    """A security whose messages are told from those of others by a signature, as in SNMPv3."""

    version = Version.V3
    silence = text_reason("nobody is there")

    def seal(self, _request_id: int, pdu: bytes) -> bytes:
        return PUBLIC.wrap(pdu)

    def open(self, received: Received) -> Message | None:
        return PUBLIC.open(received)

    def is_unverified(self, _received: Received) -> bool:
        return False


@pytest.mark.parametrize("is_honest", [True, False], ids=["and then the answer", "and nothing else"])
def test_a_broken_message_that_nobody_can_be_sure_of_counts_when_the_time_is_over(is_honest: bool) -> None:
    async def run() -> None:
        line = Line()
        settings = RequestSettings(timeout=3600.0 if is_honest else 0.0, retries=2, tag=0, guard=None)

        def break_answer() -> None:
            line.peer.received(answer(line.wire.ids()[-1])[:-1])

        line.wire.after_send = break_answer
        task = asyncio.ensure_future(line.peer.ask(SignedByUser(), question, settings, line.load))
        await settle()
        if is_honest:
            assert not task.done()
            (asked,) = line.wire.ids()
            line.peer.received(answer(asked))
            assert (await task).message.request_id == asked
        else:
            with pytest.raises(CorruptAnswer, match="answered with a broken message"):
                await task
        assert len(line.wire.sent) == 1

    asyncio.run(run())


def test_rubbish_without_a_request_id_is_counted_and_ends_nothing() -> None:
    async def run() -> None:
        line = Line()
        task = line.ask()
        await settle()
        line.peer.received(b"\x30\x03abc")
        await settle()
        assert not task.done()
        assert line.peer.dropped == Dropped(malformed=1)
        line.peer.received(answer(line.wire.ids()[0]))
        await task

    asyncio.run(run())


def test_an_answer_in_another_community_is_not_taken_and_is_named() -> None:
    async def run() -> None:
        line = Line()
        task = line.ask(RequestSettings(timeout=0.0, retries=0, tag=0, guard=None))
        line.wire.after_send = lambda: line.peer.received(
            answer(line.wire.ids()[0], community=b"another community")
        )
        with pytest.raises(NoAnswer, match="its answers carried another community and were ignored"):
            await task
        assert line.peer.dropped == Dropped(untrusted=1)

    asyncio.run(run())


def test_an_answer_that_is_taken_ends_the_hint_at_another_community() -> None:
    async def run() -> None:
        line = Line()
        answered = line.ask()
        await settle()
        line.peer.received(answer(line.wire.ids()[0], community=b"another community"))
        line.peer.received(answer(line.wire.ids()[0]))
        await answered
        with pytest.raises(NoAnswer, match="it is off or unreachable"):
            await line.ask(RequestSettings(timeout=0.0, retries=0, tag=0, guard=None))

    asyncio.run(run())


def test_request_ids_carry_the_tag_and_a_number_that_does_not_come_again() -> None:
    async def run() -> None:
        line = Line()
        ids = [line.peer._new_id(tag=0x1234) for _ in range(65_536)]
        assert {request_id >> 16 for request_id in ids} == {0x1234}
        assert len(set(ids)) == 65_536

    asyncio.run(run())


def test_request_ids_cannot_be_told_from_those_before() -> None:
    async def run() -> None:
        orders = [[peer._new_id(1) for _ in range(1_000)] for peer in (Line().peer for _ in range(3))]
        assert not orders[0][:3] == orders[1][:3] == orders[2][:3]
        for ids in orders:
            steps = {(second - first) & 0xFFFF for first, second in pairwise(ids)}
            # Of a counter, or of one that goes in steps, there is one; of chance, nearly as many as ids.
            assert len(steps) > 900

    asyncio.run(run())
